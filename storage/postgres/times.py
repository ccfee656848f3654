"""Times as the driver reads them for us."""

from __future__ import annotations

from typing import Any, cast

import psycopg
from psycopg import AsyncConnection, pq
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader
from psycopg.rows import DictRow


async def read_times_so(connection: AsyncConnection[DictRow]) -> None:
    """Have a connection read times in UTC, and those that Python has none for as None."""
    connection.adapters.register_loader("timestamptz", _LenientTime)
    connection.adapters.register_loader("timestamptz", _LenientBinaryTime)


class _LenientTime(Loader):
    """A time in UTC; one that Python has none for, such as infinity, is None: `storage.readable` skips its row."""

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        # Without the connection: for the zone of its session the driver would look for a file, and block the loop.
        self._load = cast("type[Loader]", psycopg.adapters.get_loader(oid, self.format))(oid, None).load

    def load(self, data: Buffer) -> Any:
        try:
            return self._load(data)
        except psycopg.DataError:
            return None


class _LenientBinaryTime(_LenientTime):
    format = pq.Format.BINARY
