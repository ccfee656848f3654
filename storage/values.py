"""What our statements take and bring, whichever database runs them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Row = dict[str, Any]
"""By the name of its column, each value of a row."""

_FIRST, _LAST = datetime(2, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
"""What is kept lies between: days are counted from it, and zones changed, where the calendar has no end."""


def kept_time(moment: datetime) -> datetime:
    """The same time, if one is kept that lies so.

    Raises:
        ValueError: it is not within the years 2 to 9998.
    """
    if not _FIRST <= moment < _LAST:
        raise ValueError("expected a time within the years 2 to 9998")
    return moment


@dataclass(frozen=True, slots=True)
class Json:
    """A value that is stored as JSON: Postgres takes it as jsonb, SQLite as text.

    Attributes:
        value: what `dumps` can write.
        dumps: writes it; by default as JSON does.
    """

    value: Any
    dumps: Callable[[Any], str] = json.dumps

    def __str__(self) -> str:
        return self.dumps(self.value)
