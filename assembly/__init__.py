"""Assembly to a budget: pure functions that make the prompt out of chain, facts, memories and search results."""
