"""Words of facts as they are compared."""

from __future__ import annotations

from typing import Final

import regex

from ..text.fold import plain
from ..text.terms import search_terms, terms
from .language import Language

_EDGES: Final = regex.compile(r"^[\W_]+|[\W_]+$")


def key(text: str) -> str:
    """What makes two texts the same (seed `004`: case-insensitive): folded, single spaces, no punctuation around."""
    return _EDGES.sub("", plain(text))


def content_terms(text: str, language: Language | None = None) -> tuple[str, ...]:
    """The distinct terms of a text that tell something, in alphabetical order: in one language, to be kept."""
    code, stop = (language.code, language.stop) if language else (None, frozenset())
    return _told(terms(text, code, stop=stop))


def asked_terms(text: str, language: Language | None = None) -> tuple[str, ...]:
    """The same in each language that a short text may be in: to find what is kept."""
    return _told(search_terms(text, stop=language.stop if language else frozenset()))


def _told(found: list[str]) -> tuple[str, ...]:
    return tuple(sorted({term for term in found if len(term) > 1 or term.isdigit() or ord(term) > 0x2E80}))
