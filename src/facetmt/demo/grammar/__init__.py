"""The synchronous German-English grammar of the demo corpus; its word lists are in `demo/words`."""
