"""Beam search, translation of text, scoring."""
