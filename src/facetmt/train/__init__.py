"""The training loop: loss, step, checkpoint, and what surrounds them."""
