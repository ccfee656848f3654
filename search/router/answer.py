"""What a small model answers to whether the web is to be searched: yes or no, and a query, however it puts it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ...text.data import load
from ...text.fold import fold
from ...text.replies import objects, without_thoughts
from ...text.words import words

_YES, _NO = (frozenset(map(fold, load("yes_no")[answer].split())) for answer in ("yes", "no"))
_LABEL: Final = re.compile(r"(?i)^\W*(?:answer|output|response|reply|decision|search needed|needs? search)\s*[:=]\s*")
_QUERY_LABEL: Final = re.compile(r"(?im)\b(?:search )?query\W{0,3}[:=]\s*(.+)$")
_QUOTES: Final = " \t\"'`“”„«»‘’*<>"


class RouterAnswer(NamedTuple):
    """What the small model decided."""

    needed: bool
    query: str | None


def parse_answer(text: str) -> RouterAnswer | None:
    """A model's yes or no and its query, from a line, JSON or prose in one of several languages; or None."""
    text = without_thoughts(text).replace("```json", "").replace("```", "").strip()
    if (parsed := _from_json(text)) is not None:
        return parsed
    text = _LABEL.sub("", text)
    verdict = next((word for word in words(fold(text.split("\n", 1)[0]))[:8] if word in _YES | _NO), None)
    if verdict is None:
        return None
    return RouterAnswer(True, _query_in(text)) if verdict in _YES else RouterAnswer(False, None)


def _from_json(text: str) -> RouterAnswer | None:
    fields = next(objects(text), {})
    query = next((field for name, field in fields.items() if "query" in name and isinstance(field, str)), None)
    for name, field in fields.items():
        if name in _YES and (isinstance(field, str) or field is True):
            return RouterAnswer(True, field if isinstance(field, str) else query)
        if (said := fold(str(field)).strip()) in _YES | _NO:
            needed = said in _YES
            return RouterAnswer(needed, query if needed else None)
    return None


def _query_in(text: str) -> str | None:
    """The query after "yes:", on the line below it, or after a label; nothing where prose follows the yes."""
    if labelled := _QUERY_LABEL.search(text):
        return labelled.group(1).strip(_QUOTES) or None
    first, _, rest = text.partition("\n")
    after = re.match(r"^\W*\w+\W{0,3}?\s*[:：–—-]\s*(.+)$", first.strip())
    if after:
        return after.group(1).strip(_QUOTES) or None
    bare = not re.search(r"\w\W+\w", first.strip())
    return (rest.strip().split("\n", 1)[0].strip(_QUOTES) or None) if bare and rest.strip() else None
