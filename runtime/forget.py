"""Forgetting: what a user wants gone is gone at once and as a whole, with all that was made from it.

Compression never deletes; this is for the user who asks for it, and the one way in which anything of a conversation is
deleted. What else writes for the same user waits, and writes nothing about what is gone. A record remains of how much
was forgotten, when and at whose word, and nothing of what it said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final, Literal, NamedTuple

from ..facts.release import release_facts
from ..state.errors import InputError
from ..state.records import Deleted, now
from ..storage.documents import Documents
from ..storage.postgres.thread_lock import ThreadLocks
from ..storage.readable import readable
from ..storage.sealed_checkpoints import with_keys
from ..storage.storage import Storage
from ..storage.user_rows import Exchange, UserRows
from .forget_checkpoints import OF_THREAD, scrub_checkpoints
from .forget_needles import Needles, needles_of
from .forget_reports import Place, quoting_reports, scrub_reports
from .forget_summaries import Above, rewrite, summaries_above
from .forget_traces import Traces, joined, may_be_users, quotable, says_one_of
from .forget_wanted import Kind, Wanted
from .left_out import keys_of_row
from .user import User

AskedBy = Literal["program", "command", "page", "client", "chat", "retention"]

STORE_SECONDS: Final = 60.0
"""That a vector store of one's own may take."""

_OF_THREADS: Final = (
    "deletion.turn_reports",
    "deletion.all_numbers",
    "deletion.left_out",
    *OF_THREAD,
    "deletion.own_threads",
)


async def forget(
    user: User,
    wanted: Wanted,
    *,
    asked_by: AskedBy,
    locks: ThreadLocks | None = None,
    also: Callable[[Found], Awaitable[None]] | None = None,
) -> Deleted:
    """Forget it with all that was made from it, and with replies that repeat a sentence of it word for word.

    Args:
        user: whose.
        wanted: what.
        asked_by: at whose word, for the record that remains.
        locks: those of the open graph: a turn that runs in a thread that holds something of it is waited for.
        also: what is to be done then, while the threads are held, where the storage is not.

    Raises:
        EmbeddingError: a vector store of one's own fails; nothing was forgotten.
        StorageError: the database fails, and nothing was forgotten; or a turn runs for longer than ten minutes.
    """
    async with AsyncExitStack() as held:
        if locks is not None or user.vectors.elsewhere:
            found = await user.rows.exclusive(lambda rows: _find(rows, wanted))
            for thread in sorted(found.touched):  # in one order everywhere: two of them do not wait for each other
                if locks is not None:
                    await held.enter_async_context(locks.hold(thread))
            await _forget_vectors(user, found)
            wanted = wanted._replace(ids=found.traces.ids, quotes=found.traces.quotes)
        storage = user.rows.storage

        async def delete() -> tuple[Deleted, Found]:
            return await user.rows.exclusive(lambda rows: _delete(rows, wanted, asked_by, storage))

        gone, found = await with_keys(storage.keys, delete)
        if wanted.kind == "user":
            await user.rows.destroy_key()
        await user.let_go()
        for thread in found.touched:
            user.rows.storage.held.pop(thread)
        if also is not None:
            await also(found)
    return gone


async def _forget_vectors(user: User, found: Found) -> None:
    """Delete what a vector store of one's own has of it."""
    if found.traces.threads:
        await user.vectors.forget(sorted(found.traces.threads), timeout=STORE_SECONDS)
    for thread, ids in found.traces.ids.items():
        elsewhere = [*ids, *(row["id"] for row in found.above[thread].kept)]
        await user.vectors.forget([thread], ids=elsewhere, timeout=STORE_SECONDS)


class Foreseen(NamedTuple):
    """What forgetting would do: how much, and the ids of messages and summaries that would go beside whole threads."""

    deleted: Deleted
    ids: Mapping[str, frozenset[str]]


class _TakenBackError(Exception):
    """Ends the transaction in which something was forgotten to see how much it is: nothing of it stays."""


async def foreseen(user: User, wanted: Wanted) -> Foreseen:
    """What `forget` would do now, to the row: it is done, and taken back before anybody sees it.

    Raises:
        StorageError: the database fails.
    """
    storage, done = user.rows.storage, list[Foreseen]()

    async def work(rows: Exchange) -> None:
        deleted, found = await _delete(rows, wanted, "page", storage)
        done.append(Foreseen(deleted, found.traces.ids))
        raise _TakenBackError

    with suppress(_TakenBackError):
        await with_keys(storage.keys, lambda: user.rows.exclusive(work))
    return done[-1]


async def set_fact_aside(user: User, id_: str, *, asked_by: AskedBy) -> str:
    """Never use a fact or pin again, while the messages that say it stay and are found; returns its text.

    It stays as forgotten, so that it is not read from them again.

    Raises:
        InputError: the user has no such fact.
        StorageError: the database fails.
    """
    if (text := await user.facts.forget(id_, now())) is None:
        raise InputError(f"There is no fact and no pin {id_!r} that is not forgotten: `everthread facts` lists yours.")
    done = Deleted(threads=0, messages=0, summaries=0, facts=1, pins=0)
    await user.rows.fetch("deletion.record", **_record("fact", asked_by, done))
    return text


async def needles(user: User, wanted: Wanted) -> Needles:
    """What is to be looked for afterwards, to prove that it is gone.

    Raises:
        StorageError: the database fails.
    """
    found = await user.rows.exclusive(lambda rows: _find(rows, wanted))
    said = [text for text, role in found.said if may_be_users(role)]
    quotes = found.traces.quotes or quotable(said)
    return needles_of(said, quotes, (id_ for ids in found.traces.ids.values() for id_ in ids))


async def records(rows: UserRows) -> list[dict[str, Any]]:
    """What was forgotten of the user, the oldest first: kind, numbers, when, and at whose word.

    Raises:
        StorageError: the database fails.
    """
    found = await rows.fetch("deletion.records")
    return [{**row, **{name: row[name] or 0 for name in Deleted.model_fields}} for row in found]


class Found(NamedTuple):
    """What is to be forgotten, with all that was made from it.

    Attributes:
        traces: what tells that something quotes it.
        above: by thread, the summaries above its messages.
        said: texts and roles of the messages.
        since: when the first of it was said; None where nothing was said.
        touched: the threads that hold something of it.
        reports: by thread and turn, those that quote it.
    """

    traces: Traces
    above: Mapping[str, Above]
    said: Sequence[tuple[str, str]]
    since: datetime | None
    touched: frozenset[str]
    reports: Mapping[Place, dict[str, Any]]


async def _find(rows: Exchange, wanted: Wanted) -> Found:
    said: list[dict[str, Any]] = []
    for scope in _scopes(frozenset(wanted.threads), wanted.ids):
        said += await rows.fetch("deletion.said", **scope)
    # Of a damaged time, from the beginning.
    since = min((row["created_at"] or datetime.min.replace(tzinfo=UTC) for row in said), default=None)
    texts = [row["text"] for row in said]
    traces = Traces(
        frozenset(wanted.threads), wanted.ids, frozenset(), texts, wanted.quotes or (), wanted.kind == "age"
    )
    if since is not None and wanted.kind != "user" and wanted.quotes is None:
        traces = await _with_quotes(rows, traces, quotable(r["text"] for r in said if may_be_users(r["role"])), since)
    above = {thread: await summaries_above(rows, thread, list(ids)) for thread, ids in traces.ids.items()}
    rewritten = frozenset(row["id"] for summaries in above.values() for row in summaries.kept)
    ids = {thread: some | set(above[thread].gone) for thread, some in traces.ids.items()}
    traces = replace(traces, ids=ids, rewritten=rewritten)
    reports = {} if wanted.kind == "user" else await quoting_reports(rows, traces)
    touched = traces.threads.union(traces.ids, (thread for thread, _ in reports))
    return Found(traces, above, [(row["text"], row["role"]) for row in said], since, touched, reports)


async def _with_quotes(rows: Exchange, traces: Traces, quotes: Sequence[str], since: datetime) -> Traces:
    """The same with replies that repeat it word for word; not what the user says elsewhere as well."""
    holding = [
        row
        for row in await rows.fetch("deletion.quoting", quotes=list(quotes), since=since)
        if row["thread_id"] not in traces.threads and row["id"] not in traces.ids.get(row["thread_id"], ())
    ]
    elsewhere = [row["text"] for row in holding if row["role"] == "user"]
    quotes = [quote for quote in quotes if not any(quote in text for text in elsewhere)]
    replies = [row for row in holding if row["role"] != "user" and says_one_of(quotes, row)]
    pairs = ((thread, id_) for thread, ids in traces.ids.items() for id_ in ids)
    ids = joined(pairs, ((row["thread_id"], row["id"]) for row in replies))
    texts = [*traces.texts, *(row["text"] for row in replies)]
    return replace(traces, ids=ids, texts=texts, quotes=tuple(quotes))


async def _delete(rows: Exchange, wanted: Wanted, asked_by: AskedBy, storage: Storage) -> tuple[Deleted, Found]:
    traces, above, _, since, touched, _ = found = await _find(rows, wanted)
    facts, numbers = list(wanted.facts), Counter[str]()
    for scope in _scopes(traces.threads, traces.ids):
        facts += [row["id"] for row in await rows.fetch("deletion.facts_from", **scope)]
        facts += await _read_beside(rows, scope)
        numbers["pins"] += len(await rows.fetch("deletion.pins", **scope))
        await rows.fetch("deletion.numbers", **scope)
        if scope["ids"]:
            keys = readable(rows, "messages", await rows.fetch("archive.whole", **scope), keys_of_row)
            await rows.fetch("left_out.add", thread_id=scope["thread_id"], keys=list(chain.from_iterable(keys)))
        numbers["messages"] += len(await rows.fetch("deletion.messages", **scope))
        numbers["summaries"] += len(await rows.fetch("deletion.summaries", **scope))
        texts = {**scope, "ids": [*scope["ids"], *traces.rewritten]}
        await rows.fetch("deletion.vectors", **texts)
        await rows.fetch("deletion.summary_versions", **texts)
    facts = list(dict.fromkeys(facts))
    await release_facts(rows, facts)
    await rows.fetch("deletion.facts", facts=facts)
    for thread, summaries in above.items():
        await rewrite(rows, thread, summaries.kept, storage.settings)
    numbers["reports"] = await scrub_reports(rows, traces, found.reports)
    for thread in touched - traces.threads:
        await scrub_checkpoints(rows, thread, traces, storage)
    for query in _OF_THREADS if traces.threads else ():
        await rows.fetch(query, threads=sorted(traces.threads))
    if since is not None and not traces.is_by_age:
        await rows.fetch("deletion.search_cache")
    if wanted.kind == "user":
        await rows.fetch("users.drop_defaults")
        await rows.fetch("spaces.drop")
        numbers["documents"] = len(await rows.fetch("documents.drop"))
    elif traces.quotes:
        numbers["documents"] = await _documents_quoting(rows, traces)
    await rows.fetch("branches.read_anew")
    numbers |= {"threads": len(traces.threads), "facts": len(facts), "rewritten": len(traces.rewritten)}
    done = Deleted(**{name: numbers[name] for name in Deleted.model_fields})
    if any(numbers.values()):
        await rows.fetch("deletion.record", **_record(wanted.kind, asked_by, done))
    return done, found


async def _documents_quoting(rows: Exchange, traces: Traces) -> int:
    """Remove the documents of agents that hold a sentence of it word for word; returns how many there were."""
    documents = Documents(rows)
    quoting = [one for one in await documents.under() if traces.removed_from(one.value, "") is not one.value]
    return await documents.remove((one.namespace, one.key) for one in quoting) if quoting else 0


def _record(kind: Kind, asked_by: AskedBy, done: Deleted) -> dict[str, Any]:
    return {"deleted_at": now(), "kind": kind, "asked_by": asked_by, **done.model_dump()}


async def _read_beside(rows: Exchange, scope: Mapping[str, Any]) -> list[str]:
    """Facts of answers to what is forgotten, as "yes" is to a question: these are read again without it.

    What the user wanted forgotten stays so.
    """
    answers = [row["id"] for row in await rows.fetch("deletion.said_after", **scope)] if scope["ids"] else []
    if not answers:
        return []
    of = {"threads": [], "thread_id": scope["thread_id"], "ids": answers}
    found = [row["id"] for row in await rows.fetch("deletion.facts_from", **of) if row["state"] != "forgotten"]
    await rows.fetch("facts.not_read", threads=[scope["thread_id"]] * len(answers), ids=answers)
    return found


def _scopes(threads: frozenset[str], ids: Mapping[str, frozenset[str]]) -> Iterator[dict[str, Any]]:
    """What the statements are given: all whole threads at once, then each of the others with its ids."""
    if threads:
        yield {"threads": sorted(threads), "thread_id": "", "ids": []}
    for thread, some in ids.items():
        yield {"threads": [], "thread_id": thread, "ids": sorted(some)}
