"""Which columns are sealed, and how values go into named statements and come out of rows under a user's key.

This stands between `UserRows` and the database: nobody else knows that anything is encrypted. What the statements need
of a text stays beside it: whether it is blank, whether it ends in a question mark, and of a message keyed hashes of
what tells two messages apart, so that they can be compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, Final

from psycopg.types.json import Jsonb

from .encryption import Cipher, looks_sealed
from .queries import read_queries

Values = Mapping[str, Any]
Row = dict[str, Any]
Plain = tuple[Any, ...]

SEALED: Final[Mapping[str, Collection[str]]] = {
    "threads": ("name",),
    "messages": ("text", "name", "message"),
    "summaries": ("content", "rejected"),
    "facts": ("text", "subject", "attribute", "value", "terms"),
    "pins": ("text",),
    "vectors": ("content",),
    "turn_reports": ("report",),
}
"""By table, the columns that are sealed. Rows go from `summaries` to `summary_versions` as they are."""

HASHED: Final = {"term_keys", "keys", "meaning", "slot", "meanings", "slots"}
"""Numbers of terms, and UUIDs of contents, which are stored as keyed hashes."""

_AS: Final = {"summary_versions": "summaries"}
_GIVEN: Final = {
    ("threads", "name"): "name",
    ("messages", "message"): "message",
    ("summaries", "content"): "content",
    ("summaries", "rejected"): "rejected",
    ("summaries", "reason"): "rejected",
    ("turn_reports", "report"): "report",
    ("turn_reports", "bare"): "report",
    ("vectors", "contents"): "content",
}
"""By table and parameter, the column that a statement writes it to; those of `rows` are named as their columns."""

_TABLE: Final = re.compile(rf"\b({'|'.join((*SEALED, *_AS))})\b")
_TARGET: Final = re.compile(rf"\b(?:INSERT INTO|UPDATE)\s+({'|'.join((*SEALED, *_AS))})\b")
_COMES_FROM: Final[Mapping[str, Collection[str]]] = {
    "text": ("text", "content"),
    "before": ("text",),
    "reply": ("text",),
    "said": ("text",),
    **{name: (name,) for name in
       ("name", "message", "content", "rejected", "subject", "attribute", "value", "terms", "report")},
}  # fmt: skip
"""By the name that a column has in a result, the columns whose values may stand there."""

_CUT: Final = ("text", "before", "reply", "said")
_SAME: Final = ("content", "tool_calls", "tool_call_id")
"""What tells two messages apart, see `archive_rows`: what the statements compare."""

_UNCUT: Final = 2**31 - 1
_CALLS: Final = "messages.calls"
_QUESTION_MARKS: Final = ("?", "\uff1f", "\u061f")


@cache
def _statement(query: str) -> tuple[str, frozenset[str]]:
    """Which table a statement writes to, or else reads first, and all that it names; empty where it names none."""
    text = read_queries("postgres").get(query, query)
    named = [_AS.get(name, name) for name in _TABLE.findall(text)]
    target = _TARGET.search(text)
    first = _AS.get(target[1], target[1]) if target else (named[0] if named else "")
    return first, frozenset(named)


@cache
def _fields(name: str, tables: frozenset[str]) -> frozenset[str]:
    """Where a value may come from that stands in a column of this name in a result; empty where it is not sealed."""
    return frozenset(f"{table}.{column}" for column in _COMES_FROM[name] for table in tables if column in SEALED[table])


class Sealing:
    """How the values of one user's statements are stored: as they are.

    Args:
        user_id: whose rows they are.
    """

    cipher: Cipher | None = None

    def __init__(self, user_id: str) -> None:
        self.user_id = user_id

    def values(self, query: str, values: Values) -> dict[str, Any]:  # for `UnderKey`
        """The parameters of a statement, the user among them."""
        return {**values, "user_id": self.user_id}

    def rows(self, query: str, values: Values, rows: list[Row]) -> list[Row]:
        """Rows of a statement, as they were before they were stored."""
        return rows

    def tuples(self, query: str, names: Sequence[str], rows: list[Plain]) -> list[Plain]:
        """The same for plain rows, whose columns have these names."""
        return rows

    def terms(self, keys: list[int]) -> list[int]:
        """The numbers of terms, see `term_keys`, as they are stored."""
        return keys


class UnderKey(Sealing):
    """How they are stored under the user's key.

    Args:
        cipher: the user's.
    """

    def __init__(self, cipher: Cipher) -> None:
        super().__init__(cipher.user_id)
        self.cipher = self._cipher = cipher

    def values(self, query: str, values: Values) -> dict[str, Any]:
        """The parameters of a statement, sealed."""
        table, _ = _statement(query)
        given = super().values(query, values)
        for name, value in values.items():
            if name == "rows":
                given[name] = self._array(table, value)
            elif name == "characters":
                given[name] = _UNCUT
            elif name == "quotes":
                given[name] = [""] if value else []  # which every text holds: who asks looks for them once more
            elif name in HASHED:
                given[name] = hashed(self._cipher, value)
            elif column := _GIVEN.get((table, name)):
                given[name] = self._given(table, column, value)
        return given

    def rows(self, query: str, values: Values, rows: list[Row]) -> list[Row]:
        """Rows of a statement, opened.

        Raises:
            StorageError: a value was sealed under another key or in another place, or not at all.
        """
        _, tables = _statement(query)
        for row in rows:
            self._open(row, tables, values.get("characters"))
        return rows

    def tuples(self, query: str, names: Sequence[str], rows: list[Plain]) -> list[Plain]:
        """The same for plain rows.

        Raises:
            StorageError: as `rows`.
        """
        at = [(place, name) for place, name in enumerate(names) if name in _COMES_FROM]
        if not at:
            return rows
        _, tables = _statement(query)
        opened = []
        for row in rows:
            found = list(row)
            for place, name in at:
                found[place] = self._opened(name, found[place], tables)
            opened.append(tuple(found))
        return opened

    def terms(self, keys: list[int]) -> list[int]:
        """The numbers of terms, hashed."""
        return self._cipher.terms(keys)

    def _array(self, table: str, value: Any) -> Any:
        """The parameter `rows`: an array of objects, as Jsonb or as text."""
        rows = json.loads(value if isinstance(value, str) else _text(value))
        sealed = [{name: self._column(table, name, of) for name, of in row.items()} for row in rows]
        return json.dumps(sealed) if isinstance(value, str) else Jsonb(sealed)

    def _column(self, table: str, name: str, value: Any) -> Any:
        if name in SEALED.get(table, ()):
            return seal(self._cipher, table, name, value)
        return hashed(self._cipher, value) if name in HASHED else value

    def _given(self, table: str, column: str, value: Any) -> Any:
        if isinstance(value, Jsonb):
            return Jsonb(seal(self._cipher, table, column, json.loads(_text(value))))
        if isinstance(value, list):
            return [seal(self._cipher, table, column, one) for one in value]
        return seal(self._cipher, table, column, value)

    def _open(self, row: Row, tables: frozenset[str], characters: int | None) -> None:
        for name, value in row.items():
            if name in _COMES_FROM:
                row[name] = opened = self._opened(name, value, tables)
                if characters is not None and name in _CUT and opened is not None:
                    row[name] = opened[:characters]
            elif name == "calls" and value:
                row[name] = json.loads(self._cipher.open_equal(value[0], _CALLS))
            elif name == "row":
                self._open(value, tables, None)

    def _opened(self, name: str, value: Any, tables: frozenset[str]) -> Any:
        if _is_blank(value):
            return value
        if not (fields := _fields(name, tables)):
            return value
        if isinstance(value, dict):
            return json.loads(self._cipher.open(value.get("sealed", ""), fields))
        if isinstance(value, list):
            return json.loads(self._cipher.open(value[0], fields))
        if name == "name" and not is_sealed(value):
            return value  # a word of the statement itself
        text = self._cipher.open(value, fields)
        return json.loads(text) if name == "report" else text


def _text(value: Jsonb) -> str:
    return str((value.dumps or json.dumps)(value.obj))


def _is_blank(value: Any) -> bool:
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


def is_sealed(value: Any) -> bool:
    """Whether a value of a column is sealed."""
    if isinstance(value, dict):
        return "sealed" in value
    if isinstance(value, list):
        return len(value) == 1 and is_sealed(value[0])
    return isinstance(value, str) and looks_sealed(value)


def seal(cipher: Cipher, table: str, column: str, value: Any) -> Any:
    """A value as its column holds it: a text, the JSON of a message, of a report, or an array of texts."""
    field = f"{table}.{column}"
    if _is_blank(value):
        return value
    if isinstance(value, str):
        ending = value[-40:].rstrip(" ")[-1:] if field == "messages.text" else ""
        return cipher.seal(field, value, ending if ending in _QUESTION_MARKS else "")
    if isinstance(value, list):
        return [cipher.seal(field, json.dumps(value))]
    if column != "message":
        return cipher.seal(field, json.dumps(value))
    return {
        "data": {name: _comparable(cipher, name, value["data"][name]) for name in _SAME if name in value["data"]},
        "others": _digest(cipher, value),
        "sealed": cipher.seal(field, json.dumps(value)),
    }


def hashed(cipher: Cipher, value: Any) -> Any:
    """Numbers of terms, or UUIDs of contents, as they are stored."""
    if isinstance(value, list | tuple):
        return cipher.terms(value) if value and isinstance(value[0], int) else [cipher.uuid(one) for one in value]
    return None if value is None else cipher.uuid(value)


def _comparable(cipher: Cipher, name: str, value: Any) -> Any:
    if value is None:
        return None
    if name == "tool_calls":
        return [cipher.seal_equal(_CALLS, json.dumps(value, sort_keys=True))] if value else []
    return _digest(cipher, value)


def _digest(cipher: Cipher, value: Any) -> str:
    return cipher.digest(json.dumps(value, sort_keys=True).encode()).hex()
