"""What of a message or summary becomes vectors, and how these are written: chunks, ids, columns."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final, cast

from langchain_text_splitters import RecursiveCharacterTextSplitter

from ..state.records import EVERTHREAD_NAMESPACE, now
from ..text.replies import is_canned
from ..text.shorten import middle_out
from ..text.terms import MAX_CHARACTERS
from .searchable import searchable_text
from .user_rows import UserRows
from .values import Row

CHUNK_CHARACTERS: Final = 800
"""Characters in one vector: about the 256 tokens that the default embedding model reads."""

MAX_DIMENSIONS: Final = 16_000
"""Dimensions that a column of pgvector holds, at most. Its indexes hold fewer; ours is an exact scan."""


def chunks(row: Row) -> list[str]:
    """The texts of a message or summary that get a vector each; none for one without text, or that no model said.

    Args:
        row: as `searchable_text` takes it; `name` leads each chunk.
    """
    text = searchable_text(row).strip()
    if not text or is_canned(row["text"].strip()):
        return []
    lead = f"{row['name']}: " if row["name"] else ""
    chunks = _splitter().split_text(middle_out(text, MAX_CHARACTERS))
    return [lead + chunk for chunk in chunks] or [lead + text[:CHUNK_CHARACTERS]]


async def write_vectors(
    rows: UserRows,
    model: str,
    sources: Sequence[Row],
    texts: Sequence[Sequence[str]],
    vectors: Sequence[Sequence[float]],
) -> None:
    """Store the vectors of messages and summaries, in one transaction.

    Those of another model stay where the text is the same, so that a process with that model finds what it found
    before: `everthread reindex` removes them when all has its new ones.

    Args:
        rows: whose they are.
        model: the name of the embedding model.
        sources: rows with `source_type`, `thread_id`, `id`, `role`, `created_at`, `embedded_with`, `version`. A summary
            of which there is a newer version by now stays to be embedded.
        texts: the chunks of each source.
        vectors: one a chunk, in the order of the chunks.

    Raises:
        StorageError: the database fails; then nothing has changed.
    """
    columns = await asyncio.to_thread(_columns, rows.user_id, model, sources, texts, vectors)
    await rows.transaction(
        ("users.not_alone", {}),
        ("vectors.remove_other_sizes", columns),
        ("vectors.remove_left_over", columns),
        ("vectors.add", columns),
        ("vectors.done_messages", columns),
        ("vectors.done_summaries", columns),
    )


def _columns(
    user_id: str,
    model: str,
    sources: Sequence[Row],
    texts: Sequence[Sequence[str]],
    vectors: Sequence[Sequence[float]],
) -> dict[str, Any]:
    flat = [(row, index, text) for row, parts in zip(sources, texts, strict=True) for index, text in enumerate(parts)]
    # Of which the text may be another one than that of the vectors they have.
    summaries = [row for row in sources if row["source_type"] == "summary" and row["embedded_with"] in {None, model}]
    return {
        "model": model,
        "dimensions": len(vectors[0]) if vectors else 0,
        "ids": [vector_id(user_id, model, row, index) for row, index, _ in flat],
        "contents": [text for _, _, text in flat],
        "embeddings": [f"[{','.join(map(str, vector))}]" for vector in vectors],
        "metadata": [json.dumps(metadata(row)) for row, _, _ in flat],
        "thread_ids": [row["thread_id"] for row, _, _ in flat],
        "source_types": [row["source_type"] for row, _, _ in flat],
        "source_ids": [row["id"] for row, _, _ in flat],
        "roles": [row["role"] for row, _, _ in flat],
        "created": [_time_of(row) for row, _, _ in flat],
        "versions": [row["version"] for row, _, _ in flat],
        "summary_threads": [row["thread_id"] for row in summaries],
        "summary_ids": [row["id"] for row in summaries],
        **_done(sources),
    }


async def mark_embedded(rows: UserRows, model: str, sources: Sequence[Row]) -> None:
    """Note that messages and summaries have their vectors, where these are kept elsewhere.

    Raises:
        StorageError: the database fails.
    """
    columns = {"model": model, **_done(sources)}
    await rows.transaction(("vectors.done_messages", columns), ("vectors.done_summaries", columns))


def _done(sources: Sequence[Row]) -> dict[str, Any]:
    return {
        "done_types": [row["source_type"] for row in sources],
        "done_threads": [row["thread_id"] for row in sources],
        "done_ids": [row["id"] for row in sources],
        "done_versions": [row["version"] for row in sources],
    }


def vector_id(user_id: str, model: str, row: Row, index: int) -> uuid.UUID:
    """The id of the vector of a chunk: the same each time it is made."""
    key = [user_id, row["thread_id"], row["source_type"], row["id"], model, str(index)]
    return uuid.uuid5(EVERTHREAD_NAMESPACE, "\x1f".join(key))


def _time_of(row: Row) -> datetime:
    """When a message was said, or a summary made: now where that is damaged, until the row is mended."""
    return cast("datetime", row["created_at"] or now())


def metadata(row: Row) -> dict[str, str]:
    """The seed's metadata (`000`, "Embedding Generation"): source type, role, conversation, creation time."""
    return {
        "source_type": row["source_type"],
        "source_id": row["id"],
        "role": row["role"],
        "conversation_id": row["thread_id"],
        "created_at": _time_of(row).isoformat(),
    }


@cache
def _splitter() -> RecursiveCharacterTextSplitter:
    return RecursiveCharacterTextSplitter(chunk_size=CHUNK_CHARACTERS, chunk_overlap=80)
