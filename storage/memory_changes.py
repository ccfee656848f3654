"""What of a user's memory changed since a moment, as recall reads it from Postgres: `changes_since`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..state.errors import RightsError, StorageUnreachable
from .archive_rows import check_message
from .readable import readable
from .user_rows import UserRows

ALL: Final = "0"
"""The horizon before everything."""

_ARRAY_HEAD: Final = 20
"""Bytes before the numbers of an array, as Postgres sends it."""

_VECTOR_HEAD: Final = 4
"""Bytes before the numbers of a vector, as pgvector sends it."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER: Final = np.dtype([("size", ">i4"), ("value", ">i8")])


class MessageRow(NamedTuple):
    """A message: `micros` are microseconds since 1970, `ending` its last character, `keys` its terms, big-endian."""

    thread_id: str
    id: str
    seq: int
    role: str
    name: str | None
    micros: int
    ending: str
    keys: bytes | None


class VectorRow(NamedTuple):
    """A vector of a message or summary; `numbers` are single precision, big-endian, after a head of 4 bytes."""

    id: str
    thread_id: str
    source_type: str
    source_id: str
    role: str
    micros: int
    numbers: bytes


class Changes(NamedTuple):
    """What changed, and how things stand.

    Attributes:
        messages: new ones, and some that are known.
        vectors: the same.
        horizon: what to ask for the next time.
        removals: how often rows of the user were deleted.
        without_terms: whether a message's terms were not found yet.
        without_vectors: whether a message or summary was not embedded yet.
    """

    messages: Sequence[MessageRow]
    vectors: Sequence[VectorRow]
    horizon: str
    removals: int
    without_terms: bool
    without_vectors: bool


async def changes_since(rows: UserRows, model: str, since: str) -> Changes:
    """What of the user's memory was committed since `horizon` was given; `ALL` for all of it.

    The horizon is read first: what is committed while the rest is read is read again the next time.

    Raises:
        StorageError: the database fails.
    """
    head, vectors, messages = await (_all_of(rows, model) if since == ALL else _since(rows, model, since))
    horizon, removals, without_terms, without_vectors, restored = head[0]
    if restored:
        await rows.transaction(("memory.renew_messages", {}), ("memory.renew_vectors", {}))
    return Changes(
        readable(rows, "messages", messages, _message),
        readable(rows, "vectors", vectors, _vector),
        horizon,
        removals,
        without_terms,
        without_vectors,
    )


_Read = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[tuple[Any, ...]]]
"""The head, the vectors, the messages."""


async def _since(rows: UserRows, model: str, since: str) -> _Read:
    head, vectors, messages = await rows.tuples(*_queries(model, since))
    return head, vectors, messages


async def _all_of(rows: UserRows, model: str) -> _Read:
    """All of it: from a standby where one answers, and what is newer than that, so that it may be behind at will."""
    if (standby := rows.of_standby()) is not None:
        with suppress(StorageUnreachable, RightsError):  # a right that was given a moment ago
            past, *before = await _since(standby, model, ALL)
            head, *newer = await _since(rows, model, past[0][0])
            if head[0][1] == past[0][1]:  # nothing was deleted meanwhile
                vectors, messages = ([*old, *new] for old, new in zip(before, newer, strict=True))
                return head, vectors, messages
    first, *rest = _queries(model, ALL)
    (head,) = await rows.tuples(first)
    (vectors,), (messages,) = await asyncio.gather(*(rows.tuples(query) for query in rest))
    return head, vectors, messages


def _queries(model: str, since: str) -> list[tuple[str, dict[str, str]]]:
    values = {"model": model, "since": since}
    return [(name, values) for name in ("memory.head", "memory.vectors", "memory.messages")]


def said_at(micros: int) -> datetime:
    """The time that is so many microseconds after the beginning of 1970.

    Raises:
        ValueError: it is none that Python knows.
    """
    try:
        return _EPOCH + timedelta(microseconds=int(micros))
    except OverflowError:
        raise ValueError("a time is between the years 1 and 9999") from None


def _message(values: Sequence[Any]) -> MessageRow:
    row = MessageRow._make(values)
    check_message(row.seq, row.role, said_at(row.micros))
    if row.keys is not None and max(len(memoryview(row.keys)) - _ARRAY_HEAD, 0) % _NUMBER.itemsize:
        raise ValueError("terms are numbers")
    return row


def _vector(values: Sequence[Any]) -> VectorRow:
    row = VectorRow._make(values)
    check_message(1, row.role, said_at(row.micros))
    if (size := len(memoryview(row.numbers))) <= _VECTOR_HEAD or size % 4:
        raise ValueError("a vector has numbers")
    return row


def term_numbers(arrays: Iterable[bytes | None]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of several arrays, one after the other, and how many each has."""
    bodies = [b"" if array is None else array[_ARRAY_HEAD:] for array in arrays]
    sizes = np.array([len(body) // _NUMBER.itemsize for body in bodies], dtype=np.int64)
    return np.frombuffer(b"".join(bodies), _NUMBER)["value"].astype(np.int64), sizes


def matrix(rows: Sequence[VectorRow]) -> NDArray[np.float32]:
    """The vectors of rows that have the same number of dimensions, one a row."""
    body = b"".join(row.numbers[_VECTOR_HEAD:] for row in rows)
    return np.frombuffer(body, ">f4").astype(np.float32).reshape(len(rows), -1)


def array_bytes(numbers: Sequence[int]) -> bytes:
    """Numbers as Postgres sends an array of them, for a storage that keeps them so."""
    body = np.zeros(len(numbers), _NUMBER)
    body["size"], body["value"] = 8, np.array(numbers, dtype=np.int64)
    return bytes(_ARRAY_HEAD) + body.tobytes()


def vector_bytes(numbers: Sequence[float]) -> bytes:
    """A vector as pgvector sends it, for a storage that keeps it so."""
    return bytes(_VECTOR_HEAD) + np.asarray(numbers, dtype=">f4").tobytes()


def vector_of(sent: bytes) -> NDArray[np.float32]:
    """The vector that was sent."""
    return np.frombuffer(sent, ">f4", offset=_VECTOR_HEAD).astype(np.float32)
