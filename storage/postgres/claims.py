"""`PostgresLocks`: one turn at a time in a thread between processes, by tickets in a table.

Who wants a thread draws a ticket, and the lowest has it: first come, first served, whoever asks more often. A ticket is
good for some seconds and is renewed while its process lives; one that is not, or whose process is gone, is dropped by
the next. Nothing is held but a row, no connection and no session: a pooler in transaction mode may stand in between.

A ticket may be dropped while its turn goes on, after a long pause of its process say. What that turn writes once the
thread was given to another is refused, by the database itself and in the same transaction: see `Database.fence`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import uuid
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from psycopg.rows import DictRow

from ...state.errors import StorageError, StorageReadOnly
from .database import Database
from .server import Connection
from .thread_lock import POLL_SECONDS, ThreadLocks

logger = logging.getLogger(__name__)

GOOD_SECONDS: Final = 15.0
"""How long a ticket is good that is not renewed."""

RENEW_SECONDS: Final = GOOD_SECONDS / 3
_FIRST_LOOK_SECONDS: Final = 0.005
"""Before who waits looks again; then half as long again, up to `POLL_SECONDS`."""

_DRAW: Final = """
WITH alone AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(hashtextextended('everthread.claims.' || %(thread_id)s, 0)))
INSERT INTO thread_claims (thread_id, holder, expires_at)
SELECT %(thread_id)s, %(holder)s, now() + make_interval(secs => %(good)s) FROM alone
ON CONFLICT (thread_id, holder) DO UPDATE SET ticket = DEFAULT, expires_at = excluded.expires_at"""
"""A ticket is seen before the next is drawn, so that none below it can come to light later."""

_LOOK: Final = """
WITH granted AS (
    INSERT INTO thread_turns (thread_id, ticket)
    SELECT thread_id, ticket FROM thread_claims AS own WHERE thread_id = %(thread_id)s AND holder = %(holder)s
    AND NOT EXISTS (SELECT FROM thread_claims AS other
                    WHERE other.thread_id = own.thread_id AND other.ticket < own.ticket)
    ON CONFLICT (thread_id) DO UPDATE SET ticket = excluded.ticket RETURNING ticket)
SELECT ticket, holder, expires_at < now() AS has_expired, ticket = (SELECT ticket FROM granted) AS is_given
FROM thread_claims WHERE thread_id = %(thread_id)s AND ticket <= (
    SELECT ticket FROM thread_claims WHERE thread_id = %(thread_id)s AND holder = %(holder)s)
ORDER BY ticket"""
"""The lowest ticket is given the thread; then who is before the own one."""

_DROP: Final = """
DELETE FROM thread_claims WHERE thread_id = %(thread_id)s AND ticket = ANY(%(tickets)s)
AND (expires_at < now() OR holder = ANY(%(dead)s))"""
_RENEW: Final = """
UPDATE thread_claims SET expires_at = now() + make_interval(secs => %(good)s)
WHERE holder = %(holder)s AND thread_id = ANY(%(threads)s)"""
_GIVE_BACK: Final = """
WITH forgotten AS (
    DELETE FROM thread_turns WHERE thread_id = %(thread_id)s
    AND NOT EXISTS (SELECT FROM threads WHERE thread_id = %(thread_id)s))
DELETE FROM thread_claims WHERE thread_id = %(thread_id)s AND holder = %(holder)s"""
"""Of a thread that was deleted meanwhile nothing is left."""

_SOON: Final = "set_config('synchronous_commit', 'off', true)"
"""Nobody waits for the disk: a claim that a crash of the server loses is as good as one that nobody has taken over."""


class PostgresLocks(ThreadLocks):
    """The locks of one process, and tickets in the database between processes.

    Args:
        database: where the tickets are.
    """

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database
        self._holder = f"{_MACHINE}/{os.getpid()}/{uuid.uuid4().hex[:8]}"
        self._claimed: set[str] = set()
        self._given_up: set[str] = set()  # and not given back, as the database did not answer
        self._renewing: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Stop renewing."""
        if self._renewing is not None:
            self._renewing.get_loop().call_soon_threadsafe(self._renewing.cancel)

    async def _take_between_processes(self, thread_id: str) -> None:
        pause = _FIRST_LOOK_SECONDS
        try:
            ticket = await self._draw(thread_id)
            while ticket is None:
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, POLL_SECONDS)
                ticket = await self._look(thread_id)
        except StorageReadOnly:  # none was drawn
            self._claimed.discard(thread_id)
            raise
        except BaseException:
            await self._give_back_between_processes(thread_id)
            raise
        self._database.tickets[thread_id] = ticket

    async def _try_between_processes(self, thread_id: str) -> bool:
        ticket = await self._draw(thread_id)
        if ticket is None:
            await self._give_back_between_processes(thread_id)
            return False
        self._database.tickets[thread_id] = ticket
        return True

    async def _give_back_between_processes(self, thread_id: str) -> None:
        self._database.tickets.pop(thread_id, None)
        try:
            await self._let_go(thread_id)
        except StorageError as error:
            logger.warning("A thread is given back as soon as the database answers: %s", error)
            self._given_up.add(thread_id)

    async def _let_go(self, thread_id: str) -> None:
        """Give a thread back, after what the end of its turn could not write yet."""
        await self._database.unwritten.catch_up(thread_id)
        self._claimed.discard(thread_id)
        self._given_up.discard(thread_id)
        await self._run(thread_id, _GIVE_BACK)

    async def _draw(self, thread_id: str) -> int | None:
        """Draw a ticket; returns it where it is the lowest.

        What the last turn of this process could not write yet comes first: once the thread is given again, it is late.
        """
        await self._database.unwritten.catch_up(thread_id)
        self._claimed.add(thread_id)
        self._given_up.discard(thread_id)
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())
        return await self._lowest(thread_id, await self._run(thread_id, _DRAW, _LOOK))

    async def _look(self, thread_id: str) -> int | None:
        """The own ticket where it is the lowest by now."""
        rows = await self._run(thread_id, _LOOK)
        return await self._lowest(thread_id, rows) if rows else await self._draw(thread_id)  # none: it was dropped

    async def _lowest(self, thread_id: str, rows: list[DictRow]) -> int | None:
        *before, own = rows
        dead = [row["holder"] for row in before if _is_dead(row["holder"])]
        stale = [row["ticket"] for row in before if row["has_expired"] or row["holder"] in dead]
        if stale:
            logger.warning("The process that had thread %s is gone or does not answer: it is taken over.", thread_id)
            await self._run(thread_id, _DROP, tickets=stale, dead=dead)
            return await self._look(thread_id)
        return None if before or not own["is_given"] else int(own["ticket"])

    async def _renew(self) -> None:
        while self._claimed:
            await asyncio.sleep(RENEW_SECONDS / 5 if self._given_up else RENEW_SECONDS)
            with suppress(StorageError):  # the next time, or another takes over
                await self._run("", _RENEW, threads=list(self._claimed))
                for thread_id in list(self._given_up):
                    await self._let_go(thread_id)

    async def _run(self, thread_id: str, *statements: str, **more: Any) -> list[DictRow]:
        """Run statements in one transaction and one round trip; returns the rows of the last."""
        values = {"thread_id": thread_id, "holder": self._holder, "good": GOOD_SECONDS, **more}

        async def work(connection: Connection) -> list[DictRow]:
            scope, scoped = self._database.scope(None)
            async with connection.pipeline():
                await connection.execute(f"{scope}, {_SOON}".encode(), scoped)
                cursors = [await connection.execute(statement.encode(), values) for statement in statements]
            return await cursors[-1].fetchall() if cursors[-1].description is not None else []

        return await self._database.run(work, one_statement=True)


def _machine() -> str:
    """What tells this machine, and what of it sees the same processes, from others; nothing of it can be read."""
    seen = socket.gethostname()
    with suppress(OSError):
        seen += Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        seen += str(Path("/proc/self/ns/pid").stat().st_ino)
    return blake2b(seen.encode(), digest_size=6).hexdigest()


_MACHINE: Final = _machine()


def _is_dead(holder: str) -> bool:
    """Whether a holder was a process of this machine that is gone."""
    machine, pid, _ = holder.split("/")
    if machine != _MACHINE or os.name != "posix":
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
