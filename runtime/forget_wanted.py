"""`Wanted`: what is to be forgotten, found by ids, by time, by a fact, by thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Literal, NamedTuple

from ..state.errors import InputError
from ..storage.archive_rows import said_as
from .forget_traces import joined
from .user import User

Kind = Literal["messages", "time", "fact", "thread", "user", "age"]


class Wanted(NamedTuple):
    """What is to be forgotten: whole threads, ids of messages by thread, ids of facts."""

    kind: Kind
    threads: tuple[str, ...] = ()
    ids: Mapping[str, frozenset[str]] = MappingProxyType({})
    facts: tuple[str, ...] = ()
    quotes: Sequence[str] | None = None
    """Sentences by which replies that repeat it were found, and are among the ids; None where none were looked for."""


async def some_messages(user: User, thread_id: str, ids: Sequence[str]) -> Wanted:
    """Messages of a thread, with what they said before they were edited, and both in threads that were copied.

    Raises:
        InputError: the thread has none of them.
        StorageError: the database fails.
    """
    said = await user.rows.fetch("deletion.said", threads=[], thread_id=thread_id, ids=list(ids))
    if not said:
        raise InputError(f"There is none of these messages in the thread {thread_id!r}: its history has their ids.")
    places = joined((row["thread_id"], row["id"]) for row in said)
    return Wanted("messages", ids=await with_copies(user, places))


async def span_of_time(
    user: User, since: datetime | None, until: datetime | None, thread_id: str | None = None
) -> Wanted:
    """What was said from `since` on and before `until`, in one thread or in all.

    Raises:
        StorageError: the database fails.
    """
    rows = await user.rows.fetch("deletion.span", thread_id=thread_id, since=since, until=until)
    return Wanted("time", ids=joined((row["thread_id"], row["id"]) for row in rows))


async def a_fact(user: User, id_: str) -> Wanted:
    """A fact or pin, with the messages that say it.

    Raises:
        InputError: the user has no such fact.
        StorageError: the database fails.
    """
    if not await user.rows.fetch("deletion.fact", id=id_):
        raise InputError(f"There is no fact and no pin {id_!r}: `everthread facts` lists yours.")
    said = await user.rows.fetch("deletion.fact_said_in", id=id_)
    places = joined((row["thread_id"], row["id"]) for row in said)
    return Wanted("fact", ids=await with_copies(user, places), facts=(id_,))


async def with_copies(user: User, places: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Messages by thread, with what they said before they were edited, and both in threads that were copied.

    Raises:
        StorageError: the database fails.
    """
    found = [(thread_id, id_) for thread_id, ids in places.items() for id_ in ids]
    for thread_id, ids in places.items():
        values = {"thread_id": thread_id, "ids": sorted(ids), "said_as": sorted(map(said_as, ids))}
        found += [(row["thread_id"], row["id"]) for row in await user.rows.fetch("deletion.copies", **values)]
    return joined(found)


async def part_named(
    user: User,
    thread_id: str | None,
    *,
    messages: Sequence[str],
    since: datetime | None,
    until: datetime | None,
    fact: str | None,
) -> Wanted:
    """Messages of a thread, a span of time (in one thread or in all), or a fact: whichever of them is named.

    Raises:
        InputError: not one of these is named, or it is not there.
        StorageError: the database fails.
    """
    if messages and thread_id is not None and not (since or until or fact):
        return await some_messages(user, thread_id, messages)
    if (since or until) and not (messages or fact):
        return await span_of_time(user, since, until, thread_id)
    if fact is not None and not (messages or thread_id or since or until):
        return await a_fact(user, fact)
    raise InputError("Name what to forget: messages of a thread, a span of time, or a fact; or use `adelete`.")


async def whole_threads(user: User, thread_id: str | None = None) -> Wanted:
    """A thread, or all of the user's.

    Raises:
        InputError: the user has no such thread.
        StorageError: the database fails.
    """
    found = await user.rows.fetch("deletion.threads", thread_id=thread_id)
    if thread_id is not None and not found:
        raise InputError(f"There is no thread {thread_id!r} of this user: `everthread threads` lists them.")
    ids = tuple(row["thread_id"] for row in found if isinstance(row["thread_id"], str))
    return Wanted("user" if thread_id is None else "thread", ids)
