"""Whether to search the web: signs in the words, a local model, a small language model."""
