"""`storable`: what a message carries beside its text, as checkpoint and archive can both keep it."""

from __future__ import annotations

import json
from typing import Any, Final

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel
from pydantic_core import from_json, to_json

_SERIALIZER: Final = JsonPlusSerializer()


def fits_checkpoint(value: Any) -> bool:
    """Whether a checkpoint can hold a value: plain data, messages, models and data classes; no lock, no connection."""
    try:
        _SERIALIZER.dumps_typed(value)
    except Exception:  # what a class of another's raises when it is written
        return False
    return True


def storable(value: Any) -> Any:
    """The value itself where it is plain data or pydantic models; else plain data that says the same, or its repr.

    A tool may hand over anything as artifact, a provider anything as metadata: a lock, a table, bytes, NaN, which
    JSON in Postgres does not know.
    """
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


def _model_data(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump()
    raise TypeError(f"{type(value).__name__} is no plain data")
