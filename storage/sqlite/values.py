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

from ...state.records import now
from ..archive_rows import said_as
from ..memory_changes import array_bytes, vector_bytes, vector_of
from ..values import Json, Row, kept_time


def _stored(value: Any) -> Any:
    """A parameter as SQLite takes it: times as text that sorts, arrays and objects as JSON."""
    if isinstance(value, Json):
        return str(value)
    if isinstance(value, datetime):
        return _in_order(value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, list | tuple):
        return json.dumps(value, default=_within)
    return value


def _within(value: Any) -> Any:
    """What stands in an array; bytes, as an id that is damaged, as a text that nothing has for its id."""
    return value.decode(errors="replace") if isinstance(value, bytes) else _stored(value)


def parameters(values: Mapping[str, Any] | Sequence[Any] | None) -> Any:
    """All parameters of a statement as SQLite takes them."""
    if isinstance(values, Mapping):
        return {name: _stored(value) for name, value in values.items()}
    return [_stored(value) for value in values or ()]


def readers(names: Sequence[str]) -> list[tuple[int, Callable[[Any], Any]]]:
    """How values come out, by their place in a row: for those columns that are not plain."""
    return [(index, _READERS[name]) for index, name in enumerate(names) if name in _READERS]


def as_read(row: Row) -> Row:
    """A row with its values as they come out."""
    return {name: _READERS[name](value) if name in _READERS else value for name, value in row.items()}


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


def _micros(text: Any) -> int | None:
    said_at = _READERS["created_at"](text)
    return None if said_at is None else (said_at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _ago(seconds: float) -> str:
    return _in_order(now() - timedelta(seconds=min(seconds, 1e9)))


def sound(text: Any) -> str:
    """JSON as it is stored; "null" where it is damaged, over which a statement would break off."""
    try:
        json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return "null"
    return str(text)


def _spelled(text: str) -> str:
    """A text as it stands within a string of stored JSON."""
    return json.dumps(text)[1:-1]


def _zipped(*arrays: str) -> str:
    return json.dumps(list(zip(*map(json.loads, arrays), strict=True)))


def _key_bytes(keys: str | None) -> bytes:
    return array_bytes(json.loads(keys or "[]"))


def _vector_bytes(text: str) -> bytes:
    return vector_bytes(json.loads(text))


def _dims(stored: Any) -> int | None:
    """The dimensions of a stored vector; None where it is damaged."""
    return len(vector_of(stored)) if isinstance(stored, bytes) and len(stored) % 4 == 0 else None


def _distance(one: bytes, other: str) -> float:
    """The cosine distance of a stored vector and one as text."""
    first, second = vector_of(one).astype(float), np.asarray(json.loads(other))
    if len(first) != len(second):
        return 2.0
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return 2.0 if not lengths else 1 - float(first @ second) / lengths


def _has_words(text: Any) -> bool:
    return re.search(r"\S", str(text)) is not None


def _ending(text: Any) -> str:
    return str(text)[-40:].rstrip(" ")[-1:]


_FUNCTIONS: Final[tuple[tuple[str, int, Callable[..., Any]], ...]] = (
    ("now", 0, lambda: _in_order(now())),
    ("gen_random_uuid", 0, lambda: str(uuid4())),
    ("ago", 1, _ago),
    ("moment", 1, moment),
    ("micros", 1, _micros),
    ("said_as", 1, said_as),
    ("sound", 1, sound),
    ("spelled", 1, _spelled),
    ("zipped", -1, _zipped),
    ("key_bytes", 1, _key_bytes),
    ("vector_bytes", 1, _vector_bytes),
    ("vector_dims", 1, _dims),
    ("distance", 2, _distance),
    ("has_words", 1, _has_words),
    ("ending", 1, _ending),
)


def _time(value: Any) -> datetime | None:
    moment = datetime.fromisoformat(value)
    return kept_time(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _number(value: Any) -> int | float:
    if isinstance(value, int | float):
        return value
    raise TypeError("expected a number")


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _flag(value: Any) -> bool | None:
    return {0: False, 1: True}.get(value)


def _lenient(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A reader by which a damaged value, as SQLite lets anybody write it, is None: `storage.readable` skips its row."""

    def reader(value: Any) -> Any:
        try:
            return None if value is None else read(value)
        except (ValueError, TypeError, OverflowError, RecursionError):
            return None

    return reader


_TIMES: Final = (
    "created_at", "last_at", "started_at", "said_at", "confirmed_at", "valid_from", "valid_to", "forgotten_at",
    "replaced_at", "left_at", "deleted_at", "updated_at",
)  # fmt: skip
_NUMBERS: Final = (
    "turn", "tokens", "covers", "level", "version", "score", "confidence", "importance", "weight", "threads",
    "messages", "summaries", "rewritten", "facts", "pins", "reports", "documents",
)  # fmt: skip
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(_TIMES, _lenient(_time)),
    **dict.fromkeys(("message", "report", "results", "source_ids", "terms", "calls"), _lenient(json.loads)),
    **dict.fromkeys(_NUMBERS, _lenient(_number)),
    "text": _lenient(_text),
    **dict.fromkeys(("is_summarized", "negated", "settles", "pending", "facts_read"), _lenient(_flag)),
}
"""By the name of a column. A name means the same in all our tables."""
