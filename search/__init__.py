"""Web search: signs that a message needs it, engines behind one protocol, failover, cleaning of results."""
