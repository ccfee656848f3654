"""What flows through the graph: the conversation's state, its records, and the settings."""
