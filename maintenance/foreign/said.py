"""`ExportedConversation`: one conversation of another product, whatever form it was exported in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from ...text.moments import moment

Speaker = Literal["user", "assistant"]
Record = Mapping[str, Any]


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
