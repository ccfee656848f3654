"""What of a user's memory changed since a moment, as recall reads it from Postgres: `changes_since`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..state.errors import RightsError, StorageUnreachable
from .archive_rows import check_message
from .readable import UNREADABLE, readable
from .user_rows import UserRows
from .values import kept_time

ALL: Final = "0"
"""The horizon before everything."""

_ARRAY_HEAD: Final = 20
"""Bytes before the numbers of an array, as Postgres sends it."""

_VECTOR_HEAD: Final = 4
"""Bytes before the numbers of a vector, as pgvector sends it."""

_NEWEST: Final = str(2**63 - 1)
"""The horizon behind everything."""

BATCH: Final = 10_000
"""Rows of either kind that are read at once; more where they were changed together. Vectors of them take 15 MB."""

FIRST: Final = 50_000
"""The newest rows of either kind, with which a large memory can be searched: a second or two of processor time."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER: Final = np.dtype([("size", ">i4"), ("value", ">i8")])

R = TypeVar("R")
_Rows = list[tuple[Any, ...]]


class MessageRow(NamedTuple):
    """A message, as a plain tuple of these: `micros` since 1970, `ending` its last character, `keys` big-endian terms.

    `changed` counts transactions, or changes, up to the last that it was changed in.
    """

    thread_id: str
    id: str
    seq: int
    role: str
    name: str | None
    micros: int
    ending: str
    keys: bytes | None
    changed: Any


class VectorRow(NamedTuple):
    """A vector of a message or summary, as a plain tuple of these; `numbers` are floats, big-endian, after 4 bytes.

    `changed` is as for `MessageRow`.
    """

    id: str
    thread_id: str
    source_type: str
    source_id: str
    role: str
    micros: int
    numbers: bytes
    changed: Any


class Standing(NamedTuple):
    """How things stand with what is kept of a user.

    Attributes:
        horizon: what to ask for the next time.
        removals: how often rows of the user were deleted.
        without_terms: whether a message's terms were not found yet.
        without_vectors: whether a message or summary was not embedded yet.
    """

    horizon: str
    removals: int
    without_terms: bool
    without_vectors: bool


class Changes(NamedTuple):
    """A part of what changed: new rows, and some that are known, the newest first. No vector comes before its message,
    if that comes at all. `is_cut` says that there is more, which was not asked for."""

    messages: Sequence[MessageRow] = ()
    vectors: Sequence[VectorRow] = ()
    is_cut: bool = False


Parts = AsyncGenerator[Changes, None]


async def changes_since(rows: UserRows, model: str, since: str, most: float = inf) -> tuple[Standing, Parts]:
    """What of the user's memory was committed since `horizon` was given, in parts; `ALL` for all of it.

    Of messages, and of vectors, no more are read than `most`, where these are many.

    The horizon is read first: what is committed while the rest is read is read again the next time. All of it comes
    from a standby where one answers, and what is newer than that from the storage: it may be behind at will.

    Raises:
        StorageError: the database fails; also while the parts are read.
    """
    if since == ALL and (standby := rows.of_standby()) is not None:
        with suppress(StorageUnreachable, RightsError):  # a right that was given a moment ago
            past, before = await _since(standby, model, ALL, most)
            standing, newer = await _since(rows, model, past.horizon)
            if standing.removals == past.removals:  # nothing was deleted meanwhile
                return standing, _both(before, newer, lambda: _since(rows, model, ALL, most))
    return await _since(rows, model, since, most)


async def _both(before: Parts, newer: Parts, instead: Callable[[], Awaitable[tuple[Standing, Parts]]]) -> Parts:
    """What a standby has, and what is newer; all of it from elsewhere where the standby ends meanwhile."""
    try:
        async for part in before:
            yield part
    except (StorageUnreachable, RightsError):
        _, newer = await instead()
    async for part in newer:
        yield part


async def _since(rows: UserRows, model: str, since: str, most: float = inf) -> tuple[Standing, Parts]:
    head, vectors, messages = await rows.tuples(
        ("memory.head", {"model": model}), _part("memory.vectors", model, since), _part("memory.messages", model, since)
    )
    *standing, restored = head[0]
    if restored:
        await rows.transaction(("memory.renew_messages", {}), ("memory.renew_vectors", {}))
        return await _since(rows, model, since, most)
    return Standing(*standing), _parts(rows, (model, since), messages, vectors, most)


async def _parts(rows: UserRows, asked: tuple[str, str], messages: _Rows, vectors: _Rows, most: float) -> Parts:
    """What begins with these rows, of a model and since a horizon."""
    if len(messages) < BATCH and len(vectors) < BATCH:  # as after a turn
        yield Changes(_messages(rows, messages), _vectors(rows, vectors))
        return
    for query, first, made in (("memory.messages", messages, _messages_of), ("memory.vectors", vectors, _vectors_of)):
        number = 0
        async with aclosing(_batches(rows, query, *asked, first)) as batches:
            async for found in batches:
                if number >= most:
                    yield Changes(is_cut=True)
                    break
                number += len(found)
                yield await asyncio.to_thread(made, rows, found)


def _messages_of(rows: UserRows, found: _Rows) -> Changes:
    return Changes(messages=_messages(rows, found))


def _vectors_of(rows: UserRows, found: _Rows) -> Changes:
    return Changes(vectors=_vectors(rows, found))


async def _batches(rows: UserRows, query: str, model: str, since: str, first: _Rows) -> AsyncGenerator[_Rows, None]:
    """Rows after rows; the next are read while those before are worked with."""

    async def following(last: _Rows) -> _Rows:
        (found,) = await rows.tuples(_part(query, model, since, str(min(int(row[-1]) for row in last) - 1)))
        return found

    found = first
    while found:
        reading = asyncio.ensure_future(following(found)) if len(found) >= BATCH else None
        try:
            yield found
        except BaseException:
            if reading is not None:
                reading.cancel()
            raise
        found = await reading if reading is not None else []


def _part(query: str, model: str, since: str, until: str = _NEWEST) -> tuple[str, dict[str, Any]]:
    return query, {"model": model, "since": since, "until": until, "limit": BATCH}


def said_at(micros: int) -> datetime:
    """The time that is so many microseconds after the beginning of 1970.

    Raises:
        ValueError: it is none that is kept.
    """
    try:
        return kept_time(_EPOCH + timedelta(microseconds=int(micros)))
    except OverflowError:
        raise ValueError("the calendar has no such time") from None


def _messages(rows: UserRows, found: _Rows) -> list[MessageRow]:
    return _sound(rows, "messages", cast("list[MessageRow]", found), _check_messages)


def _vectors(rows: UserRows, found: _Rows) -> list[VectorRow]:
    return _sound(rows, "vectors", cast("list[VectorRow]", found), _check_vectors)


def _sound(rows: UserRows, table: str, found: list[R], check: Callable[[Sequence[R]], None]) -> list[R]:
    """Records without those that are damaged, which are looked for one by one where the check finds any."""

    def alone(row: R) -> R:
        check([row])
        return row

    try:
        check(found)
    except UNREADABLE:
        return readable(rows, table, found, alone)
    return found


def _check_messages(rows: Sequence[MessageRow]) -> None:
    if rows:
        threads, ids, seqs, roles, _, micros, _, keys, _ = zip(*rows, strict=True)
        _check(threads + ids, seqs, roles, micros)
        sizes = {max(len(memoryview(of)) - _ARRAY_HEAD, 0) for of in keys if of is not None}
        if any(size % _NUMBER.itemsize for size in sizes):
            raise ValueError("terms are numbers")


def _check_vectors(rows: Sequence[VectorRow]) -> None:
    if rows:
        _, threads, _, ids, roles, micros, numbers, _ = zip(*rows, strict=True)
        _check(threads + ids, (1,), roles, micros)
        if any(size <= _VECTOR_HEAD or size % 4 for size in {len(memoryview(of)) for of in numbers}):
            raise ValueError("a vector has numbers")


def _check(ids: Sequence[Any], seqs: Sequence[Any], roles: Sequence[Any], micros: Sequence[Any]) -> None:
    if not {*map(type, ids)} <= {str}:
        raise TypeError("threads, messages and summaries are named by texts")
    if not {*map(type, seqs), *map(type, micros)} <= {int}:
        raise TypeError("places and times are numbers")
    for role in set(roles):
        check_message(min(seqs), role, said_at(min(micros)))
        check_message(max(seqs), role, said_at(max(micros)))


def term_numbers(arrays: Iterable[bytes | None]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of several arrays, one after the other, and how many each has."""
    bodies = [b"" if array is None else array[_ARRAY_HEAD:] for array in arrays]
    sizes = np.fromiter(map(len, bodies), np.int64, len(bodies)) // _NUMBER.itemsize
    return np.frombuffer(b"".join(bodies), _NUMBER)["value"].astype(np.int64), sizes


def matrix(rows: Sequence[VectorRow]) -> NDArray[np.float32]:
    """The vectors of rows that have the same number of dimensions, one a row."""
    whole = np.frombuffer(b"".join([row[6] for row in rows]), ">f4").reshape(len(rows), -1)
    return whole[:, _VECTOR_HEAD // 4 :].astype(np.float32)


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
