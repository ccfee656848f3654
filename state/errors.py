"""The errors everthread raises: each carries one sentence that says what was wrong and what to do.

They derive from `RuntimeError` (or `ValueError`) because the LangGraph server hides the text of other kinds.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ValidationError
from pydantic_core import ErrorDetails

SearchFault = Literal[
    "rate limit", "refused", "timeout", "unreachable", "server", "unreadable", "nothing", "unavailable", "failed"
]
"""What kept a search engine from finding something."""


class EverthreadError(RuntimeError):
    """The base of every error that everthread raises on purpose."""

    def model_dump(self) -> dict[str, str]:
        """The error as JSON: a LangGraph server asks for it so, and would else hide the sentence from some clients."""
        return {"error": f"{type(self).__name__}: {self}", "message": str(self)}


class SettingsError(EverthreadError, ValueError):
    """A setting has a value that is not allowed, or an unknown name."""


class InputError(EverthreadError, ValueError):
    """A message given to the graph cannot be used: empty, or of an unknown role or shape."""


class StorageError(EverthreadError):
    """The database cannot be started, reached, or written to."""


class ThreadOwnershipError(EverthreadError):
    """A thread belongs to another user."""


class ModelError(EverthreadError):
    """A chat model cannot be loaded, or failed to answer.

    `calls` holds the requests that were made for the answer (each a `ModelCall`), the failed ones too.
    """

    calls: tuple[Any, ...] = ()


class EmbeddingError(EverthreadError):
    """An embedding model cannot be loaded, or failed to embed."""


class SearchError(EverthreadError):
    """A web search engine cannot be used, or failed to answer; or a page cannot be fetched.

    Args:
        text: one sentence, without the query.
        kind: what went wrong; a rate limit, a failing server and a lost connection are worth another try.
        retry_after: seconds after which the engine asks to be asked again.
    """

    def __init__(self, text: str, kind: SearchFault = "failed", retry_after: float | None = None) -> None:
        super().__init__(text)
        self.kind: SearchFault = kind
        self.retry_after = retry_after


def one_sentence(error: ValidationError, fields: Mapping[str, Any]) -> str:
    """The first problem of a validation error as one sentence: field, value, what is allowed."""
    first: ErrorDetails = error.errors(include_url=False)[0]
    name, *below = [str(part) for part in first["loc"]] or [""]
    kind = getattr(fields.get(name), "annotation", None)
    parts: Mapping[str, Any] = getattr(kind, "model_fields", {})
    if first["type"] == "extra_forbidden":
        known, what = (parts, f"part {below[0]!r} of {name!r}") if below else (fields, f"setting {name!r}")
        close = difflib.get_close_matches(below[0] if below else name, known, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Known are: {', '.join(known)}."
        return f"Unknown {what}. {hint}"
    message = first["msg"].removeprefix("Value error, ")
    if not name:
        return f"These settings do not agree: {message}."
    value = "the given value" if "SecretStr" in str(kind) else repr(first["input"])
    allowed = message[:1].lower() + message[1:]
    named = f"{name}.{below[0]}" if below and below[0] in parts else name
    return f"Setting {named!r} cannot be {value}: {allowed}. Set it in the context or as EVERTHREAD_{name.upper()}."


def first_line(error: BaseException) -> str:
    """The first line of an error's text, without its full stop, as a part of our sentence; else the error's kind."""
    return str(error).strip().split("\n", 1)[0].rstrip(".") or type(error).__name__
