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

from .encryption import Cipher
from .queries import read_queries

Values = Mapping[str, Any]

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
def _statement(query: str) -> tuple[str, Collection[str]]:
    """Which table a statement writes to, or else reads first, and all that it names; empty where it names none."""
    text = read_queries("postgres").get(query, query)
    named = [_AS.get(name, name) for name in _TABLE.findall(text)]
    target = _TARGET.search(text)
    first = _AS.get(target[1], target[1]) if target else (named[0] if named else "")
    return first, frozenset(named)


class Sealing:
    """How the values of one user's statements are stored.

    Args:
        user_id: whose rows they are.
        cipher: the user's; None where nothing is encrypted.
    """

    def __init__(self, user_id: str, cipher: Cipher | None) -> None:
        self.user_id = user_id
        self.cipher = cipher

    def values(self, query: str, values: Values) -> dict[str, Any]:
        """The parameters of a statement, the user among them."""
        given = {**values, "user_id": self.user_id}
        if self.cipher is None:
            return given
        table, _ = _statement(query)
        for name, value in values.items():
            if name == "rows":
                given[name] = self._rows(table, value)
            elif name == "characters":
                given[name] = _UNCUT
            elif name in HASHED:
                given[name] = hashed(self.cipher, value)
            elif column := _GIVEN.get((table, name)):
                given[name] = self._given(table, column, value)
        return given

    def rows(self, query: str, values: Values, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Rows of a statement, as they were before they were sealed."""
        if self.cipher is not None and rows:
            _, tables = _statement(query)
            for row in rows:
                self._open(row, tables, values.get("characters"))
        return rows

    def tuples(self, query: str, names: Sequence[str], rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """The same for plain rows, whose columns have these names."""
        at = [(place, name) for place, name in enumerate(names) if name in _COMES_FROM] if self.cipher else []
        if not at or not rows:
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
        """The numbers of terms, see `term_keys`, as they are stored."""
        return keys if self.cipher is None else self.cipher.terms(keys)

    def _rows(self, table: str, value: Any) -> Any:
        """The parameter `rows`: an array of objects, as Jsonb or as text."""
        text = value if isinstance(value, str) else (value.dumps or json.dumps)(value.obj)
        sealed = [self.row(table, row) for row in json.loads(text)]
        return json.dumps(sealed) if isinstance(value, str) else Jsonb(sealed)

    def row(self, table: str, row: Values) -> dict[str, Any]:
        """Columns of a row, sealed."""
        cipher = self.cipher
        assert cipher is not None
        columns = SEALED.get(table, ())
        return {
            name: seal(cipher, table, name, value) if name in columns
            else hashed(cipher, value) if name in HASHED
            else value
            for name, value in row.items()
        }  # fmt: skip

    def _given(self, table: str, column: str, value: Any) -> Any:
        assert self.cipher is not None
        if isinstance(value, Jsonb):
            return Jsonb(seal(self.cipher, table, column, json.loads((value.dumps or json.dumps)(value.obj))))
        if isinstance(value, list):
            return [seal(self.cipher, table, column, one) for one in value]
        return seal(self.cipher, table, column, value)

    def _open(self, row: dict[str, Any], tables: Collection[str], characters: int | None) -> None:
        for name, value in row.items():
            if name in _COMES_FROM:
                row[name] = opened = self._opened(name, value, tables)
                if characters is not None and name in _CUT and opened is not None:
                    row[name] = opened[:characters]
            elif name == "calls" and value:
                assert self.cipher is not None
                row[name] = json.loads(self.cipher.open_equal(value[0], _CALLS))
            elif name == "row":
                self._open(value, tables, None)

    def _opened(self, name: str, value: Any, tables: Collection[str]) -> Any:
        assert self.cipher is not None
        if value is None or value == [] or (isinstance(value, str) and not value.strip()):
            return value
        fields = {f"{table}.{column}" for column in _COMES_FROM[name] for table in tables}
        if isinstance(value, dict):
            return json.loads(self.cipher.open(value.get("sealed", ""), fields))
        if isinstance(value, list):
            return json.loads(self.cipher.open(value[0], fields))
        if name == "name" and not is_sealed(value):
            return value  # a word of the statement itself
        text = self.cipher.open(value, fields)
        return json.loads(text) if name == "report" else text


def is_sealed(value: Any) -> bool:
    """Whether a value of a column is sealed."""
    from .encryption import MARK

    if isinstance(value, dict):
        return "sealed" in value
    if isinstance(value, list):
        return len(value) == 1 and is_sealed(value[0])
    return isinstance(value, str) and value.startswith(MARK)


def seal(cipher: Cipher, table: str, column: str, value: Any) -> Any:
    """A value as its column holds it: a text, the JSON of a message, of a report, or an array of texts."""
    field = f"{table}.{column}"
    if value is None or value == [] or (isinstance(value, str) and not value.strip()):
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
