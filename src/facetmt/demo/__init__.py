"""The demo: a generated corpus, a classifier without a neural network, and what `facetmt demo` runs."""
