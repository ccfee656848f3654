"""How one value is sealed for its column: a text, a message, a report, an array; and hashes of what is compared."""

from __future__ import annotations

import json
from typing import Any, Final

from ..text.moments import moment
from .archive_rows import COMPARED
from .encryption import Cipher, looks_sealed

CALLS: Final = "messages.calls"
SPEAKER: Final = "messages.name"
"""Sealed so that equal ones are equal: a statement asks whether all of a thread bear the same."""

_QUESTION_MARKS: Final = ("?", "\uff1f", "\u061f")


def is_blank(value: Any) -> bool:
    """Whether there is nothing to seal."""
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
    if is_blank(value):
        return value
    if field == SPEAKER:
        return cipher.seal_equal(field, value)
    if isinstance(value, str):
        ending = value[-40:].rstrip(" ")[-1:] if field == "messages.text" else ""
        return cipher.seal(field, value, ending if ending in _QUESTION_MARKS else "")
    if isinstance(value, list):
        return [cipher.seal(field, json.dumps(value))]
    if column != "message":
        return cipher.seal(field, json.dumps(value))
    data = {name: _comparable(cipher, name, value["data"][name]) for name in COMPARED if name in value["data"]}
    return {
        "data": data | _zone(value["data"]),
        "others": _digest(cipher, value),
        "sealed": cipher.seal(field, json.dumps(value)),
    }


def hashed(cipher: Cipher, value: Any) -> Any:
    """Numbers of terms, or UUIDs of contents, as they are stored."""
    if isinstance(value, list | tuple):
        return cipher.terms(value) if value and isinstance(value[0], int) else [cipher.uuid(one) for one in value]
    return None if value is None else cipher.uuid(value)


def _zone(data: dict[str, Any]) -> dict[str, Any]:
    """The time of a message as it was written, whose zone tells its day; nothing where a client wrote no time there."""
    written = moment((data.get("additional_kwargs") or {}).get("created_at"))
    return {} if written is None else {"additional_kwargs": {"created_at": written.isoformat()}}


def _comparable(cipher: Cipher, name: str, value: Any) -> Any:
    if value is None:
        return None
    if name == "tool_calls":
        return [cipher.seal_equal(CALLS, json.dumps(value, sort_keys=True))] if value else []
    return _digest(cipher, value)


def _digest(cipher: Cipher, value: Any) -> str:
    return cipher.digest(json.dumps(value, sort_keys=True).encode()).hex()
