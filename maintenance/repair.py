"""What was found wrong with a thread is put right: rows are added, numbers and marks set, nothing is deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from langchain_core.messages import AnyMessage
from langgraph.types import StateSnapshot

from ..runtime.chain_texts import command_ids, restored
from ..state.errors import InputError
from ..state.messages import is_empty, unmarked
from ..state.records import now
from ..storage.archive_rows import as_jsonb, message_rows
from ..storage.term_keys import message_keys
from .checks import OF_CHAIN, ThreadSnapshot, in_order, orders
from .findings import FindingKind

_MOST_STATES: Final = 5_000
"""Older states of a thread that are looked through."""


class _Lost(NamedTuple):
    """A message of a state that the archive lacks: with ids of its neighbours there, and the time of that state."""

    message: AnyMessage
    before: tuple[str, ...]
    after: tuple[str, ...]
    seen_at: datetime

    @classmethod
    def of(cls, snapshot: StateSnapshot, known: Collection[str]) -> dict[str, _Lost]:
        """Those of a state, by id; commands and answers to them are never archived."""
        messages: list[AnyMessage] = snapshot.values.get("messages", [])
        ids = tuple(str(message.id) for message in messages)
        commands = command_ids(messages) if any(id_ not in known for id_ in ids) else ()
        seen_at = datetime.fromisoformat(snapshot.created_at) if snapshot.created_at else now()
        return {
            id_: cls(unmarked(message), ids[:index], ids[index + 1 :], seen_at)
            for index, (id_, message) in enumerate(zip(ids, messages, strict=True))
            if id_ not in known and id_ not in commands and not is_empty(message)
        }


async def repair_first(thread: ThreadSnapshot, due: Collection[FindingKind]) -> Collection[FindingKind]:
    """Put right what comes first of these kinds; the rest waits for the next look, as it may rest on that.

    Args:
        thread: as it was found; nobody else uses it meanwhile.
        due: kinds of faults that were found.

    Returns:
        The kinds that were tried; none where nothing of `due` can be repaired.

    Raises:
        StorageError: the database fails; what was repaired before stays so.
    """
    for kinds, step in _STEPS:
        if not kinds.isdisjoint(due):
            await step(thread)
            return kinds
    return ()


async def _mend(thread: ThreadSnapshot) -> None:
    state = thread.state
    for damage in thread.damaged:
        await state.user.rows.transaction(*damage.mend)


async def _archive_state(thread: ThreadSnapshot) -> None:
    await _archive(thread, _Lost.of(thread.state.snapshot, thread.rows.messages))


async def _archive_older(thread: ThreadSnapshot) -> None:
    """Archive again what is in any of the states that led to the newest one."""
    state, rows = thread.state, thread.rows
    known = {*rows.messages, *rows.summaries, *(str(message.id) for message in state.messages)}
    lost: dict[str, _Lost] = {}
    snapshot, looked = state.snapshot, 0
    while snapshot.parent_config is not None and (looked := looked + 1) <= _MOST_STATES:
        try:
            snapshot = await state.conversation.aget_state(snapshot.parent_config)
        except InputError:  # it was thinned out
            break
        lost |= _Lost.of(snapshot, known)
        known.update(str(message.id) for message in snapshot.values.get("messages", []))
    await _archive(thread, lost)


async def _archive(thread: ThreadSnapshot, lost: Mapping[str, _Lost]) -> None:
    """Archive messages; of these, those that a summary has, or the state has no longer, were archived once."""
    state = thread.state
    new = {str(message.id) for message in state.messages} - thread.above.keys()
    rows = await asyncio.to_thread(_rows_of, thread, lost, new)
    values = {"thread_id": state.thread_id, "rows": as_jsonb(rows), "ids": list(lost.keys() - new)}
    await state.user.rows.transaction(
        ("archive.lock_thread", values), ("transfer.add_messages", values), ("doctor.read_for_facts", values)
    )


def _rows_of(thread: ThreadSnapshot, lost: Mapping[str, _Lost], new: Collection[str]) -> list[dict[str, Any]]:
    """The rows of messages: behind what stood before them, and said when that was, unless they are new."""
    user_id, thread_id = thread.state.user.id, thread.state.thread_id
    numbers = {id_: row.seq for id_, row in thread.rows.messages.items()}
    times = {id_: row.created_at for id_, row in thread.rows.messages.items()}
    used = set(numbers.values())
    rows = []
    for id_, (message, before, after, seen_at) in sorted(lost.items(), key=lambda item: len(item[1].before)):
        first = max((numbers[other] for other in before if other in numbers), default=0) + 1
        end = min((numbers[other] for other in after if other in numbers), default=first + len(used) + 1)
        numbers[id_] = next((n for n in range(first, end) if n not in used), max(used, default=0) + 1)
        used.add(numbers[id_])
        (row,) = message_rows(user_id, [message])
        if id_ not in new:
            said_at = next((times[other] for other in reversed(before) if other in times), seen_at)
            row |= {"created_at": said_at.isoformat(), "term_keys": message_keys(user_id, row, said_at)}
        rows.append({**row, "thread_id": thread_id, "seq": numbers[id_], "left_at": None})
    return rows


async def _order(thread: ThreadSnapshot) -> None:
    numbers = {id_: row.seq for id_, row in thread.rows.messages.items()}
    moved: dict[str, int] = {}
    for known in orders(thread):
        moved |= in_order({id_: numbers[id_] for id_ in known})
        numbers |= moved
    values = {"thread_id": thread.state.thread_id, "ids": list(moved)}
    await thread.state.user.rows.transaction(
        ("archive.lock_thread", values),
        ("archive.renumber", {**values, "numbers": [-number for number in moved.values()]}),  # each number stands once
        ("archive.renumber", {**values, "numbers": list(moved.values())}),
    )


async def _edit(thread: ThreadSnapshot) -> None:
    state = thread.state
    changed = [message for message in state.messages if message.id in thread.changed]
    await state.user.branches.edit(state.thread_id, changed)


async def _rebuild_chain(thread: ThreadSnapshot) -> None:
    update = await restored(thread.state.messages, thread.state.turn)
    await thread.state.write(update["chain"], update.get("messages"))


async def _embed(thread: ThreadSnapshot) -> None:
    values = {"thread_id": thread.state.thread_id, "ids": list(thread.rows.unembedded)}
    await thread.state.user.rows.transaction(("doctor.queue_messages", values), ("doctor.queue_summaries", values))
    resources = thread.state.conversation.resources
    if resources.embedder.ready:  # else the next start does it
        thread.state.user.embed_later(resources.settings.timeouts.embedding)


_STEPS: Final[Sequence[tuple[frozenset[FindingKind], Callable[[ThreadSnapshot], Awaitable[None]]]]] = (
    (frozenset({"damaged row"}), _mend),
    (frozenset({"message not archived"}), _archive_state),
    (frozenset({"order"}), _order),
    (frozenset({"source missing", "message missing", "fact without source"}), _archive_older),
    (frozenset({"message changed"}), _edit),
    (OF_CHAIN, _rebuild_chain),
    (frozenset({"not embedded"}), _embed),
)
"""By the kinds that each puts right, the repairs in the order in which they are made."""
