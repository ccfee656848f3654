"""Words by which a summary, or what should be one, is judged: of all languages together, casefolded, the longest first.

The lists are `summary_words.json`. Sources: seed `002` (the English ones of `invalidPatterns` and
`scoreMessageImportance`), translated.
"""

from __future__ import annotations

from typing import Any, Final

from ..text.data import load

_LISTS: Final[dict[str, Any]] = load("summary_words")


def _all(name: str) -> tuple[str, ...]:
    return tuple(
        sorted({word for words in _LISTS[name].values() for word in words}, key=lambda word: (-len(word), word))
    )


ERROR_STARTS: Final = _all("error_starts")
"""How an error text begins that stands where a summary should."""

REFUSAL_STARTS: Final = _all("refusal_starts")
"""How a refusal begins, or a request for what was given already."""

REPLY_STARTS: Final = _all("reply_starts")
"""How an assistant begins that answers instead of summarizing."""

TALE_STARTS: Final = _all("tale_starts")
"""How a story, a poem or a play begins."""

QUESTION_STARTS: Final = _all("question_starts")
"""How a question begins: what, how, why."""

TECHNICAL: Final = _all("technical")
"""Words of technical talk: function, class."""

TROUBLE: Final = _all("trouble")
"""Words of trouble: error, problem, issue."""

SUMMARY_LABELS: Final[tuple[str, ...]] = tuple(_LISTS["summary_labels"])
"""The word for a summary, in a label before it."""
