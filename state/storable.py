"""`storable`: what a message carries beside its text, as checkpoint and archive can both keep it."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel
from pydantic_core import from_json, to_json

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

_DEEPEST: Final = 64
"""Lists and mappings in each other, at most: a checkpoint takes some hundreds, JSON a thousand."""

_TOO_DEEP: Final = "[nested too deeply]"
_LEAST: Final = -(2**63)
_MOST: Final = 2**64 - 1
"""The whole numbers that a checkpoint takes."""


def fits_checkpoint(value: Any) -> bool:
    """Whether a checkpoint can hold a value: plain data, messages, models and data classes; no lock, no connection."""
    try:
        _serializer().dumps_typed(value)
    except Exception:  # what a class of another's raises when it is written
        return False
    return True


@cache
def _serializer() -> JsonPlusSerializer:
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer  # which a memory alone does without

    return JsonPlusSerializer()


def storable(value: Any) -> Any:
    """The value itself where it is plain data or pydantic models; else plain data that says the same, or its repr.

    A tool may hand over anything as artifact, a provider anything as metadata: a lock, a table, bytes, NaN, which
    JSON in Postgres does not know. What lies too deep is left out, and a number that is too large becomes a text.
    """
    if not _is_bounded(value, _DEEPEST):
        value = _bounded(value, _DEEPEST)
    try:
        json.dumps(value, allow_nan=False, default=_model_data)
    except (TypeError, ValueError, RecursionError):
        return storable_data(value)
    return value


def storable_data(value: Any) -> Any:
    """Plain data that says the same as the value, or its repr."""
    try:
        return from_json(to_json(value, fallback=repr, bytes_mode="base64", inf_nan_mode="strings"))
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def _is_bounded(value: Any, deep: int) -> bool:
    if isinstance(value, dict):
        return deep > 0 and all(_is_bounded(item, deep - 1) for item in value.values())
    if isinstance(value, (list, tuple)):
        return deep > 0 and all(_is_bounded(item, deep - 1) for item in value)
    return not isinstance(value, int) or _LEAST <= value <= _MOST


def _bounded(value: Any, deep: int) -> Any:
    if isinstance(value, (dict, list, tuple)):
        if not deep:
            return _TOO_DEEP
        if isinstance(value, dict):
            return {key: _bounded(item, deep - 1) for key, item in value.items()}
        return [_bounded(item, deep - 1) for item in value]
    return value if _is_bounded(value, 0) else hex(value)


def _model_data(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump()
    raise TypeError(f"{type(value).__name__} is no plain data")
