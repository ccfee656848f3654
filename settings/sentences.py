"""What is wrong with settings, in one sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from .operator import OperatorSettings


def one_sentence(error: ValidationError, kind: type[BaseModel]) -> str:
    """The first problem of a validation error: which setting, its value, and what is allowed.

    Args:
        error: what pydantic found.
        kind: the class of the settings.
    """
    first: ErrorDetails = error.errors(include_url=False)[0]
    name, *below = [str(part) for part in first["loc"]] or [""]
    field = kind.model_fields.get(name)
    parts: dict[str, Any] = getattr(field.annotation, "model_fields", {}) if field is not None else {}
    if first["type"] == "extra_forbidden":
        if not below and name in OperatorSettings.model_fields:
            return of_the_operator(name)
        if below:
            return f"Unknown part {below[0]!r} of {name!r}. {hint(below[0], parts)}"
        return unknown(name, kind.model_fields)
    message = first["msg"].removeprefix("Value error, ")
    if not name:
        return f"These settings do not agree: {message}."
    value = "the given value" if field is not None and "SecretStr" in str(field.annotation) else repr(first["input"])
    named = f"{name}.{below[0]}" if below and below[0] in parts else name
    allowed = message[:1].lower() + message[1:]
    return f"Setting {named!r} cannot be {value}: {allowed}. Set it in the context or as EVERTHREAD_{name.upper()}."


def of_the_operator(name: str) -> str:
    """Why a run may not choose a setting."""
    return (
        f"Setting {name!r} is the operator's, and not for a run to choose: set it where the process starts, as "
        f"EVERTHREAD_{name.upper()}."
    )


def unknown(name: str, known: Iterable[str]) -> str:
    """That there is no such setting, and which one may be meant."""
    return f"Unknown setting {name!r}. {hint(name, known)}"


def hint(name: str, known: Iterable[str]) -> str:
    """Which name may be meant."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Known are: {', '.join(known)}."
