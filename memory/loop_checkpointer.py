"""`LoopCheckpointer`: what all our checkpointers share: the serializer, and each call for sync code."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ..state.conversation import RECORDS
from .loop_thread import io_thread


def serializer() -> JsonPlusSerializer:
    """LangGraph's serializer, allowed to bring back our records."""
    return JsonPlusSerializer(allowed_msgpack_modules=[(record.__module__, record.__name__) for record in RECORDS])


class LoopCheckpointer(BaseCheckpointSaver[str]):
    """A checkpointer that works on the database's loop, whatever loop it is called from.

    Args:
        serde: how values become bytes.
    """

    def __init__(self, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde or serializer())

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`aget_tuple`, blocking."""
        return io_thread.run_sync(self.aget_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """`alist`, blocking."""

        async def read() -> Collection[CheckpointTuple]:
            return [found async for found in self.alist(config, filter=filter, before=before, limit=limit)]

        yield from io_thread.run_sync(read())

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """`aput`, blocking."""
        return io_thread.run_sync(self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """`aput_writes`, blocking."""
        io_thread.run_sync(self.aput_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """`adelete_thread`, blocking."""
        io_thread.run_sync(self.adelete_thread(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """`adelete_for_runs`, blocking."""
        io_thread.run_sync(self.adelete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`acopy_thread`, blocking."""
        io_thread.run_sync(self.acopy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`aprune`, blocking."""
        io_thread.run_sync(self.aprune(thread_ids, strategy=strategy))
