"""The terms of a message as numbers made of user and term: what the keyword arm is stored as."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Final

from ..text.dates import tells_when
from ..text.replies import is_canned
from ..text.stems import stem
from ..text.terms import ENGLISH, search_terms

TELLS_WHEN: Final = "<when>"
"""A term of messages that tell a time; no word is like it."""

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip


def message_keys(user_id: str, text: str, said_at: datetime) -> list[int]:
    """The keys of a message's terms: its words, the day on which it was said, and whether it tells a time.

    What no model said has none.
    """
    if is_canned(text):
        return []
    return term_keys(user_id, [*search_terms(text), *_date_terms(said_at), *([TELLS_WHEN] if tells_when(text) else [])])


def _date_terms(moment: datetime) -> list[str]:
    """The day as the words of a text would name it: day, month, year."""
    return [str(moment.day), stem(_MONTHS[moment.month - 1], ENGLISH), str(moment.year)]


def term_keys(user_id: str, of: Sequence[str]) -> list[int]:
    """A number for each term, another one for each user: 64 bits, signed, as Postgres counts."""
    user = blake2b(user_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return [int.from_bytes(blake2b(term.encode("utf-8"), key=user, digest_size=8).digest(), signed=True) for term in of]
