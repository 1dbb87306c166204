"""Public corpora: where they are, how they are downloaded, unpacked and laid out."""
