"""From raw corpora to batches: read, clean, subwords, token store, sampler, packing."""
