"""Forgetting: what a person wants gone, with all that was made from it, the proof that it is, and the record."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..facts.rows import FactRows
from ..state.errors import InputError
from ..state.records import Deleted
from ..storage.storage import Storage
from ..text.count import counted
from .opening import graph_on, rows_of, say, thread_of

if TYPE_CHECKING:
    from ..runtime.forget_wanted import Wanted
    from ..runtime.user import User

_SHOWN = 60
"""Characters of a message that is shown before it is forgotten."""


async def delete(
    storage: Storage,
    thread: Annotated[str | None, typer.Argument(help="The name or the id of the thread.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Delete all of your threads.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a thread, or all of the user's, with everything that was made from them.

    Raises:
        InputError: the user has no such thread, or it is not said which.
        EmbeddingError: a vector store of one's own fails; nothing was deleted.
        StorageError: the database cannot be reached; nothing was deleted.
    """
    if (thread is None) is not all_:
        raise InputError("Name the thread to delete, or pass --all to delete all of yours.")
    id_ = None if thread is None else await thread_of(storage, thread)
    async with graph_on(storage) as graph:
        from ..runtime.forget import forget as forget_it
        from ..runtime.forget_wanted import whole_threads

        user = graph.resources.of_user(storage.settings.user_id)
        wanted = await whole_threads(user, id_)
        if wanted.threads and not yes:
            every = f"Delete all of your threads ({len(wanted.threads)}) for good?"
            typer.confirm("Delete it for good?" if thread else every, abort=True)
        gone = await forget_it(user, wanted, asked_by="command", locks=graph.resources.locks)
    say(f"Deleted: {_told(gone)}")


async def forget(
    storage: Storage,
    *,
    what: Annotated[
        list[str] | None,
        typer.Argument(help="The id of a fact or pin, or its beginning; with --thread: ids of messages."),
    ] = None,
    thread: Annotated[
        str | None, typer.Option("--thread", help="The thread of the messages; alone: the whole thread.")
    ] = None,
    since: Annotated[
        datetime | None, typer.Option("--since", help="What was said from this time on (UTC), in all threads or one.")
    ] = None,
    until: Annotated[datetime | None, typer.Option("--until", help="What was said before this time (UTC).")] = None,
    all_: Annotated[bool, typer.Option("--all", help="All of your threads.")] = False,
    keep_said: Annotated[
        bool, typer.Option("--keep-said", help="Of a fact: never use it again, but keep the messages that say it.")
    ] = False,
    prove: Annotated[
        bool, typer.Option("--prove", help="Erase it from the files, too, and look for its bytes everywhere.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="Show what was forgotten, when, and at whose word.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> int:
    """Forget what is named; returns the exit code: 1 where something of it was found afterwards.

    Raises:
        InputError: it is not said what, or there is nothing of the kind.
        EmbeddingError: a vector store of one's own fails; nothing was forgotten.
        StorageError: the storage cannot be reached; nothing was forgotten.
    """
    if list_:
        await _list(storage)
        return 0
    named = bool(what) and not (since or until or all_), bool(since or until) and not (what or all_)
    if not (any(named) or (thread is not None) is not all_) or (keep_said and (thread or not what)):
        raise InputError("Name a fact, messages of a --thread, a time with --since or --until, a --thread, or --all.")
    id_ = None if thread is None else await thread_of(storage, thread)
    async with graph_on(storage) as graph:
        from ..runtime import forget as forgetting

        user = graph.resources.of_user(storage.settings.user_id)
        if keep_said:
            text = await forgetting.set_fact_aside(user, await _fact(storage, what or []), asked_by="command")
            say(f"Forgotten: {text}")
            return 0
        wanted = await _wanted(storage, user, what or [], id_, (_utc(since), _utc(until)))
        if not yes:
            await _confirm(user, wanted)
        looked_for = await forgetting.needles(user, wanted) if prove else None
        gone = await forgetting.forget(user, wanted, asked_by="command", locks=graph.resources.locks)
        say(f"Forgotten: {_told(gone)}")
        if looked_for is None:
            return 0
        from ..maintenance.proof import prove as prove_it

        proof = await prove_it(storage, user.id, looked_for)
    for line in (
        f"Looked for {proof.needles[0]} of {proof.needles[1]} texts and ids.",
        *(f"Looked at {place}." for place in proof.looked_at),
        *(f"Still there: {place}." for place in proof.remains),
        *(f"Not proven: {what}" for what in proof.unproven),
        *(() if proof.remains else ("Nothing of it was found.",)),
    ):
        say(line)
    return 1 if proof.remains else 0


async def _wanted(
    storage: Storage,
    user: User,
    what: list[str],
    thread_id: str | None,
    time: tuple[datetime | None, datetime | None],
) -> Wanted:
    from ..runtime.forget_wanted import a_fact, some_messages, span_of_time, whole_threads

    if any(time):
        return await span_of_time(user, *time, thread_id)
    if what and thread_id is not None:
        return await some_messages(user, thread_id, what)
    return await a_fact(user, await _fact(storage, what)) if what else await whole_threads(user, thread_id)


async def _fact(storage: Storage, what: list[str]) -> str:
    """The id of the one fact or pin that is meant."""
    beginning = what[0]
    rows = FactRows(rows_of(storage))
    ids = [known.id for known in await rows.all_facts()] + [pin.id for pin in await rows.pins(forgotten=True)]
    found = [id_ for id_ in ids if id_.startswith(beginning)]
    if len(what) > 1 or (len(found) != 1 and beginning not in found):
        number = "no fact and no pin" if not found else f"{len(found)} of them"
        raise InputError(f"There is {number} whose id begins with {beginning!r}: `everthread facts` lists yours.")
    return beginning if beginning in found else found[0]


async def _confirm(user: User, wanted: Wanted) -> None:
    """Ask, and show what goes."""
    for thread_id, ids in wanted.ids.items():
        for message in (await user.archive.whole_messages(thread_id, list(ids)[:5])).values():
            say(f"  {message.type}: {message.text[:_SHOWN]}")
    number = sum(map(len, wanted.ids.values()))
    whole = counted(len(wanted.threads), "whole thread") if wanted.threads else counted(number, "message")
    fact = "the fact and " if wanted.facts else ""
    typer.confirm(f"Forget {fact}{whole} for good, with all that was made from them?", abort=True)


async def _list(storage: Storage) -> None:
    from ..runtime.forget import records

    table = Table("when", "what", "asked by", *Deleted.model_fields)
    for row in await records(rows_of(storage)):
        numbers = (str(row[name]) for name in Deleted.model_fields)
        when = f"{row['deleted_at']:%Y-%m-%d %H:%M:%S}" if row["deleted_at"] else "?"
        table.add_row(when, row["kind"], row["asked_by"], *numbers)
    Console().print(table)


def _told(gone: Deleted) -> str:
    left = [f"{counted(gone.rewritten, 'summary')} rewritten"] if gone.rewritten else []
    left += [counted(gone.reports, "report")] if gone.reports else []
    left += [counted(gone.documents, "document")] if gone.documents else []
    more = f"; {', '.join(left)}" if left else ""
    parts = ((gone.threads, "thread"), (gone.messages, "message"), (gone.summaries, "summary"), (gone.facts, "fact"))
    return f"{', '.join(counted(*part) for part in (*parts, (gone.pins, 'pin')))}{more}."


def _utc(moment: datetime | None) -> datetime | None:
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)
