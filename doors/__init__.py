"""Doors for people who build with something else: memory without the graph, and memory for LangChain's agents."""
