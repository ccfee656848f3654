"""Time travel: a run, or a reader, names an earlier checkpoint of a thread, which may have gone since."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import StateSnapshot

from ..state.errors import InputError


async def refuse_missing(saver: object, config: RunnableConfig) -> None:
    """Refuse to go on from a checkpoint that is not there: LangGraph would begin the thread again.

    Raises:
        InputError: it was thinned out, or never was.
    """
    if names_checkpoint(config) and isinstance(saver, BaseCheckpointSaver) and await saver.aget_tuple(config) is None:
        raise _missing(config)


def there(snapshot: StateSnapshot, config: RunnableConfig) -> StateSnapshot:
    """The state that a config names.

    Raises:
        InputError: its checkpoint was thinned out, or never was.
    """
    if names_checkpoint(config) and snapshot.created_at is None:
        raise _missing(config)
    return snapshot


def names_checkpoint(config: RunnableConfig) -> bool:
    """Whether a run goes on from an earlier checkpoint of the thread, or a reader looks at it."""
    configurable = (config or {}).get("configurable") or {}
    return bool(configurable.get("checkpoint_id")) and not configurable.get("checkpoint_ns")


def _missing(config: RunnableConfig) -> InputError:
    configurable = config.get("configurable") or {}
    return InputError(
        f"The checkpoint {configurable['checkpoint_id']!r} of thread {configurable.get('thread_id')!r} is not there: "
        "of each thread the newest are kept, as many as EVERTHREAD_RETENTION says (checkpoints=16, or forever). What "
        "was said is in the archive: see `history`."
    )
