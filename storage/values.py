"""What our statements take and bring, whichever database runs them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
"""By the name of its column, each value of a row."""


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
