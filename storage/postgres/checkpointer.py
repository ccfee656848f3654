"""The checkpointer: LangGraph's Postgres saver on our pool, usable from any loop, sync and async."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.postgres.base import _aexecute, _keep_latest
from langgraph.checkpoint.serde.base import SerializerProtocol

from ..damaged_checkpoints import UntilDamaged
from ..loop_checkpointer import Fence, LoopCheckpointer
from ..sealed_checkpoints import cipher_of, open_inline, seal_inline, sealed_serializer, with_keys
from ..sparse_checkpoints import THINNED_AT_ONCE, Passing, Step, Writes, thins
from .database import Database
from .saver import Saver, Statement
from .server import Connection

T = TypeVar("T")

_DELETE_RUNS = (
    "DELETE FROM checkpoint_writes w USING checkpoints c WHERE c.metadata->>'run_id' = ANY(%s) "
    "AND w.thread_id = c.thread_id AND w.checkpoint_ns = c.checkpoint_ns AND w.checkpoint_id = c.checkpoint_id",
    "DELETE FROM checkpoints WHERE metadata->>'run_id' = ANY(%s)",
)
_COPY_THREAD = (
    "INSERT INTO checkpoints SELECT %(to)s, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, "
    "metadata FROM checkpoints WHERE thread_id = %(from)s ON CONFLICT DO NOTHING",
    "INSERT INTO checkpoint_blobs SELECT %(to)s, checkpoint_ns, channel, version, type, blob "
    "FROM checkpoint_blobs WHERE thread_id = %(from)s ON CONFLICT DO NOTHING",
    "INSERT INTO checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, "
    "task_path) SELECT %(to)s, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path "
    "FROM checkpoint_writes WHERE thread_id = %(from)s ON CONFLICT DO NOTHING",
)

_REPLACED = (
    "DELETE FROM checkpoint_writes WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = ANY(%s)",
    "DELETE FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = ANY(%s)",
)
_BLOBS_REPLACED = (
    "DELETE FROM checkpoint_blobs WHERE thread_id = %s AND checkpoint_ns = %s "
    "AND (channel, version) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
)

_THIN = """
WITH oldest AS (
    SELECT checkpoint_id FROM checkpoints WHERE thread_id = %(thread)s AND checkpoint_ns = ''
    ORDER BY checkpoint_id DESC OFFSET %(kept)s - 1 LIMIT 1),
due AS (
    SELECT old.checkpoint_ns, old.checkpoint_id, old.checkpoint->'channel_versions' AS versions
    FROM checkpoints AS old, oldest WHERE old.thread_id = %(thread)s AND old.checkpoint_id < oldest.checkpoint_id
    AND (old.checkpoint_ns LIKE '%%:%%' OR EXISTS (
        SELECT FROM checkpoints AS new WHERE new.thread_id = old.thread_id AND new.checkpoint_ns = old.checkpoint_ns
        AND new.checkpoint_id > old.checkpoint_id))
    AND NOT EXISTS (SELECT FROM threads AS t WHERE t.thread_id = %(thread)s AND t.retention LIKE '%%checkpoint%%')
    LIMIT %(most)s),
gone AS (
    DELETE FROM checkpoints AS c USING due WHERE c.thread_id = %(thread)s AND c.checkpoint_ns = due.checkpoint_ns
    AND c.checkpoint_id = due.checkpoint_id),
written AS (
    DELETE FROM checkpoint_writes AS w USING oldest WHERE w.thread_id = %(thread)s
    AND w.checkpoint_id < oldest.checkpoint_id AND NOT EXISTS (
        SELECT FROM checkpoints AS c WHERE c.thread_id = w.thread_id AND c.checkpoint_ns = w.checkpoint_ns
        AND c.checkpoint_id = w.checkpoint_id AND (c.checkpoint_ns, c.checkpoint_id) NOT IN (
            SELECT checkpoint_ns, checkpoint_id FROM due)))
DELETE FROM checkpoint_blobs AS b
USING (SELECT DISTINCT checkpoint_ns, key, value FROM due, jsonb_each_text(versions)) AS old
WHERE b.thread_id = %(thread)s AND b.checkpoint_ns = old.checkpoint_ns AND b.channel = old.key AND b.version = old.value
AND NOT EXISTS (
    SELECT FROM checkpoints AS c WHERE c.thread_id = %(thread)s AND c.checkpoint_ns = b.checkpoint_ns
    AND c.checkpoint->'channel_versions'->>b.channel = b.version AND (c.checkpoint_ns, c.checkpoint_id) NOT IN (
        SELECT checkpoint_ns, checkpoint_id FROM due))
"""
"""Of a thread all but its newest checkpoints, with what only these have. Those of a graph inside ours go with its
task, and of one with a state of its own the newest stays. A thread with a retention of its own is left to the hourly
run."""


class PostgresCheckpointer(LoopCheckpointer):
    """Checkpoints in the pool of a `Database`, on that database's own loop.

    Each call takes a connection for as long as its statements run, and none between them. A connection lost in
    between is replaced once; every statement is an upsert, so doing it twice changes nothing.

    Args:
        database: where the checkpoints are kept.
        serde: how values become bytes.
    """

    def __init__(self, database: Database, serde: SerializerProtocol | None = None) -> None:
        super().__init__(database, serde)
        self._database = database
        self._saver: Saver | None = None

    async def _call(
        self,
        work: Callable[[Saver], Awaitable[T]],
        thread_id: str | None = None,
        fence: Statement | None = None,
        *,
        across: bool = False,
    ) -> T:
        """Do `work`, which writes to a thread, or only reads; `across`: it asks about rows of any user as well."""
        keys = self._database.keys
        serde = sealed_serializer(keys, await cipher_of(keys, thread_id), self.serde)

        async def with_saver(connection: Connection) -> T:
            scope = self._database.scope(None) if across else self._database.in_schema
            begin = [scope, *([fence] if fence is not None else [])]
            if self._saver is None:
                self._saver = Saver(cast("Any", None), serde=self.serde)
            return await work(self._saver.on(connection, begin, serde))

        return await with_keys(keys, lambda: self._database.run(with_saver, one_statement=True))

    async def _get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        async def read(saver: Saver) -> CheckpointTuple | None:
            found = await saver.aget_tuple(config)
            return found and open_inline(self._database.keys, found)

        return await self._call(read)

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

        async def read(saver: Saver) -> list[CheckpointTuple]:
            with UntilDamaged(config, self._database) as listed:
                async for found in saver.alist(config, filter=filter, before=before, limit=limit):
                    listed.append(open_inline(self._database.keys, found))
            return listed

        for found in await self._call(read):
            yield found

    async def _put(self, step: Step, replaces: Sequence[Passing], fence: Fence) -> None:
        thread_id = step.config["configurable"]["thread_id"]
        cipher = await self._database.keys.of_thread(thread_id)
        checkpoint = step.checkpoint if cipher is None else seal_inline(cipher, step.checkpoint)

        kept = self._database.settings.retention.checkpoints if thins(step) else None

        async def work(saver: Saver) -> None:
            async with saver.together() as cursor:
                await saver.store(step, checkpoint)
                for query, values in _replacing(step, replaces):
                    await cursor.execute(query, values)
                if kept is not None:
                    await cursor.execute(_THIN, {"thread": thread_id, "kept": kept, "most": THINNED_AT_ONCE})

        await self._call(work, thread_id, fence, across=kept is not None)

    async def _put_writes(self, config: RunnableConfig, writes: Writes, fence: Fence) -> None:
        await self._call(
            lambda saver: saver.aput_writes(config, writes.values, writes.task_id, writes.task_path),
            config["configurable"]["thread_id"],
            fence,
        )

    async def _delete_thread(self, thread_id: str) -> None:
        await self._call(lambda saver: saver.adelete_thread(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made."""

        async def work(connection: Any) -> None:
            for query in _DELETE_RUNS:
                await connection.execute(query, (list(run_ids),))

        await self._database.run(work)

    async def _copy_thread(self, names: Mapping[str, str]) -> None:
        async def work(connection: Any) -> None:
            for query in _COPY_THREAD:
                await connection.execute(query, names)

        await self._database.run(work)

    async def _keep_newest(self, thread_id: str) -> None:
        async def work(connection: Connection) -> None:
            async with connection.cursor(binary=True) as cursor:
                await _aexecute(cursor, _keep_latest(thread_id))

        await self._database.run(work)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The version after `current`, as the Postgres saver numbers them."""
        return AsyncPostgresSaver.get_next_version(cast("Any", self), current, channel)


def _replacing(step: Step, replaces: Sequence[Passing]) -> Iterator[tuple[str, Any]]:
    """The statements that delete what a step replaces, with what only that has."""
    if not replaces:
        return
    where = (step.config["configurable"]["thread_id"], step.config["configurable"].get("checkpoint_ns", ""))
    for query in _REPLACED:
        yield query, (*where, [passing.id for passing in replaces])
    current = step.checkpoint["channel_versions"]
    old = [(name, str(of)) for passing in replaces for name, of in passing.versions.items() if current.get(name) != of]
    yield _BLOBS_REPLACED, (*where, [name for name, _ in old], [of for _, of in old])
