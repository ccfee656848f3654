"""`MemorySettings`: what is recalled from earlier."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from .forms import Group, on_node

MemoryScope = Literal["user", "thread", "spaces"]


class MemorySettings(Group):
    """What is recalled from earlier."""

    group: ClassVar[str] = "Memory"

    max_memories: int = Field(
        60,
        title="Memories in a turn",
        ge=0,
        le=100,
        description="Memories recalled in a turn, at most; 0 recalls none. How many there are follows from how "
        "relevant they are, and from their budget.",
        json_schema_extra=on_node("memory_retrieval", capped=True),
    )
    similarity_threshold: float = Field(
        0.7,
        title="Least similarity",
        ge=0.0,
        le=1.0,
        description="How similar a memory found by its vector must be, in [0, 1], on one scale for all embedding "
        "models: what has nothing to do with the question has 0.5, an answer in other words 0.9.",
        json_schema_extra=on_node("memory_retrieval"),
    )
    memory_scope: MemoryScope = Field(
        "user",
        title="Where to recall from",
        description="user: recall from all threads of the user. thread: from this thread only. spaces: from all "
        "threads of the user, and from the team spaces that the user may read.",
        json_schema_extra=on_node("memory_retrieval"),
    )
    memory_tokens: int = Field(
        600,
        title="Tokens of one message in a memory",
        ge=20,
        le=100_000,
        description="Tokens of one message in a memory, at most: of a longer one come the passages that bear on the "
        "question. A recalled summary brings original messages of up to two thirds as many.",
        json_schema_extra=on_node("pairing", capped=True),
    )
