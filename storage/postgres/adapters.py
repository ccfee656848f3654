"""Values as the driver reads and writes them for us."""

from __future__ import annotations

from typing import Any, cast

import psycopg
from psycopg import AsyncConnection, pq
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.rows import DictRow

from ..values import Json, kept_time


async def adapt(connection: AsyncConnection[DictRow]) -> None:
    """Have a connection read times in UTC, and those that are not kept as None; and write `Json` as jsonb."""
    connection.adapters.register_loader("timestamptz", _LenientTime)
    connection.adapters.register_loader("timestamptz", _LenientBinaryTime)
    connection.adapters.register_dumper(Json, _JsonDumper)


class _JsonDumper(Dumper):
    oid = psycopg.adapters.types["jsonb"].oid

    def dump(self, obj: Json) -> Buffer:
        return str(obj).encode()


class _LenientTime(Loader):
    """A time in UTC; one that is not kept, such as infinity, is None: `storage.readable` skips its row."""

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        # Without the connection: for the zone of its session the driver would look for a file, and block the loop.
        self._load = cast("type[Loader]", psycopg.adapters.get_loader(oid, self.format))(oid, None).load

    def load(self, data: Buffer) -> Any:
        try:
            return kept_time(self._load(data))
        except (psycopg.DataError, ValueError):
            return None


class _LenientBinaryTime(_LenientTime):
    format = pq.Format.BINARY
