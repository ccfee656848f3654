"""Checkpoints of a checkpointer that is not everthread's, without what is forgotten: through LangGraph's interface.

That can list, store and delete a whole thread. So the newest checkpoints of a thread are read, the thread is deleted,
and they are stored again under their ids.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any, Final, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ..state.errors import StorageError
from ..storage.loop_checkpointer import own_saver
from ..storage.postgres.thread_lock import ThreadLocks
from .forget import Found
from .forget_checkpoints import KEPT
from .forget_traces import Traces

T = TypeVar("T")

Saver = BaseCheckpointSaver[Any]

_LEFT: Final = (
    "It is forgotten, but the checkpointer of your own may still hold it in {number} threads ({threads}): delete these "
    "there."
)
_NAMED: Final = 5


def foreign(saver: object) -> Saver | None:
    """A checkpointer of another make than everthread's own, whose checkpoints stand beside the storage; else None."""
    return saver if isinstance(saver, BaseCheckpointSaver) and own_saver(saver) is None else None


async def scrub_saver(saver: Saver, found: Found, locks: ThreadLocks | None = None, *, held: str = "") -> None:
    """Rewrite what the checkpoints of all threads hold that are touched; those of whole threads go.

    Args:
        saver: the checkpointer.
        found: what was forgotten.
        locks: of those threads in which a turn may run; None where the caller holds them all.
        held: the one that the caller holds.

    Raises:
        StorageError: a thread could not be rewritten, or a turn runs there.
    """
    left: list[str] = []
    cause: Exception | None = None
    for thread_id in sorted(found.touched):
        try:
            async with (
                nullcontext(True) if locks is None or thread_id == held else locks.try_hold(thread_id) as is_free
            ):
                if is_free:
                    await _scrub(saver, thread_id, found.traces)
                else:
                    left.append(thread_id)
        except Exception as error:  # whatever a checkpointer of another make raises
            left.append(thread_id)
            cause = error
    if left:
        raise StorageError(_LEFT.format(threads=", ".join(map(repr, left[:_NAMED])), number=len(left))) from cause


async def _scrub(saver: Saver, thread_id: str, traces: Traces) -> None:
    if thread_id in traces.threads:
        await _either(lambda: saver.adelete_thread(thread_id), lambda: saver.delete_thread(thread_id))
        return
    found = await _listed(saver, thread_id)
    number: Counter[str] = Counter()
    kept: list[CheckpointTuple] = []
    for one in found:  # the newest first
        number[namespace := _namespace(one)] += 1
        if number[namespace] <= KEPT:
            kept.append(one)
    rewritten = [await asyncio.to_thread(_without, one, thread_id, traces) for one in kept]
    if len(kept) == len(found) and all(new is old for new, old in zip(rewritten, kept, strict=True)):
        return
    await _either(lambda: saver.adelete_thread(thread_id), lambda: saver.delete_thread(thread_id))
    for one in reversed(rewritten):
        await _store(saver, thread_id, one)


async def _listed(saver: Saver, thread_id: str) -> list[CheckpointTuple]:
    where: RunnableConfig = {"configurable": {"thread_id": thread_id}}

    async def listed() -> list[CheckpointTuple]:
        return [found async for found in saver.alist(where)]

    return await _either(listed, lambda: list(saver.list(where)))


async def _store(saver: Saver, thread_id: str, one: CheckpointTuple) -> None:
    namespace, versions = _namespace(one), one.checkpoint["channel_versions"]
    parent = ((one.parent_config or {}).get("configurable") or {}).get("checkpoint_id")
    where: RunnableConfig = {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace}}
    if parent:
        where["configurable"]["checkpoint_id"] = parent
    await _either(
        lambda: saver.aput(where, one.checkpoint, one.metadata, versions),
        lambda: saver.put(where, one.checkpoint, one.metadata, versions),
    )
    writes: dict[str, list[tuple[str, Any]]] = {}
    for task_id, channel, value in one.pending_writes or ():
        writes.setdefault(task_id, []).append((channel, value))
    for task_id, of_task in writes.items():
        await _put_writes(saver, one.config, of_task, task_id)


async def _put_writes(saver: Saver, at: RunnableConfig, writes: list[tuple[str, Any]], task_id: str) -> None:
    await _either(lambda: saver.aput_writes(at, writes, task_id), lambda: saver.put_writes(at, writes, task_id))


def _without(one: CheckpointTuple, thread_id: str, traces: Traces) -> CheckpointTuple:
    """A checkpoint without what is forgotten; itself where it holds nothing of it."""
    held = {
        "values": one.checkpoint["channel_values"],
        "writes": [list(write) for write in one.pending_writes or ()],
        "metadata": dict(one.metadata),
    }
    kept = traces.removed_from(held, thread_id)
    if kept is held:
        return one
    return one._replace(
        checkpoint={**one.checkpoint, "channel_values": kept["values"] or {}},
        metadata=cast("Any", kept["metadata"] or {}),
        pending_writes=[cast("Any", tuple(write)) for write in kept["writes"] if len(write) == 3],
    )


def _namespace(one: CheckpointTuple) -> str:
    return str(one.config["configurable"].get("checkpoint_ns", ""))


async def _either(work: Callable[[], Awaitable[T]], blocking: Callable[[], T]) -> T:
    """Do it by the async method of a checkpointer, or where that has none, by the other one."""
    try:
        return await work()
    except NotImplementedError:
        return await asyncio.to_thread(blocking)
