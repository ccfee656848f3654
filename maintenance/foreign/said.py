"""`ExportedConversation`: one conversation of another product, whatever form it was exported in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal, NamedTuple

Speaker = Literal["user", "assistant"]
Record = Mapping[str, Any]

_FORMS: Final = (
    "%B %d, %Y %I:%M%p", "%B %d, %Y %I:%M %p", "%Y-%m-%d@%Hh%Mm%Ss", "%Y-%m-%d @%Hh %Mm %Ss", "%Y-%m-%d %H:%M:%S",
    "%m/%d/%Y %H:%M:%S", "%m/%d/%Y, %I:%M:%S %p", "%m/%d/%Y %I:%M %p", "%m/%d/%Y", "%d %B %Y", "%b %d, %Y, %I:%M:%S %p",
    "%m/%d/%Y %H:%M", "%m/%d/%Y, %I:%M %p", "%B %d, %Y", "%b %d, %Y", "%Y/%m/%d %H:%M:%S",
)  # fmt: skip
_MILLISECONDS: Final = re.compile(r"\s*\d{1,3}ms$")
_FINER_FROM: Final = 1e11
"""A number from here on counts a thousandth of the unit: as seconds it would lie beyond the year 5000."""


class ExportedMessage(NamedTuple):
    """One visible message.

    Attributes:
        id: what the export calls it; empty where it names none.
        speaker: who said it.
        text: what was said.
        at: when; None where the export does not say.
        left: whether it stands on a branch that was left: edited, or answered again.
        is_fact: whether it is no message, but what was known about the user.
    """

    id: str
    speaker: Speaker
    text: str
    at: datetime | None
    left: bool = False
    is_fact: bool = False


class ExportedConversation(NamedTuple):
    """Visible messages in the order they were said, with what the export calls the whole."""

    id: str
    title: str
    at: datetime | None
    said: Sequence[ExportedMessage]


class ExportedNode(NamedTuple):
    """A message in the tree of its conversation; `said` is None for one that is not visible."""

    parent: str | None
    said: ExportedMessage | None


def said(id_: str, speaker: Speaker, parts: Iterable[str], at: Any) -> ExportedMessage | None:
    """The message; None where nothing was said."""
    text = "\n".join(part for part in parts if part and part.strip())
    return ExportedMessage(id_, speaker, text, moment(at)) if text else None


def digest(text: str) -> str:
    """What tells a text from others where an export gives it no id, or one that another export gives to another."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def on_branches(nodes: Mapping[str, ExportedNode], current: str | None) -> list[ExportedMessage]:
    """The messages of a tree; those that do not lead to `current` have left, and stand before what took their place.

    Args:
        nodes: by id, in the order in which they were made.
        current: the last message of the branch that is shown; None for the last that was made.
    """
    kept = set(_way_up(nodes, current if current in nodes else next(reversed(list(nodes)), None)))
    children: dict[str | None, list[str]] = {}
    for id_, node in nodes.items():
        children.setdefault(node.parent if node.parent in nodes else None, []).append(id_)
    found: list[ExportedMessage] = []
    waiting = _shown_first(children.get(None, []), kept)
    while waiting:
        id_ = waiting.pop()
        if (said := nodes[id_].said) is not None:
            found.append(said._replace(left=id_ not in kept))
        waiting += _shown_first(children.get(id_, []), kept)
    return found


def _way_up(nodes: Mapping[str, ExportedNode], id_: str | None) -> Iterator[str]:
    seen: set[str] = set()
    while id_ is not None and id_ in nodes and id_ not in seen:
        seen.add(id_)
        yield id_
        id_ = nodes[id_].parent


def _shown_first(children: Sequence[str], kept: set[str]) -> list[str]:
    """As a stack holds them: the branch that is shown comes off last."""
    left = [id_ for id_ in children if id_ not in kept]
    return [id_ for id_ in children if id_ in kept] + left[::-1]


def moment(value: Any) -> datetime | None:
    """The time that an export names; in UTC where it names no zone, None where it cannot be read.

    Seconds, or thousandths, millionths and billionths of them, since 1970 as numbers or digits, ISO 8601, RFC 2822, the
    American forms, and what databases write: `{"$date": ...}`.
    """
    if isinstance(value, Mapping):
        value = value.get("$date", value.get("$numberLong"))
        return None if isinstance(value, Mapping) and not value else moment(value)
    if isinstance(value, str) and re.fullmatch(r"\d{9,19}(\.\d+)?", value.strip()):
        value = float(value)
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, int | float):
            for _ in range(3):
                value = value / 1000 if value >= _FINER_FROM else value
            return datetime.fromtimestamp(value, UTC)
        found = _written(str(value).strip())
    except (ValueError, OverflowError, OSError):
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)


def _written(text: str) -> datetime | None:
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
