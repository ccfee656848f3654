"""`encrypt_stored`: what a user has from before encryption was turned on is sealed, in batches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from .encryption import Cipher
from .entering import enter
from .memory_changes import array_bytes, term_numbers
from .queries import for_psycopg
from .sealed_values import hashed, is_sealed, seal
from .storage import Connection, Storage
from .user_keys import NOBODY
from .values import Json, Row

if TYPE_CHECKING:
    from .postgres.database import Database

BATCH_ROWS: Final = 500


class _Table(NamedTuple):
    """A table: the fields that a key column begins at, what it is called where its values are sealed, its columns."""

    keys: dict[str, str | int]
    field: str
    sealed: tuple[str, ...]
    hashed: tuple[str, ...] = ()


_OF_THREAD: Final[dict[str, str | int]] = {"thread_id": "", "id": ""}
_TABLES: Final[dict[str, _Table]] = {
    "threads": _Table({"thread_id": ""}, "threads", ("name",)),
    "messages": _Table(_OF_THREAD, "messages", ("message", "text", "name"), ("term_keys",)),
    "summaries": _Table(_OF_THREAD, "summaries", ("content", "rejected")),
    "summary_versions": _Table({**_OF_THREAD, "version": -1}, "summaries", ("content", "rejected")),
    "facts": _Table(
        {"id": ""}, "facts", ("text", "subject", "attribute", "value", "terms"), ("term_keys", "meaning", "slot")
    ),
    "pins": _Table({"id": ""}, "pins", ("text",)),
    "vectors": _Table({"langchain_id": ""}, "vectors", ("content",)),
    "documents": _Table({"namespace": "", "key": ""}, "documents", ("content",)),
    "turn_reports": _Table({"thread_id": "", "turn": -1}, "turn_reports", ("report",)),
}
_OTHER_TABLES: Final = ("search_cache", "checkpoints", "checkpoint_blobs", "checkpoint_writes")
_CASTS: Final = {"term_keys": "::bigint[]", "meaning": "::uuid", "slot": "::uuid", "langchain_id": "::uuid"}


async def encrypt_stored(database: Storage, cipher: Cipher) -> None:
    """Seal all rows of the user of a cipher that are not sealed yet. It may be stopped, and done again.

    Raises:
        StorageError: the database fails; the batches before it are done.
    """
    for name, table in _TABLES.items():
        after: dict[str, Any] | None = dict(table.keys)
        while after is not None:
            after = await _batch(database, cipher, name, table, after)


async def _batch(
    database: Storage, cipher: Cipher, name: str, table: _Table, after: dict[str, Any]
) -> dict[str, Any] | None:
    """Seal the next rows; returns the key of the last of them, or None where there are no more."""
    in_postgres = database.kind == "postgres"
    select, update = _statements(name, table, in_postgres=in_postgres)

    async def work(connection: Connection) -> dict[str, Any] | None:
        await enter(database, connection, cipher.user_id)
        await connection.execute(database.queries["users.lock"], {"user_id": cipher.user_id})
        cursor = await connection.execute(select, {**after, "user_id": cipher.user_id, "limit": BATCH_ROWS})
        rows = await cursor.fetchall()
        async with connection.pipeline():
            for row in rows:
                if not is_sealed(row[table.sealed[0]]):
                    await connection.execute(
                        update, {**_sealed(cipher, table, row, in_postgres), "user_id": cipher.user_id}
                    )
        return {key: rows[-1][key] for key in table.keys} if len(rows) == BATCH_ROWS else None

    return await database.run(work)


def _statements(name: str, table: _Table, *, in_postgres: bool) -> tuple[str, str]:
    columns = (*table.sealed, *table.hashed)
    keys = [f"{key}::text AS {key}" if in_postgres and key == "langchain_id" else key for key in table.keys]
    order = [key.partition(" AS ")[0] for key in keys]
    casts = _CASTS if in_postgres else {}
    select = (
        f"SELECT {', '.join((*keys, *columns))} FROM {name} WHERE user_id = :user_id "  # noqa: S608  # our own names
        f"AND ({', '.join(order)}) > ({', '.join(f':{key}' for key in table.keys)}) "
        f"ORDER BY {', '.join(order)} LIMIT :limit"
    )
    given = {column: f"{column} = :{column}{casts.get(column, '')}" for column in (*columns, *table.keys)}
    update = (
        f"UPDATE {name} SET {', '.join(given[column] for column in columns)} "  # noqa: S608
        f"WHERE user_id = :user_id AND {' AND '.join(given[key] for key in table.keys)}"
    )
    return (for_psycopg(select), for_psycopg(update)) if in_postgres else (select, update)


def _sealed(cipher: Cipher, table: _Table, row: Row, in_postgres: bool) -> dict[str, Any]:
    new = dict(row)
    for column in table.sealed:
        value = seal(cipher, table.field, column, row[column])
        new[column] = Json(value) if column in {"message", "report"} else value
    for column in table.hashed:
        stored = row[column]
        if column != "term_keys" or stored is None or in_postgres:
            new[column] = hashed(cipher, stored)
        elif isinstance(stored, bytes):  # as SQLite keeps those of messages
            new[column] = array_bytes(cipher.terms([int(key) for key in term_numbers([stored])[0]]))
        else:
            new[column] = cipher.terms(json.loads(stored))
    return new


async def erase_plain(database: Storage) -> None:
    """Have the storage rewrite its files, in which rows still stand as they were before they were sealed.

    A server that gives no right for it keeps them until its next VACUUM FULL, and in its write-ahead log for a while.

    Raises:
        StorageError: the database fails.
    """
    if database.kind == "postgres":
        from .postgres.rewrite import rewrite

        await rewrite(cast("Database", database), [*_TABLES, *_OTHER_TABLES])
        return

    async def work(connection: Connection) -> None:
        # A removal has the JSON file written twice, so that its backup is new, too.
        await connection.execute(database.queries["branches.read_anew"], {"user_id": NOBODY})
        for statement in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
            await connection.execute(statement)

    await database.run(work, one_statement=True)
