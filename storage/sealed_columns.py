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

from .encryption import MARK, Cipher, SealedError
from .queries import read_queries
from .readable import UNREADABLE, Skipped, id_of
from .sealed_values import CALLS, SPEAKER, hashed, is_blank, is_sealed, seal
from .values import Json, Row

_UNOPENED: Final = (*UNREADABLE, SealedError)
Values = Mapping[str, Any]
Plain = tuple[Any, ...]

SEALED: Final[Mapping[str, Collection[str]]] = {
    "threads": ("name",),
    "messages": ("text", "name", "message"),
    "summaries": ("content", "rejected"),
    "facts": ("text", "subject", "attribute", "value", "terms"),
    "pins": ("text",),
    "vectors": ("content",),
    "turn_reports": ("report",),
    "documents": ("content",),
}
"""By table, the columns that are sealed. Rows go from `summaries` to `summary_versions` as they are."""

HASHED: Final = {"term_keys", "keys", "meaning", "slot", "meanings", "slots"}
"""Numbers of terms, and UUIDs of contents, which are stored as keyed hashes."""

_AS: Final = {"summary_versions": "summaries"}
_GIVEN: Final = {
    ("threads", "name"): "name",
    ("messages", "message"): "message",
    ("messages", "own_name"): "name",
    ("messages", "mended_name"): "name",
    ("messages", "mended_text"): "text",
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

_NAME_OF_THREAD: Final = f"{MARK}threads.name."
_UNCUT: Final = 2**31 - 1


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

    def rows(self, query: str, values: Values, rows: list[Row], *, damaged: bool = False) -> list[Row]:
        """Rows of a statement, as they were before they were stored."""
        return rows

    def tuples(self, query: str, names: Sequence[str], rows: list[Plain]) -> list[Plain]:
        """The same for plain rows, whose columns have these names."""
        return rows

    def terms(self, keys: list[int]) -> list[int]:
        """The numbers of terms, see `term_keys`, as they are stored."""
        return keys


class UnderKey(Sealing):
    """How they are stored under the user's key. A row that does not open is skipped, counted and told.

    Args:
        cipher: the user's.
        skipped: where such rows are counted.
    """

    def __init__(self, cipher: Cipher, skipped: Skipped) -> None:
        super().__init__(cipher.user_id)
        self.cipher = self._cipher = cipher
        self._skipped = skipped

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

    def rows(self, query: str, values: Values, rows: list[Row], *, damaged: bool = False) -> list[Row]:
        """Rows of a statement, opened.

        Args:
            query: the statement.
            values: its parameters.
            rows: as they are stored.
            damaged: whether a row that does not open is among them, with None for what does not.
        """
        first, tables = _statement(query)
        whole = []
        for row in rows:
            error = self._open(row, tables, values.get("characters"))
            if error is None or damaged:
                whole.append(row)
            else:
                self._skipped.note(first, id_of(row), error)
        return whole

    def tuples(self, query: str, names: Sequence[str], rows: list[Plain]) -> list[Plain]:
        """The same for plain rows."""
        at = [(place, name) for place, name in enumerate(names) if name in _COMES_FROM]
        if not at:
            return rows
        first, tables = _statement(query)
        opened = []
        for row in rows:
            found = list(row)
            try:
                for place, name in at:
                    found[place] = self._opened(name, found[place], tables)
            except _UNOPENED as error:
                self._skipped.note(first, id_of(row), error)
            else:
                opened.append(tuple(found))
        return opened

    def terms(self, keys: list[int]) -> list[int]:
        """The numbers of terms, hashed."""
        return self._cipher.terms(keys)

    def _array(self, table: str, value: Any) -> Any:
        """The parameter `rows`: an array of objects, as Json or as text."""
        rows = json.loads(str(value))
        sealed = [{name: self._column(table, name, of) for name, of in row.items()} for row in rows]
        return json.dumps(sealed) if isinstance(value, str) else Json(sealed)

    def _column(self, table: str, name: str, value: Any) -> Any:
        if name in SEALED.get(table, ()):
            return seal(self._cipher, table, name, value)
        return hashed(self._cipher, value) if name in HASHED else value

    def _given(self, table: str, column: str, value: Any) -> Any:
        if isinstance(value, Json):
            return Json(seal(self._cipher, table, column, json.loads(str(value))))
        if isinstance(value, list):
            return [seal(self._cipher, table, column, one) for one in value]
        return seal(self._cipher, table, column, value)

    def _open(self, row: Row, tables: frozenset[str], characters: int | None) -> BaseException | None:
        """Open the values of a row; what the first raises that does not open, which becomes None as all such do."""
        first: BaseException | None = None
        for name, value in row.items():
            try:
                if name in _COMES_FROM:
                    row[name] = opened = self._opened(name, value, tables)
                    if characters is not None and name in _CUT and opened is not None:
                        row[name] = opened[:characters]
                elif name == "calls" and value:
                    row[name] = json.loads(self._cipher.open_equal(value[0], CALLS))
                elif name == "row":
                    first = first or self._open(value, tables, None)
            except _UNOPENED as error:
                row[name], first = None, first or error
        return first

    def _opened(self, name: str, value: Any, tables: frozenset[str]) -> Any:
        fields = _fields(name, tables)
        if is_blank(value) or not fields:
            return value
        if isinstance(value, dict):
            return json.loads(self._cipher.open(value.get("sealed", ""), fields))
        if isinstance(value, list):
            return json.loads(self._cipher.open(value[0], fields))
        if name == "name":
            return self._name(value, fields)
        text = self._cipher.open(value, fields)
        return json.loads(text) if name == "report" else text

    def _name(self, value: str, fields: frozenset[str]) -> str | None:
        if not is_sealed(value):
            return value  # a word of the statement itself
        if value.startswith(_NAME_OF_THREAD) and "threads.name" in fields:
            try:
                return self._cipher.open(value, fields)
            except _UNOPENED as error:  # the thread is there without it
                self._skipped.note("threads", "a name", error)
                return None
        of_speaker = value.startswith(f"{MARK}{SPEAKER}.") and SPEAKER in fields
        return self._cipher.open_equal(value, SPEAKER) if of_speaker else self._cipher.open(value, fields)
