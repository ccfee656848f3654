"""The checkpointer on SQLite: LangGraph's saver on our connection, in that connection's own thread."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver

from ..damaged_checkpoints import UntilDamaged
from ..loop_checkpointer import Fence, LoopCheckpointer
from ..sealed_checkpoints import cipher_of, sealed_serializer, with_keys
from ..sparse_checkpoints import THINNED_AT_ONCE, Passing, Step, Writes, is_end, thins
from .database import SqliteDatabase, saver_on
from .pages import give_back_pages

T = TypeVar("T")

_OF_RUNS: Final = """
SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints
WHERE json_extract(CAST(metadata AS text), '$.run_id') IN (SELECT value FROM json_each(?))
"""
_OLDER: Final = """
SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints AS old WHERE thread_id = ? AND checkpoint_id < (
    SELECT max(checkpoint_id) FROM checkpoints AS new
    WHERE new.thread_id = old.thread_id AND new.checkpoint_ns = old.checkpoint_ns)
"""
_THINNED: Final = """
SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints AS old
WHERE thread_id = :thread AND checkpoint_id < (
    SELECT checkpoint_id FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns = ''
    ORDER BY checkpoint_id DESC LIMIT 1 OFFSET :kept - 1)
AND (checkpoint_ns LIKE '%:%' OR EXISTS (
    SELECT 1 FROM checkpoints AS new WHERE new.thread_id = old.thread_id AND new.checkpoint_ns = old.checkpoint_ns
    AND new.checkpoint_id > old.checkpoint_id))
AND NOT EXISTS (SELECT 1 FROM threads WHERE thread_id = :thread AND retention LIKE '%checkpoint%')
LIMIT :most
"""
"""Those of a graph inside ours go with its task; of one with a state of its own the newest stays."""
_DELETE: Final = "DELETE FROM {} WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_COPY: Final = (
    "INSERT OR IGNORE INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, "
    "checkpoint, metadata) SELECT :to, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata "
    "FROM checkpoints WHERE thread_id = :from",
    "INSERT OR IGNORE INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, "
    "value) SELECT :to, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value FROM writes "
    "WHERE thread_id = :from",
)


class SqliteCheckpointer(LoopCheckpointer):
    """Checkpoints in the file of a `SqliteDatabase`; each call is one transaction.

    Args:
        database: where the checkpoints are kept.
        serde: how values become bytes.
    """

    def __init__(self, database: SqliteDatabase, serde: SerializerProtocol | None = None) -> None:
        super().__init__(database, serde)
        self._database = database

    async def _serde(self, thread_id: str | None) -> SerializerProtocol:
        keys = self._database.keys
        return sealed_serializer(keys, await cipher_of(keys, thread_id), self.serde)

    async def _call(self, work: Callable[[SqliteSaver], T], thread_id: str | None = None, *, durable: bool = True) -> T:
        serde = await self._serde(thread_id)

        async def done() -> T:
            return await self._database.on_thread(lambda connection: work(saver_on(connection, serde)), durable=durable)

        return await with_keys(self._database.keys, done)

    async def _get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._call(lambda saver: saver.get_tuple(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  # the base class names it so
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Checkpoints, the newest first."""
        await self.caught_up(config["configurable"]["thread_id"] if config else None)

        def read(saver: SqliteSaver) -> list[CheckpointTuple]:
            with UntilDamaged(config, self._database) as listed:
                listed.extend(saver.list(config, filter=filter, before=before, limit=limit))
            return listed

        for found in await self._call(read):
            yield found

    async def _put(self, step: Step, replaces: Sequence[Passing], fence: Fence) -> None:
        serde = await self._serde(step.config["configurable"]["thread_id"])

        def work(connection: sqlite3.Connection) -> None:
            if fence is not None:
                fence[0](connection, fence[1])
            saver_on(connection, serde).put(step.config, step.checkpoint, step.metadata, step.versions)
            where = (step.config["configurable"]["thread_id"], step.config["configurable"].get("checkpoint_ns", ""))
            for passing in replaces:
                for table in ("checkpoints", "writes"):
                    connection.execute(_DELETE.format(table), (*where, passing.id))
            kept = self._database.checkpoints_kept
            if kept is not None and thins(step):
                _delete(connection, _THINNED, {"thread": where[0], "kept": kept, "most": THINNED_AT_ONCE})
                give_back_pages(connection)

        # What the user said is durable before it is answered, and each step where nobody waits for the end of the turn.
        durable = not self._database.turns or not is_end(step)
        await self._database.on_thread(work, durable=durable)

    async def _put_writes(self, config: RunnableConfig, writes: Writes, fence: Fence) -> None:
        # What a task wrote is made again where it is lost; what it asks, or how it failed, is not.
        durable = not self._database.turns and writes.are_special
        await self._call(
            lambda saver: saver.put_writes(config, writes.values, writes.task_id, writes.task_path),
            config["configurable"]["thread_id"],
            durable=durable,
        )

    async def _delete_thread(self, thread_id: str) -> None:
        await self._call(lambda saver: saver.delete_thread(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made."""
        await self._database.on_thread(lambda connection: _delete(connection, _OF_RUNS, [json.dumps(list(run_ids))]))

    async def _copy_thread(self, names: Mapping[str, str]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            for query in _COPY:
                connection.execute(query, names)

        await self._database.on_thread(work)

    async def _keep_newest(self, thread_id: str) -> None:
        await self._database.on_thread(lambda connection: _delete(connection, _OLDER, [thread_id]))
        await self._database.shrink()

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The version after `current`, as LangGraph's SQLite saver numbers them."""
        return str(SqliteSaver.get_next_version(cast("Any", self), current, channel))


def _delete(connection: sqlite3.Connection, which: str, values: Sequence[str] | Mapping[str, Any]) -> None:
    for index in connection.execute(which, values).fetchall():
        for table in ("checkpoints", "writes"):
            connection.execute(_DELETE.format(table), index)
