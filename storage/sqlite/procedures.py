"""What takes one statement in Postgres and several in SQLite: each is given the connection and its parameters."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from ..archive_rows import is_same
from ..memory_changes import array_bytes
from ..values import Row
from .values import as_read, moment, sound

Values = Mapping[str, Any]

_WITH_MEANING: Final = {"user", "assistant", "agent"}

_FIND: Final = "SELECT id, role, message FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id"
_LAST: Final = """
SELECT coalesce(max(seq), 0) FROM messages
WHERE user_id = :user_id AND thread_id = :thread_id AND typeof(seq) = 'integer' AND seq < 1099511627776
"""
_TAKEN: Final = "SELECT 1 FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND seq = :seq"
_ADD: Final = """
INSERT INTO messages (user_id, thread_id, id, seq, role, name, text, message, tokens, created_at,
                      embedded_with, term_keys, left_at, importance)
VALUES (:user_id, :thread_id, :id, :seq, :role, :name, :text, :message, :tokens, :created_at,
        :embedded_with, :term_keys, :left_at, coalesce(:importance, 0.5))
ON CONFLICT (user_id, thread_id, id) DO NOTHING
"""
_FACTS: Final = """
SELECT * FROM facts WHERE user_id = :user_id AND state IN ('current', 'conflicting')
  AND (:thread_only IS NULL OR thread_id = :thread_only)
  AND NOT EXISTS (SELECT 1 FROM messages AS left_ WHERE left_.user_id = :user_id AND left_.thread_id = facts.thread_id
                  AND left_.id = facts.source_id AND left_.left_at IS NOT NULL)
"""
_BY_WEIGHT: Final = f"{_FACTS} ORDER BY weight DESC, said_at DESC LIMIT :pool"
_BY_WORDS: Final = f"""{_FACTS} AND EXISTS (SELECT 1 FROM json_each(sound(term_keys))
  WHERE value IN (SELECT value FROM json_each(:keys))) ORDER BY said_at DESC LIMIT :pool
"""  # noqa: S608  # all parts are literals
_PINS: Final = """
SELECT * FROM pins WHERE user_id = :user_id AND forgotten_at IS NULL
  AND (thread_id = :thread_id OR (kind = 'manual' AND :thread_only IS NULL))
  AND NOT (kind = 'automatic' AND source_id IN (SELECT value FROM json_each(:live)))
  AND NOT EXISTS (SELECT 1 FROM messages AS left_ WHERE left_.user_id = :user_id AND left_.thread_id = pins.thread_id
                  AND left_.id = pins.source_id AND left_.left_at IS NOT NULL)
ORDER BY kind = 'manual' DESC, score + coalesce((SELECT importance FROM messages AS said
  WHERE said.user_id = :user_id AND said.thread_id = pins.thread_id AND said.id = pins.source_id), 0) DESC,
  created_at DESC LIMIT :max_pins
"""
_ADOPT: Final = """
UPDATE {} SET embedded_with = NULL
WHERE user_id = :user_id AND embedded_with <> '' AND (embedded_with = :name) = :lost
"""


def find_changed(connection: sqlite3.Connection, values: Values) -> list[Row]:
    """The ids of those messages that are known with another content."""
    return [{"id": row["id"]} for row in _changed(connection, values, json.loads(values["rows"]))]


def add_messages(connection: sqlite3.Connection, values: Values) -> list[Row]:
    """Add messages at the end of a thread; with those that are known with another content, none, or only the rest."""
    rows: list[Row] = json.loads(values["rows"])
    changed = _changed(connection, values, rows)
    added: list[Row] = []
    if values["keep_rest"] or not changed:
        added = [row for row in rows if _known(connection, {**values, "id": row["id"]}) is None]
    (last,) = connection.execute(_LAST, dict(values)).fetchone()
    placed = [{**row, "seq": last + index} for index, row in enumerate(added, start=1)]
    connection.executemany(_ADD, [_columns(values, values["thread_id"], row) for row in placed])
    return [{"id": row["id"], "changed": old} for old, some in ((False, added), (True, changed)) for row in some]


def import_messages(connection: sqlite3.Connection, values: Values) -> list[Row]:
    """Add the lines that are new: see `transfer_sql`."""
    rows: list[Row] = json.loads(values["rows"])
    changed = [row for row in rows if _is_changed(_known(connection, {**values, **_place(row)}), row)]
    first: dict[tuple[str, str], Row] = {}
    for row in sorted(rows, key=lambda row: int(row["seq"])):
        before = first.setdefault((row["thread_id"], row["id"]), row)
        if before["role"] != row["role"] or _unsealed(before["message"]) != _unsealed(row["message"]):
            changed.append(row)
    if changed:
        return [{"pending": False, "thread_id": row["thread_id"], "changed": row["id"]} for row in changed]
    new = [row for row in first.values() if _known(connection, {**values, **_place(row)}) is None]
    columns = [_columns(values, row["thread_id"], row) for row in _moved(connection, values, new)]
    connection.executemany(_ADD, columns)
    return [{"pending": row["embedded_with"] is None, "thread_id": None, "changed": None} for row in columns]


def fact_sheet(connection: sqlite3.Connection, values: Values) -> list[Row]:
    """The facts and pins among which a turn's are chosen, the most important facts first: see `fact_rows`."""
    asked = json.loads(values["keys"])
    found = {row["id"]: row for query in (_BY_WEIGHT, _BY_WORDS) for row in _rows(connection, query, values)}
    newest = set(json.loads(values["newest"]))
    facts = [
        row for row in found.values() if not (row["thread_id"] == values["thread_id"] and row["source_id"] in newest)
    ]

    def rank(row: Row) -> tuple[float, str, str]:
        weight = row["weight"] if isinstance(row["weight"], float | int) else 0.0
        keys = json.loads(sound(row["term_keys"]))
        return _importance(asked, keys if isinstance(keys, list) else (), weight), str(row["said_at"]), row["id"]

    facts = sorted(facts, key=rank, reverse=True)[: values["most"]]
    pins = _rows(connection, _PINS, values)
    return [{"what": what, "row": as_read(row)} for what, rows in (("fact", facts), ("pin", pins)) for row in rows]


def adopt(connection: sqlite3.Connection, values: Values) -> list[Row]:
    """Mark what is in another store as still to be embedded: see `store_index`."""
    marked = (connection.execute(_ADOPT.format(table), dict(values)).rowcount for table in ("messages", "summaries"))
    return [{"n": sum(marked)}]


def _changed(connection: sqlite3.Connection, values: Values, rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if _is_changed(_known(connection, {**values, "id": row["id"]}), row)]


def _known(connection: sqlite3.Connection, values: Values) -> Row | None:
    row = connection.execute(_FIND, dict(values)).fetchone()
    return None if row is None else {"id": row[0], "role": row[1], "message": json.loads(sound(row[2]))}


def _is_changed(known: Row | None, row: Row) -> bool:
    if known is None:
        return False
    if not isinstance(known["message"], dict) or not isinstance(known["message"].get("data"), dict):
        return True  # damaged
    return not is_same(known, row)


def _unsealed(message: Row) -> Row:
    return {name: value for name, value in message.items() if name != "sealed"}


def _place(row: Row) -> Row:
    return {"thread_id": row["thread_id"], "id": row["id"]}


def _moved(connection: sqlite3.Connection, values: Values, rows: Sequence[Row]) -> list[Row]:
    """The rows with their sequence numbers; where another message has one of these, all of the thread go to its end."""
    moved: list[Row] = []
    for thread_id in dict.fromkeys(row["thread_id"] for row in rows):
        where = {**values, "thread_id": thread_id}
        mine = [row for row in rows if row["thread_id"] == thread_id]
        if any(connection.execute(_TAKEN, {**where, "seq": row["seq"]}).fetchone() for row in mine):
            (last,) = connection.execute(_LAST, where).fetchone()
            mine = [{**row, "seq": last + index} for index, row in enumerate(mine, start=1)]
        moved += mine
    return moved


def _columns(values: Values, thread_id: str, row: Row) -> Row:
    has_meaning = row["role"] in _WITH_MEANING and re.search(r"\S", row["text"])
    return {
        **row,
        "user_id": values["user_id"],
        "thread_id": thread_id,
        "message": json.dumps(row["message"]),
        "created_at": moment(row["created_at"]),
        "embedded_with": None if has_meaning else "",
        "term_keys": array_bytes(row["term_keys"]),
        "left_at": moment(row.get("left_at")),
        "importance": row.get("importance"),
    }


def _rows(connection: sqlite3.Connection, query: str, values: Values) -> list[Row]:
    cursor = connection.execute(query, dict(values))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _importance(asked: Collection[Hashable], terms: Iterable[Hashable], of_its_own: float) -> float:
    """How much a fact matters to a turn: what the question names comes first, then what does harm if forgotten.

    Args:
        asked: the words of the question, or their numbers.
        terms: those of the fact.
        of_its_own: its `weight`.
    """
    shared = len(frozenset(asked).intersection(terms))
    return of_its_own + (1.0 + shared / len(asked) if shared else 0.0)
