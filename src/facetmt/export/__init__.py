"""Trained models out to where translation is served, and back in through another engine."""
