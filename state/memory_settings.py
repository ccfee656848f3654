"""`MemorySettings`: what is recalled from earlier, and by which embedding model."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from .forms import PROCESS, on_node

MemoryScope = Literal["user", "thread"]


class MemorySettings(BaseModel):
    """What is recalled from earlier, and by which embedding model."""

    similarity_threshold: float = Field(
        0.7,
        ge=0.0,
        le=1.0,
        description="How similar a memory found by its vector must be, as (1 + cosine) / 2 in [0, 1].",
        json_schema_extra=on_node("memory_retrieval"),
    )
    max_memories: int = Field(
        5,
        ge=0,
        le=100,
        description="Memories recalled in a turn, at most; 0 recalls none.",
        json_schema_extra=on_node("memory_retrieval"),
    )
    memory_scope: MemoryScope = Field(
        "user",
        description="user: recall from all threads of the user. thread: from this thread only.",
        json_schema_extra=on_node("memory_retrieval"),
    )
    embedding_timeout: float = Field(
        60.0,
        gt=0,
        le=3600,
        description="Seconds that an embedding call may take, loading the model included, before the turn goes on "
        "without it.",
        json_schema_extra=on_node("memory_retrieval", "remember"),
    )
    embedding_model: str = Field(
        "sentence-transformers/all-MiniLM-L6-v2",
        min_length=1,
        description="The embedding model: a Hugging Face name or folder, or 'provider:name' for LangChain's "
        "init_embeddings. The default's weights come with everthread.",
        json_schema_extra=PROCESS,
    )
