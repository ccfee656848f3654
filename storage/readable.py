"""`readable`: the one place where rows become records. A row that cannot be read is skipped, counted and told.

A database is edited by hand, restored by halves, written by another program: one damaged row costs itself, not a turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol, TypeVar

from .storage import Storage

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")

UNREADABLE: Final = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, NotImplementedError, OverflowError,
)  # fmt: skip
"""What making a record out of damaged values raises; pydantic's and JSON's errors are ValueErrors."""

_NAMED: Final = 3
"""Rows that a sentence names; of more, it gives the number."""

_REMEMBERED: Final = 1_000
"""Rows that are named at once, at most."""


class Skipped:
    """The rows of one user that could not be read since it was last asked.

    Args:
        database: whose observer counts them.
    """

    def __init__(self, database: Storage) -> None:
        self._database = database
        self._rows: dict[tuple[str, str], None] = {}

    def note(self, table: str, id_: object, error: BaseException) -> None:
        """A row of a table was skipped."""
        row = (table, str(id_))
        if row not in self._rows and len(self._rows) < _REMEMBERED:
            self._rows[row] = None
            # Not the error's text: it may quote what was said.
            logger.warning("A row of %s cannot be read and is skipped: %s (%s).", table, id_, type(error).__name__)
            self._database.observer.skipped(table)

    def told(self) -> str | None:
        """One sentence about them, after which they are forgotten; None where there is none."""
        rows, self._rows = list(self._rows), {}
        if not rows:
            return None
        more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        named = ", ".join(f"{id_} in {table}" for table, id_ in rows[:_NAMED])
        return f"Damaged rows were skipped ({len(rows)}): {named}{more}. `everthread doctor --repair` looks at them."


class Rows(Protocol):
    """Whose rows are read."""

    @property
    def skipped(self) -> Skipped:
        """Where those are counted that cannot be read."""


def readable(rows: Rows, table: str, found: Iterable[R], make: Callable[[R], T]) -> list[T]:
    """What `make` makes of each row, without those of which it cannot make anything.

    Args:
        rows: whose they are.
        table: where they stand.
        found: the rows, as dicts or tuples.
        make: raises what Python or pydantic raises where a value is not what it should be.
    """
    made = []
    for row in found:
        try:
            made.append(make(row))
        except UNREADABLE as error:
            rows.skipped.note(table, id_of(row), error)
    return made


def id_of(row: Any) -> object:
    """What names a row to a person."""
    if not isinstance(row, dict):
        return row[1]
    row = row["row"] if isinstance(row.get("row"), dict) else row
    return next((row[name] for name in ("id", "turn", "source_id") if name in row), "?")
