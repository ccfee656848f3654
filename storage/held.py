"""`Held`: what a process holds of the threads that it had last, to go on with where their storage does not answer."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from langchain_core.runnables import RunnableConfig

from .archive_rows import MadeMessages
from .sparse_checkpoints import RunCheckpoints, Step, is_end

if TYPE_CHECKING:
    from langgraph.checkpoint.base import CheckpointTuple

_MOST_MESSAGES: Final = 10_000
"""Messages that are held in all, at most, of the threads that were here last: 20 to 30 MB."""


class HeldThread(NamedTuple):
    """The newest state of a thread, after a turn.

    Attributes:
        user_id: whose thread.
        step: the checkpoint.
        texts: working values of the turn that made it, which a prompt of the next needs.
        is_ahead: whether it holds what the storage does not have yet.
    """

    user_id: str
    step: Step
    texts: Mapping[str, Any]
    is_ahead: bool

    @property
    def weight(self) -> int:
        """Messages and summaries in it."""
        messages = self.step.checkpoint["channel_values"].get("messages") or ()
        return len(messages) + len(self.texts.get("chain_texts") or ())


class Held:
    """The newest states of threads by their ids; from any thread and event loop.

    Attributes:
        made: messages of the archive that were read last.
    """

    def __init__(self) -> None:
        self._threads: OrderedDict[str, HeldThread] = OrderedDict()
        self._weight = 0
        self.made = MadeMessages()
        self._change = threading.Lock()

    def note(self, run: RunCheckpoints, step: Step) -> None:
        """Hold the state with which a turn ends."""
        if is_end(step) and run.user_id is not None:
            from langgraph.checkpoint.base import copy_checkpoint

            copied = step._replace(checkpoint=copy_checkpoint(step.checkpoint))
            self.put(step.config["configurable"]["thread_id"], HeldThread(run.user_id, copied, run.texts, run.is_away))

    def put(self, thread_id: str, held: HeldThread) -> None:
        """Hold the state of a thread, in place of those that are older than all that may be held."""
        with self._change:
            self._drop(thread_id)
            self._threads[thread_id] = held
            self._weight += held.weight
            while self._weight > _MOST_MESSAGES and len(self._threads) > 1:
                # What the storage does not have yet stays, however long ago it was said.
                oldest = next((id_ for id_, other in self._threads.items() if not other.is_ahead), None)
                if oldest is None:
                    return
                self._drop(oldest)

    def of(self, thread_id: str | None) -> HeldThread | None:
        """What is held of a thread."""
        return self._threads.get(thread_id or "")

    def found(self, config: RunnableConfig) -> CheckpointTuple | None:
        """What is held of the state that a config names, as a checkpointer gives it."""
        named = config["configurable"]
        held = self.of(named["thread_id"])
        if held is None or named.get("checkpoint_ns"):
            return None
        from langgraph.checkpoint.base import CheckpointTuple, copy_checkpoint

        checkpoint, before = copy_checkpoint(held.step.checkpoint), held.step.config["configurable"]
        if named.get("checkpoint_id") not in {None, checkpoint["id"]}:
            return None

        def at(id_: str) -> RunnableConfig:
            return {"configurable": {"thread_id": named["thread_id"], "checkpoint_ns": "", "checkpoint_id": id_}}

        parent = at(before["checkpoint_id"]) if before.get("checkpoint_id") else None
        return CheckpointTuple(at(checkpoint["id"]), checkpoint, held.step.metadata, parent, [])

    def is_ahead(self, thread_id: str) -> bool:
        """Whether what is held of a thread has what the storage does not have yet."""
        held = self.of(thread_id)
        return held is not None and held.is_ahead

    def is_known(self, user_id: str, thread_id: str | None) -> bool:
        """Whether a thread of this user is held."""
        held = self.of(thread_id)
        return held is not None and held.user_id == user_id

    def pop(self, thread_id: str) -> HeldThread | None:
        """What is held of a thread, which is held no longer."""
        self.made.clear()
        with self._change:
            return self._drop(thread_id)

    def _drop(self, thread_id: str) -> HeldThread | None:
        held = self._threads.pop(thread_id, None)
        self._weight -= held.weight if held is not None else 0
        return held
