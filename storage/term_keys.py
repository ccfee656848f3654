"""The terms of a message as numbers made of user and term: what the keyword arm is stored as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

from ..state.call_lines import tries
from ..text.dates import tells_when
from ..text.replies import is_canned
from ..text.stems import stem
from ..text.terms import ENGLISH, search_terms
from .searchable import calls_of, searchable_text

TELLS_WHEN: Final = "<when>"
"""A term of messages that tell a time; no word is like it."""

CALLS_TOOLS: Final = "<calls>"
"""A term of messages that call tools, which are no replies."""

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip


def message_keys(user_id: str, row: Mapping[str, Any], said_at: datetime | None) -> list[int]:
    """The keys of a message's terms: its words, its day, whether it tells a time, and whether it calls tools.

    What no model said has none.

    Args:
        user_id: whose message it is.
        row: the message as `searchable_text` takes it.
        said_at: when it was said; None where that is damaged.
    """
    if is_canned(row["text"]):
        return []
    text = searchable_text(row)
    calls = bool(calls_of(row)) or (row.get("role") == "assistant" and tries(text))
    marks = [mark for mark, holds in ((TELLS_WHEN, tells_when(text)), (CALLS_TOOLS, calls)) if holds]
    return term_keys(user_id, [*search_terms(text), *(_date_terms(said_at) if said_at else ()), *marks])


def _date_terms(moment: datetime) -> list[str]:
    """The day as the words of a text would name it: day, month, year."""
    return [str(moment.day), stem(_MONTHS[moment.month - 1], ENGLISH), str(moment.year)]


def term_keys(user_id: str, of: Sequence[str]) -> list[int]:
    """A number for each term, another one for each user: 64 bits, signed, as Postgres counts."""
    user = blake2b(user_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return [int.from_bytes(blake2b(term.encode("utf-8"), key=user, digest_size=8).digest(), signed=True) for term in of]
