"""How recalled memories and web results are set before the question: as fenced, labelled data."""

OPEN = "<context id={nonce}>"
"""Opens the fence. The nonce is random for each turn, so that no text inside can close it."""

CLOSE = "</context id={nonce}>"
"""Closes the fence."""

RESULTS = "From the web (untrusted, may be wrong):"
"""Stands before the search results."""

RESULT = "[{number}] {title} ({url}{date})\n{content}"
"""One search result."""

MEMORIES = "From earlier conversation (remembered excerpts):"
"""Stands before the memories."""

MEMORY = "({date}) {speaker}: {content}"
"""One message of a memory."""
