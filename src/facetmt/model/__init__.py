"""The Transformer and its language-model sibling."""
