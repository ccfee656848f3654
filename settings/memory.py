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
        description="How similar a memory found by its vector must be, as (1 + cosine) / 2 in [0, 1], on the scale of "
        "the default embedding model: a model that finds everything alike is brought to that scale.",
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
    memory_tokens: int = Field(
        600,
        ge=20,
        le=100_000,
        description="Tokens of one message in a memory, at most: of a longer one come the passages that bear on the "
        "question. A recalled summary brings original messages of up to two thirds as many.",
        json_schema_extra=on_node("pairing"),
    )
    embedding_model: str = Field(
        "sentence-transformers/all-MiniLM-L6-v2",
        min_length=1,
        description="The embedding model: a Hugging Face name or folder, 'provider:name' for LangChain's "
        "init_embeddings, or 'package.module:factory' for LangChain embeddings of your own. The default's weights come "
        "with everthread.",
        json_schema_extra=PROCESS,
    )
    recall_cache: int = Field(
        512,
        ge=1,
        le=1_000_000,
        description="Megabytes of users' memories that a process holds to search them: about 2 kB a message. That of "
        "a user who is not among them is read from the database first. A 32nd of it beside holds embeddings of texts "
        "that come again.",
        json_schema_extra=PROCESS,
    )
    vector_store: str | None = Field(
        None,
        pattern=r"^[\w.]+:[\w.]+$",
        description="A LangChain vector store of your own in the place of our table, as 'package.module:name' of a "
        "store, of a class, or of a function that takes the embeddings. Unset: vectors are kept in Postgres.",
        json_schema_extra=PROCESS,
    )
