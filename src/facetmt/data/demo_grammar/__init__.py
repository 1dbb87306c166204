"""The synchronous German-English grammar and the word lists behind the demo corpus."""
