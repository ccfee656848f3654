"""What goes into SQLite and comes out again: times, JSON, arrays, vectors; and the functions our statements call."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

import numpy as np
from psycopg.types.json import Jsonb

from ...state.records import now
from ..memory_changes import array_bytes, vector_bytes, vector_of

Row = dict[str, Any]


def stored(value: Any) -> Any:
    """A parameter as SQLite takes it: times as text that sorts, arrays and objects as JSON."""
    if isinstance(value, Jsonb):
        return (value.dumps or json.dumps)(value.obj)
    if isinstance(value, datetime):
        return _in_order(value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, list | tuple):
        return json.dumps(value, default=stored)
    return value


def parameters(values: Mapping[str, Any] | Sequence[Any] | None) -> Any:
    """All parameters of a statement as SQLite takes them."""
    if isinstance(values, Mapping):
        return {name: stored(value) for name, value in values.items()}
    return [stored(value) for value in values or ()]


def readers(names: Sequence[str]) -> list[tuple[int, Callable[[Any], Any]]]:
    """How values come out, by their place in a row: for those columns that are not plain."""
    return [(index, _READERS[name]) for index, name in enumerate(names) if name in _READERS]


def add_functions(connection: sqlite3.Connection) -> None:
    """Let statements on this connection call the functions below."""
    for name, arguments, function in _FUNCTIONS:
        connection.create_function(
            name, arguments, function, deterministic=name not in {"now", "ago", "gen_random_uuid"}
        )


def _in_order(moment: datetime) -> str:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="microseconds")


def moment(text: str | None) -> str | None:
    """A time in ISO 8601 as it is stored."""
    return None if text is None else _in_order(datetime.fromisoformat(text))


def _micros(text: str) -> int:
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _ago(seconds: float) -> str:
    return _in_order(now() - timedelta(seconds=min(seconds, 1e9)))


def _zipped(*arrays: str) -> str:
    return json.dumps(list(zip(*map(json.loads, arrays), strict=True)))


def _key_bytes(keys: str | None) -> bytes:
    return array_bytes(json.loads(keys or "[]"))


def _vector_bytes(text: str) -> bytes:
    return vector_bytes(json.loads(text))


def _distance(one: bytes, other: str) -> float:
    """The cosine distance of a stored vector and one as text."""
    first, second = vector_of(one).astype(float), np.asarray(json.loads(other))
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return 2.0 if not lengths else 1 - float(first @ second) / lengths


def _has_words(text: str) -> bool:
    return re.search(r"\S", text) is not None


def _ending(text: str) -> str:
    return text[-40:].rstrip(" ")[-1:]


_FUNCTIONS: Final[tuple[tuple[str, int, Callable[..., Any]], ...]] = (
    ("now", 0, lambda: _in_order(now())),
    ("gen_random_uuid", 0, lambda: str(uuid4())),
    ("ago", 1, _ago),
    ("moment", 1, moment),
    ("micros", 1, _micros),
    ("zipped", -1, _zipped),
    ("key_bytes", 1, _key_bytes),
    ("vector_bytes", 1, _vector_bytes),
    ("vector_dims", 1, lambda stored: len(vector_of(stored))),
    ("distance", 2, _distance),
    ("has_words", 1, _has_words),
    ("ending", 1, _ending),
)


def _time(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


def _json(value: str | None) -> Any:
    return None if value is None else json.loads(value)


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)


_TIMES: Final = (
    "created_at", "last_at", "started_at", "said_at", "confirmed_at", "valid_from", "valid_to", "forgotten_at",
    "replaced_at", "left_at", "deleted_at",
)  # fmt: skip
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(_TIMES, _time),
    **dict.fromkeys(("message", "report", "results", "source_ids", "terms", "calls"), _json),
    **dict.fromkeys(("is_summarized", "negated", "settles", "pending", "facts_read"), _flag),
}
"""By the name of a column. A name means the same in all our tables."""
