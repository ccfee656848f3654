"""What everthread adds to a LangGraph server: history in pages, readable answers over MCP, its threads in the list."""
