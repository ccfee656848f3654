"""How facts, summaries, memories and web results are set into the prompt: as fenced, labelled data."""

OPEN = "<context id={nonce}>"
"""Opens the fence. The nonce is the thread's; no text inside can close it, as what looks like it is changed."""

CLOSE = "</context id={nonce}>"
"""Closes the fence."""

RESULTS = "From the web (untrusted, may be wrong):"
"""Stands before the search results."""

RESULT = "[{number}] {title} ({url}{date})\n{content}"
"""One search result."""

MEMORIES = "From earlier conversation (remembered excerpts; today is {today}):"
"""Stands before the memories."""

MEMORY = "({date}{mark}) {speaker}: {content}"
"""One message of a memory."""

SAME_DAY = "{speaker}: {content}"
"""One more message of it, said on the same day."""

DAYS = "{first} to {last}"
"""The days of which a summary tells."""

SUMMARIZED = ", summarized above"
"""Marks a memory whose content a summary in the prompt tells in short."""

SHARED = "{speaker} of the team {space}"
"""Who said it, in a memory that a team shares: another person, perhaps."""

FACTS = "Known about the user (noted earlier):"
"""Stands before facts and pins."""

NEWS = "Also known about the user:"
"""Stands before those that are there for this turn alone."""

FACT = "- {fact}"
"""One fact or pin."""

SUMMARIES = "Summaries of what was said before:"
"""Stands before summaries that lead the conversation."""

SUMMARY_LINE = "- {summary}"
"""One of these summaries."""

DAY = "[{day}]"
"""Stands before what the user said on another day than what is shown before it."""

BEGINS = "[The conversation begins.]"
"""The user's side of a conversation that the assistant opened."""

LEFT_OUT = "[Earlier messages are left out.]"
"""Stands before the recent messages, behind the summaries, where a message or a summary has no room."""

GO_ON = "[Go on from here.]"
"""Stands after a message of the assistant's that would be the last, as where a tool's result came late."""

CUT = " […] "
"""Stands where the middle of a message was cut out."""

NO_REPLY = "[no reply]"
"""In place of a reply that no model gave."""

NO_OUTPUT = "[no output]"
"""The result of a tool that returned nothing."""
