"""The JSON file: what stands in it, how it is read, and how it is replaced so that a crash leaves the old or the new.

One line a row, under its table and its user (checkpoints: its thread), so that a person can read it and a diff shows
what changed. What can be made again (terms, where texts are not encrypted; the cache of web results) does not stand
there.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import sqlite3
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ...state.errors import StorageError
from ..memory_changes import array_bytes
from ..sqlite.values import moment, sound
from ..term_keys import message_keys, term_keys

VERSION: Final = 3
"""The version that is written, and the newest that is read."""

_CALLS_FOUND: Final = 3
"""From this version on, messages are found by the tools that they call: earlier vectors of these are made again."""

_USER_TABLES: Final = (
    "threads",
    "messages",
    "summaries",
    "summary_versions",
    "facts",
    "pins",
    "turn_reports",
    "vectors",
    "deletions",
    "forgotten_numbers",
    "left_out",
    "user_defaults",
    "documents",
    "space_members",
)
_NEWEST: Final = """
SELECT * FROM checkpoints AS old WHERE checkpoint_id = (
    SELECT max(checkpoint_id) FROM checkpoints AS new
    WHERE new.thread_id = old.thread_id AND new.checkpoint_ns = old.checkpoint_ns)
ORDER BY thread_id, checkpoint_ns
"""
_THEIR_WRITES: Final = """
SELECT w.* FROM writes AS w WHERE checkpoint_id = (
    SELECT max(checkpoint_id) FROM checkpoints AS new
    WHERE new.thread_id = w.thread_id AND new.checkpoint_ns = w.checkpoint_ns)
ORDER BY thread_id, checkpoint_ns, task_id, idx
"""
_TABLES: Final[dict[str, tuple[str, str]]] = {
    "user_keys": ("owner", "SELECT * FROM user_keys ORDER BY owner"),
    **{table: ("user_id", f"SELECT * FROM {table} ORDER BY user_id, rowid") for table in _USER_TABLES},  # noqa: S608
    "retention_runs": ("started_at", "SELECT * FROM retention_runs ORDER BY started_at"),
    "checkpoints": ("thread_id", _NEWEST),
    "writes": ("thread_id", _THEIR_WRITES),
}
"""By table: the column under whose values its rows stand, and the query for them."""

_UNREAD: Final = "unread"
_IS_ENCRYPTED: Final = "SELECT 1 FROM user_keys LIMIT 1"
_LEFT_OUT: Final = {"changed", "term_keys"}
_OBJECTS: Final = {"message", "report", "source_ids", "terms", "langchain_metadata"}
_FLAGS: Final = {"negated", "settles", "facts_read", "outdated", "is_complete", "enabled"}
_BYTES: Final = {"embedding", "checkpoint", "metadata", "value"}
_TIMES: Final = {
    "created_at", "replaced_at", "started_at", "said_at", "confirmed_at", "valid_from", "valid_to", "forgotten_at",
    "deleted_at", "updated_at",
}  # fmt: skip


Unread = list[tuple[str, str, Any]]
"""Rows that a table cannot hold, as a person may have left them: table, owner, row. They stay in the file."""


Lines = dict[tuple[str, bool], dict[tuple[Any, ...], str]]
"""By table, and whether texts are encrypted, the rows of the last file with their lines: most are the same again."""


def write(connection: sqlite3.Connection, path: Path, unread: Unread, lines: Lines) -> None:
    """Replace the file by what the connection holds: a temporary file, synced, renamed. The old one becomes `.bak`.

    Args:
        connection: to the tables.
        path: of the file.
        unread: rows that no table holds.
        lines: those of the last file; they become those of this one.

    Raises:
        OSError: the disk is full, or the folder cannot be written; then the old file stands as it was.
    """
    new, old = path.with_name(f"{path.name}.tmp"), backup_of(path)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w", encoding="utf-8") as file:
        file.writelines(_lines(connection, unread, lines))
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        _keep(path, old)
    new.replace(path)
    _sync_folder(path.parent)


def read_into(connection: sqlite3.Connection, path: Path) -> Unread:
    """Read the file into empty tables; without a file, they stay empty. Returns the rows that no table can hold.

    Raises:
        StorageError: the file is damaged, of a newer version, or gone while its backup is there.
        OSError: it cannot be read.
    """
    backup = backup_of(path)
    if not path.exists():
        if backup.exists():
            raise StorageError(
                f"{path} is not there, but the version before it is: rename {backup} to go on with it, or delete it to "
                "start again."
            )
        return []
    unread: Unread = []
    try:
        content = _checked(json.loads(path.read_text(encoding="utf-8")))
        if content["version"] < _CALLS_FOUND:
            _embed_calls_again(content.get("messages", {}))
        if content["version"] <= VERSION:
            for table in _TABLES:
                unread += _fill(connection, table, content.get(table, {}))
            for table, owner, row in content.get(_UNREAD, []):  # somebody may have mended them
                unread += _fill(connection, table, {owner: [row]}) if table in _TABLES else [(table, owner, row)]
    except (ValueError, KeyError, TypeError, AttributeError, sqlite3.Error, RecursionError) as error:
        remedy = (
            f"the version before it is {backup}: look at it, and put it back with `cp {backup} {path}`"
            if backup.exists()
            else "put a backup in its place, or move it away to start again"
        )
        raise StorageError(f"{path} is damaged ({error}), and nothing in it was changed: {remedy}.") from error
    if content["version"] > VERSION:
        raise StorageError(
            f"{path} is at version {content['version']}, which this everthread does not know: upgrade it."
        )
    return unread


def _checked(content: dict[str, Any]) -> dict[str, Any]:
    if content["format"] != "everthread":
        raise ValueError(f"its format is {content['format']!r}")
    return content


def _embed_calls_again(owners: dict[str, list[dict[str, Any]]]) -> None:
    """Have the background pass make the vectors of tool calls and results again; terms follow from what is read."""
    for row in (row for rows in owners.values() for row in rows if isinstance(row, dict)):
        message = row.get("message")
        data = message.get("data") if isinstance(message, dict) else None
        calls = isinstance(data, dict) and data.get("tool_calls")
        if row.get("embedded_with") and (row.get("role") == "tool" or calls):
            row["embedded_with"] = None


def backup_of(path: Path) -> Path:
    """Where the version before the last stands."""
    return path.with_name(f"{path.name}.bak")


def _keep(path: Path, backup: Path) -> None:
    """Give the file a second name: it keeps its first one until the new file takes it."""
    backup.unlink(missing_ok=True)
    try:
        os.link(path, backup)
    except OSError:  # a file system without links
        shutil.copy2(path, backup)


def _sync_folder(folder: Path) -> None:
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _lines(connection: sqlite3.Connection, unread: Unread, lines: Lines) -> Iterator[str]:
    yield f'{{"format": "everthread", "version": {VERSION}'
    is_encrypted = connection.execute(_IS_ENCRYPTED).fetchone() is not None
    left_out = {"changed"} if is_encrypted else _LEFT_OUT
    for table, (owner, query) in _TABLES.items():
        yield f',\n"{table}": {{'
        cursor = connection.execute(query)
        names = [column[0] for column in cursor.description]
        position, last = names.index(owner), None
        known, kept = lines.get((table, is_encrypted), {}), dict[tuple[Any, ...], str]()
        for row in cursor:
            if row[position] != last:
                yield f"{'],' if last is not None else ''}\n{_text(row[position])}: [\n"
            else:
                yield ",\n"
            kept[row] = known.get(row) or _line(names, row, left_out)
            yield kept[row]
            last = row[position]
        lines[table, is_encrypted] = kept
        yield "]}" if last is not None else "}"
    if unread:
        yield f',\n"{_UNREAD}": {_text(unread)}'
    yield "\n}\n"


def _line(names: list[str], row: tuple[Any, ...], left_out: Collection[str]) -> str:
    values = zip(names, row, strict=True)
    fields = [f'"{name}": {_value(name, value)}' for name, value in values if name not in left_out]
    return f"  {{{', '.join(fields)}}}"


def _value(name: str, value: Any) -> str:
    if name in _OBJECTS and value is not None:
        return str(value) if sound(value) == value else _text(value)  # JSON already
    if isinstance(value, bytes):
        return f'"{base64.b64encode(value).decode()}"'
    return _text(bool(value) if name in _FLAGS else value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _fill(connection: sqlite3.Connection, table: str, owners: dict[str, list[dict[str, Any]]]) -> Iterator[Any]:
    """Fill a table; what it cannot hold is given back."""
    known = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    for owner, rows in owners.items():
        for row in rows:
            try:
                columns = {name: _stored(table, name, value) for name, value in row.items() if name in known}
                columns |= _terms(table, row)
                marks = ", ".join(f":{name}" for name in columns)
                connection.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", columns)  # noqa: S608
            except (ValueError, KeyError, TypeError, AttributeError, sqlite3.Error):
                yield table, owner, row


def _stored(table: str, name: str, value: Any) -> Any:
    """A value as the table holds it; one that is damaged as it is, to be skipped by `storage.readable`."""
    is_bytes = name in _BYTES and not (table == "facts" and name == "value")
    is_bytes = is_bytes or (name == "term_keys" and table == "messages")
    if name == "term_keys" and not is_bytes:
        return value
    if value is not None and name in _OBJECTS:
        return json.dumps(value)
    try:
        if value is not None and is_bytes:
            return base64.b64decode(value, validate=True)
        return moment(value) if name in _TIMES else value
    except (ValueError, TypeError):
        return value


def _terms(table: str, row: dict[str, Any]) -> dict[str, Any]:
    """What is not in the file because it follows from the rest."""
    if "term_keys" in row:
        return {}
    if table == "messages":
        try:
            said_at = datetime.fromisoformat(row["created_at"])
        except (ValueError, TypeError):
            return {}  # found later, as for any message without terms
        said_at = said_at if said_at.tzinfo else said_at.replace(tzinfo=UTC)
        return {"term_keys": array_bytes(message_keys(row["user_id"], row, said_at.astimezone(UTC)))}
    if table == "facts":
        return {"term_keys": json.dumps(term_keys(row["user_id"], row["terms"]))}
    return {}
