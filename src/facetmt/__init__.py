"""facetmt: machine translation training in which a bandit decides what to train on next."""

__version__ = "0.2.0.dev0"
