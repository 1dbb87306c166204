"""Labelling and filtering of corpora before training."""
