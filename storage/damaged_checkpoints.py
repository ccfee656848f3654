"""Checkpoints that cannot be read: a thread goes on without them, from its archive; nobody waits for what is lost."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from langchain_core.runnables import RunnableConfig

from ..state.errors import StorageError
from .encryption import SealedError
from .readable import UNREADABLE
from .storage import Storage

if TYPE_CHECKING:
    from langgraph.checkpoint.base import CheckpointTuple

logger = logging.getLogger(__name__)

DAMAGED: Final = (*UNREADABLE, SealedError)
"""What reading a damaged value of a checkpoint raises; errors of MessagePack are ValueErrors."""


async def newest_readable(
    read: Callable[[], Awaitable[CheckpointTuple | None]], config: RunnableConfig, storage: Storage
) -> CheckpointTuple | None:
    """What `read` finds; None where that is the newest checkpoint of a thread, and it is damaged.

    A thread without a checkpoint goes on from its archive.

    Raises:
        StorageError: the checkpoint that the config names is damaged, or the storage fails.
    """
    try:
        return await read()
    except DAMAGED as error:
        thread_id, named = config["configurable"]["thread_id"], config["configurable"].get("checkpoint_id")
        if named:
            raise StorageError(
                f"The state {named!r} of the thread {thread_id!r} is damaged and cannot be read: without a "
                "checkpoint_id the thread goes on."
            ) from error
        _tell(thread_id, error, storage)
        return None


class UntilDamaged(list["CheckpointTuple"]):
    """Checkpoints of a list up to the first that is damaged, the newest first.

    Args:
        config: which thread; None for all.
        storage: whose observer counts it.
    """

    def __init__(self, config: RunnableConfig | None, storage: Storage) -> None:
        super().__init__()
        self._thread_id = str(((config or {}).get("configurable") or {}).get("thread_id", "of any"))
        self._storage = storage

    def __enter__(self) -> UntilDamaged:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        if isinstance(error, DAMAGED):
            _tell(self._thread_id, error, self._storage)
            return True
        return False


def _tell(thread_id: str, error: BaseException, storage: Storage) -> None:
    # Not the error's text: it may quote what was said.
    logger.warning(
        "A state of the thread %s cannot be read and is skipped (%s): the thread goes on from its archive.",
        thread_id,
        type(error).__name__,
    )
    storage.observer.skipped("checkpoints")
