"""`Saver`: LangGraph's Postgres saver on a connection of our pool, for one call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from functools import cache
from typing import Any, Final

from langgraph.checkpoint.base import Checkpoint, get_serializable_checkpoint_metadata
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from psycopg import AsyncCursor
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from ..sparse_checkpoints import Step
from .server import Connection

Statement = tuple[str, Mapping[str, Any]]

_BLOB: Final = "thread_id, checkpoint_ns, channel, version, type, blob"


@cache
def _blobs(number: int) -> str:
    """The statement that stores this many values of channels."""
    rows = ", ".join(["(%s, %s, %s, %s, %s, %s)"] * number)
    return f"INSERT INTO checkpoint_blobs ({_BLOB}) VALUES {rows} ON CONFLICT DO NOTHING"  # noqa: S608  # no values


class Saver(AsyncPostgresSaver):
    """LangGraph's saver on one connection, for one call: what it sends is one transaction, which names the schema."""

    _connection: Connection
    _begin: Sequence[Statement]
    _open: AsyncCursor[DictRow] | None = None

    def on(self, connection: Connection, begin: Sequence[Statement], serde: SerializerProtocol) -> Saver:
        """The same for one call, whose first statements are these, with their values; a new one takes a millisecond."""
        made = copy(self)
        made.serde, made._connection, made._begin = serde, connection, begin
        return made

    @asynccontextmanager
    async def together(self) -> AsyncIterator[AsyncCursor[DictRow]]:
        """Around several calls whose statements are sent in one transaction; more may be sent through the cursor."""
        async with self._cursor() as self._open:
            yield self._open
        self._open = None

    async def store(self, step: Step, checkpoint: Checkpoint) -> None:
        """LangGraph's `aput`, with all values in one statement, and made here: a thread for it would cost more.

        Args:
            step: what is stored.
            checkpoint: its checkpoint, sealed.
        """
        named, values = step.config["configurable"], checkpoint["channel_values"]
        plain = {n: v for n, v in values.items() if v is None or isinstance(v, (str, int, float, bool))}
        if any(isinstance(value, _DeltaSnapshot) for value in values.values()):
            await self.aput(step.config, checkpoint, step.metadata, step.versions)
            return
        where = (named["thread_id"], named["checkpoint_ns"])
        new = {n: of for n, of in step.versions.items() if n in values and n not in plain}
        async with self._cursor() as cursor:
            if rows := self._dump_blobs(*where, values, new):
                await cursor.execute(_blobs(len(rows)), [value for row in rows for value in row])
            metadata = get_serializable_checkpoint_metadata(step.config, step.metadata)
            made = (Jsonb({**checkpoint, "channel_values": plain}), Jsonb(metadata))
            ids = (*where, checkpoint["id"], named.get("checkpoint_id"))
            await cursor.execute(self.UPSERT_CHECKPOINTS_SQL, (*ids, *made))

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        if self._open is not None:
            yield self._open
            return
        async with self._connection.pipeline(), self._connection.cursor(binary=True) as cursor:
            for statement, values in self._begin:
                await cursor.execute(statement.encode(), values)
            yield cursor
