"""What a long reply says in short: its first sentence, and what stands over its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .passages import excerpt
from .sentences import CODE, sentences
from .shorten import truncate_to_tokens
from .tokens import estimate_tokens

_HEADING: Final = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+(.+)|(?:[-*•][ \t]+|\d+[.)][ \t]+)?(?:\*\*|__)(.+?)(?:\*\*|__))", re.MULTILINE
)
"""A heading, or how an item of a list or a paragraph begins in bold."""

_MARKS: Final = " \t*_#:："
_GAP: Final = " … "
_MORE: Final = " …"
_JOINT: Final = "; "
_FIRST: Final = 2 / 3
"""The share of the room that the first sentence may take."""

_READ: Final = 20_000
"""Characters of a text in which headings are looked for: more than an outline has room for. A longer one never fits."""


def outline(text: str, question: str, limit: int) -> str:
    """The text if it fits, else its first sentence, and its headings as far as they have room.

    A reply that works something out in many words names its steps in these. Where it has none, what bears on the
    question stands there.

    Args:
        text: any text.
        question: what is asked.
        limit: tokens by `estimate_tokens`, at most.
    """
    if len(text) <= _READ and estimate_tokens(text) <= limit:
        return text
    read = text[:_READ]
    if not (headings := list(_headings(read))):
        return excerpt(text, question, limit)
    begins = truncate_to_tokens(sentences(read)[0], int(limit * _FIRST))
    left = limit - estimate_tokens(begins + _GAP)
    kept: list[str] = []
    for heading in headings:
        if heading not in begins and (cost := estimate_tokens(heading + _JOINT)) <= left:
            kept.append(heading)
            left -= cost
    return f"{begins.rstrip(_MORE)}{_GAP}{_JOINT.join(kept)}" if kept else begins


def _headings(text: str) -> Iterator[str]:
    """Each heading once, behind the first sentence, and none in code."""
    found = (match[1] or match[2] for match in _HEADING.finditer(CODE.sub("", text)))
    yield from dict.fromkeys(stripped for heading in found if (stripped := heading.strip(_MARKS)))
