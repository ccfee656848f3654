"""`failure_of`: what an error of a chat model means, whichever provider and package it comes from."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from itertools import chain
from typing import Any, Final, NamedTuple

from ..state.errors import first_line
from ..state.turn_records import FailureKind
from ..text.shorten import beginning
from .error_patterns import BY_NAME, BY_STATUS, BY_TEXT, CONTEXT, QUOTA, REFUSAL, WAIT

PASSING: Final[frozenset[FailureKind]] = frozenset({"timeout", "rate_limit", "server", "connection"})
"""Failures after which the same request may succeed."""

_FLAGS: Final = re.IGNORECASE | re.DOTALL
_CONTEXT: Final = tuple(re.compile(pattern, _FLAGS) for pattern in CONTEXT)
_REFUSAL: Final = re.compile("|".join(REFUSAL), _FLAGS)
_QUOTA: Final = re.compile("|".join(QUOTA), _FLAGS)
_BY_TEXT: Final = tuple((kind, re.compile(pattern, _FLAGS)) for kind, pattern in BY_TEXT)
_BY_NAME: Final = tuple((kind, re.compile(pattern)) for kind, pattern in BY_NAME)
_WAIT: Final = re.compile(WAIT, _FLAGS)
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}
_LONGEST: Final = 4000
_REASON: Final = 500
"""Characters of a reason, at most: it stands in the state and in one sentence."""

_PAGE: Final = re.compile(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)
_TITLE: Final = re.compile(r"<title[^>]*>([^<]+)</title>", re.IGNORECASE)
_NOT_TELLING: Final = frozenset({"Exception", "BaseException", "object"})


class Failure(NamedTuple):
    """Why a model gave no reply.

    `asked` and `window` are tokens, where the provider gave them; `wait` is seconds, where it asked to wait; `again`
    is whether the same model is worth another try.
    """

    kind: FailureKind
    reason: str
    asked: int | None = None
    window: int | None = None
    wait: float | None = None
    error: BaseException | None = None
    again: bool = True

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.again and self.kind in PASSING


def failure_of(error: BaseException) -> Failure:
    """What an error means: by the provider's words first, then by status, by kind of the error, and its words again."""
    causes = list(_causes(error))
    text = " ".join(_text(cause) for cause in causes)
    reason = _reason(error)
    statuses = [status for cause in causes if (status := _status(cause))]
    names = [kind.__name__ for cause in causes for kind in type(cause).__mro__ if kind.__name__ not in _NOT_TELLING]
    if _QUOTA.search(text) and (not statuses or statuses[0] in {400, 402, 403, 429}):
        return Failure("quota", reason, error=error)
    if found := next((found for pattern in _CONTEXT if (found := pattern.search(text))), None):
        numbers = {name: int(value) for name, value in found.groupdict().items() if value}
        return Failure("context", reason, numbers.get("asked"), numbers.get("window"), error=error)
    if _REFUSAL.search(text):
        return Failure("refusal", reason, error=error)
    by_status = (BY_STATUS[status] for status in statuses if status in BY_STATUS)
    by_name = (kind for name in names for kind, pattern in _BY_NAME if pattern.search(name))
    by_text = (kind for kind, pattern in _BY_TEXT if pattern.search(text))
    found_kind: FailureKind = next(chain(by_status, by_name, by_text), "other")
    return Failure(found_kind, reason, wait=_wait(causes, text), error=error)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from; packages wrap those of their providers."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__


def _text(error: BaseException) -> str:
    body = getattr(error, "body", None)
    return f"{error} {body if isinstance(body, (dict, str)) else ''}"[:_LONGEST]


def _reason(error: BaseException) -> str:
    """The provider's own words where they can be told apart from the rest, as a part of our sentence."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    if isinstance(message, str) and message.strip():
        return beginning(message.strip().split("\n", 1)[0].rstrip("."), _REASON)
    if _PAGE.match(text := str(error)):
        # A proxy's page stands for the provider's answer.
        title, status = _TITLE.search(text), _status(error)
        return (
            beginning(title[1].strip(), _REASON)
            if title
            else f"HTTP {status}"
            if status
            else "it answered with a web page"
        )
    if isinstance(error, LookupError) and type(error) is not LookupError:
        return beginning(f"{type(error).__name__} {first_line(error)}", _REASON)  # its text is no more than the key
    return beginning(first_line(error), _REASON)


def _status(error: BaseException) -> int | None:
    response: Any = getattr(error, "response", None)
    metadata = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
    given = [
        *(getattr(error, name, None) for name in ("status_code", "http_status", "code")),
        getattr(response, "status_code", None),
        metadata.get("HTTPStatusCode") if isinstance(metadata, dict) else None,
    ]
    return next((int(status) for status in given if isinstance(status, int) and 300 <= status < 600), None)


def retry_after(headers: Mapping[str, Any]) -> float | None:
    """Seconds that a provider's headers ask to wait, by a number or a date; None where they do not, or not readably."""
    given = {name.lower(): str(value).strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = given.get(name, "")
        if _NUMBER.fullmatch(value):
            return float(value) * unit
        with suppress(ValueError, OverflowError):
            moment = parsedate_to_datetime(value)
            return max(0.0, moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() - time.time())
    return None


def _wait(causes: list[BaseException], text: str) -> float | None:
    for cause in causes:
        headers: Any = getattr(getattr(cause, "response", None), "headers", None)
        if hasattr(headers, "items") and (seconds := retry_after(headers)) is not None:
            return seconds
    if found := _WAIT.search(text):
        seconds = float(found["seconds"] or found["delay"])
        return seconds * _UNITS[(found["unit"] or "s").lower()]
    return None
