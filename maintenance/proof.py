"""`prove`: after forgetting, the bytes of what is forgotten are looked for wherever the storage keeps anything."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ..runtime.forget_needles import Needles
from ..storage.data_dir import data_dir_of
from ..storage.json.file import backup_of, read_into
from ..storage.sqlite.database import SqliteDatabase, connect
from ..storage.sqlite.migrate import bring_up_to_date
from ..storage.storage import Connection, Storage
from ..storage.user_rows import UserRows
from .erasure import flush_wal, rebuild_file, rewrite_tables
from .file_scan import Scan, forms, scan_files
from .sealed_rows import in_opened

if TYPE_CHECKING:
    from psycopg import sql

_COLUMNS: Final = """
SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns AS c
JOIN information_schema.tables AS t USING (table_schema, table_name)
WHERE c.table_schema = %(schema)s AND t.table_type = 'BASE TABLE'
  AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = format('%%I.%%I', c.table_schema, c.table_name)::regclass)
  AND c.data_type IN ('text', 'json', 'jsonb', 'ARRAY', 'bytea', 'uuid') ORDER BY 1, 2
"""


class Proof(NamedTuple):
    """What came of looking.

    Attributes:
        needles: how many texts and ids were looked for, and of how many they were chosen.
        looked_at: where, one line each.
        remains: where something was found, one line each; nothing where it is gone.
        unproven: what could not be looked at, one sentence each.
    """

    needles: tuple[int, int]
    looked_at: tuple[str, ...]
    remains: tuple[str, ...]
    unproven: tuple[str, ...]


async def prove(storage: Storage, user_id: str, needles: Needles) -> Proof:
    """Erase what was deleted from the files of the storage, and look for texts and ids in all that it keeps.

    Args:
        storage: open.
        user_id: whose rows a server with row-level security shows.
        needles: what is looked for.

    Raises:
        StorageError: the storage fails.
    """
    look = {"sqlite": _in_sqlite, "json": _in_json, "postgres": _in_postgres}[storage.kind]
    looked_at, remains, unproven = await look(storage, user_id, needles.texts)
    if storage.keys.is_given:
        looked_at.append("all rows and checkpoints of the user, opened with their key")
        remains += await in_opened(UserRows(storage, user_id), needles.texts)
    unproven.append("Files that were exported, backups and snapshots of the disk are not this storage's.")
    if storage.settings.vector_store:
        unproven.append("The vector store of your own was asked to delete, and was not looked into.")
    return Proof((len(needles.texts), needles.chosen_of), tuple(looked_at), tuple(remains), tuple(unproven))


Looked = tuple[list[str], list[str], list[str]]


async def _in_sqlite(storage: Storage, _user_id: str, texts: Sequence[str]) -> Looked:
    database = cast("SqliteDatabase", storage)
    await flush_wal(storage)
    scan = await scan_files(await _beside(database.path), texts)
    rebuilt = ""
    if scan.found:
        await rebuild_file(storage)
        scan, rebuilt = await scan_files(await _beside(database.path), texts), ", which was rebuilt"
    looked_at = [f"{database.path} with its log and indexes ({_size(scan)}{rebuilt})"]
    remains = [f"{path.name}: {number}" for path, number in scan.found.items()]
    if remains:
        remains += await database.on_thread(lambda connection: _in_tables(connection, texts))
    return looked_at, remains, _unread(scan)


async def _in_json(storage: Storage, _user_id: str, texts: Sequence[str]) -> Looked:
    path = cast("SqliteDatabase", storage).path
    remains = await cast("SqliteDatabase", storage).on_thread(lambda connection: _in_tables(connection, texts))
    for file in (path, backup_of(path)):
        remains += [f"{file.name}, {found}" for found in await asyncio.to_thread(_in_json_file, file, texts)]
    scan = await scan_files(await _beside(path), texts)
    remains += [f"{file.name}: {number}" for file, number in scan.found.items()]
    return [f"{path} and the version before it, with what is encoded in them ({_size(scan)})"], remains, _unread(scan)


def _in_json_file(path: Path, texts: Sequence[str]) -> list[str]:
    if not path.exists():
        return []
    connection = connect(":memory:")
    try:
        bring_up_to_date(connection, path)
        read_into(connection, path)
        return _in_tables(connection, texts)
    finally:
        connection.close()


async def _in_postgres(storage: Storage, user_id: str, texts: Sequence[str]) -> Looked:
    refused = await rewrite_tables(storage)
    unproven = [f"Not done: {what}." for what in refused]

    async def look(connection: Connection) -> tuple[int, list[str]]:
        await connection.execute("SELECT set_config('everthread.user_id', %(user_id)s, true)", {"user_id": user_id})
        return await _in_columns(connection, _schema(storage), texts)

    tables, remains = await storage.run(look)
    looked_at = [f"{tables} tables of the schema {_schema(storage)!r}, row by row"]
    if storage.settings.server_url is not None:
        unproven.append("The data files, the log and the replicas of the database's server were not looked at.")
        return looked_at, remains, unproven
    folder = data_dir_of(storage.settings)
    scan = await scan_files(await asyncio.to_thread(_files_of_server, folder), texts)
    looked_at.append(f"the files of the embedded server in {folder}, its log among them ({_size(scan)})")
    remains += [f"{file.relative_to(folder)}: {number}" for file, number in scan.found.items()]
    return looked_at, remains, unproven + _unread(scan)


def _files_of_server(folder: Path) -> list[Path]:
    """All but the programs of the server."""
    files = (path for path in folder.rglob("*") if not path.relative_to(folder).parts[0].startswith("bin-"))
    return [path for path in files if path.is_file()]


def _schema(storage: Storage) -> str:
    return storage.settings.database_schema


async def _in_columns(connection: Connection, schema: str, texts: Sequence[str]) -> tuple[int, list[str]]:
    """How many tables of Postgres there are, and those whose rows hold one of the texts."""
    from psycopg import sql

    columns: dict[str, list[sql.Composable]] = {}
    for row in await (await connection.execute(_COLUMNS, {"schema": schema})).fetchall():
        as_bytes = row["data_type"] == "bytea"
        shape = "position(needle.raw IN held.{}) > 0" if as_bytes else "strpos(held.{}::text, needle.text) > 0"
        columns.setdefault(row["table_name"], []).append(sql.SQL(shape).format(sql.Identifier(row["column_name"])))
    values: dict[str, Any] = {"raw": [form for text in texts for form in forms(text)]}
    found: list[str] = []
    for table, held in columns.items():
        query = sql.SQL(
            "SELECT count(*) AS n FROM {} AS held WHERE EXISTS (SELECT FROM "
            "(SELECT raw, convert_from(raw, 'UTF8') AS text FROM unnest(%(raw)s::bytea[]) AS raw) AS needle WHERE {})"
        ).format(sql.Identifier(schema, table), sql.SQL(" OR ").join(held))
        counted = await (await connection.execute(query, values)).fetchone()
        if counted and counted["n"]:
            found.append(f"table {table}: {counted['n']} rows")
    return len(columns), found


def _in_tables(connection: sqlite3.Connection, texts: Sequence[str]) -> list[str]:
    """The tables of SQLite whose rows hold one of the texts."""
    found: list[str] = []
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        rows = connection.execute(f"SELECT * FROM {table}")  # noqa: S608  # a name of SQLite's own list
        needles = [form for text in texts for form in forms(text)]
        number = sum(any(needle in value for value in _as_bytes(row) for needle in needles) for row in rows)
        if number:
            found.append(f"table {table}: {number} rows")
    return found


def _as_bytes(row: Sequence[Any]) -> list[bytes]:
    return [v if isinstance(v, bytes) else v.encode("utf-8", "replace") for v in row if isinstance(v, bytes | str)]


async def _beside(path: Path) -> list[Path]:
    """The file, and those whose names begin as its does."""
    return await asyncio.to_thread(lambda: [file for file in path.parent.glob(f"{path.name}*") if file.is_file()])


def _size(scan: Scan) -> str:
    return f"{scan.bytes / 1e6:.1f} MB"


def _unread(scan: Scan) -> list[str]:
    return [f"{path} could not be read." for path in scan.unread[:5]]
