"""What the model is told of a request to forget, so that its reply says what was done."""

DONE = (
    "The user's newest message asks to forget something, and it was done: {messages} removed from memory, with "
    "{facts}. Say in the reply that what was named is forgotten; do not repeat what it said."
)
"""Something was removed."""

NOT_FOUND = (
    "The user's newest message asks to forget something, but nothing that was said matches it, and nothing was "
    "removed. Say so, and ask what is meant: in the words in which it was said."
)
"""Nothing was removed: nothing says what was named."""

UNCLEAR = (
    "The user's newest message asks to forget something, but it is not clear what, and nothing was removed. Say so, "
    "and ask which of these is meant: {sentences}"
)
"""Nothing was removed: several things may be meant."""

FAILED = "The user's newest message asks to forget something, which failed, and nothing was removed. Say so."
"""Nothing was removed: the storage failed."""
