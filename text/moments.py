"""When something was said, as programs write it: numbers, ISO 8601, RFC 2822, American forms, what databases write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

_FORMS: Final = (
    "%B %d, %Y %I:%M%p", "%B %d, %Y %I:%M %p", "%Y-%m-%d@%Hh%Mm%Ss", "%Y-%m-%d @%Hh %Mm %Ss", "%Y-%m-%d %H:%M:%S",
    "%m/%d/%Y %H:%M:%S", "%m/%d/%Y, %I:%M:%S %p", "%m/%d/%Y %I:%M %p", "%m/%d/%Y", "%d %B %Y", "%b %d, %Y, %I:%M:%S %p",
    "%m/%d/%Y %H:%M", "%m/%d/%Y, %I:%M %p", "%B %d, %Y", "%b %d, %Y", "%Y/%m/%d %H:%M:%S",
    "%I:%M %p on %d %B, %Y", "%B-%d-%Y", "%Y/%m/%d (%a) %H:%M",
)  # fmt: skip
_MILLISECONDS: Final = re.compile(r"\s*\d{1,3}ms$")
_LONGEST: Final = 100
"""Characters of a time, at most."""
_FINER_FROM: Final = 1e11
"""A number from here on counts a thousandth of the unit: as seconds it would lie beyond the year 5000."""


def moment(value: Any) -> datetime | None:
    """The time that a value names; in UTC where it names no zone, None where it cannot be read.

    Seconds, or thousandths, millionths and billionths of them, since 1970 as numbers or digits, ISO 8601, RFC 2822, the
    American forms, and what databases write: `{"$date": ...}`.
    """
    for _ in range(2):  # {"$date": {"$numberLong": "..."}}
        value = value.get("$date", value.get("$numberLong")) if isinstance(value, Mapping) else value
    if isinstance(value, str) and re.fullmatch(r"\d{9,19}(\.\d+)?", value.strip()):
        value = float(value)
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, int | float):
            for _ in range(3):
                value = value / 1000 if value >= _FINER_FROM else value
            return datetime.fromtimestamp(value, UTC)
        found = _written(str(value).strip()) if isinstance(value, str | date) else None
    except (ValueError, OverflowError, OSError):
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)


def _written(text: str) -> datetime | None:
    if len(text) > _LONGEST:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    plain = _MILLISECONDS.sub("", text.replace("\u202f", " "))
    for form in _FORMS:
        try:
            return datetime.strptime(plain, form)  # the zone is set by who calls
        except ValueError:
            continue
    try:
        return parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
