"""A follow-up as a query that stands alone, without a model: what it leaves out comes from the user's earlier turns.

"How tall is it?" finds nothing by itself. A turn with a pronoun and hardly a content word, or with no content word at
all, gets the content words of the newest earlier turn that stands alone; any other stays as it is. The words of each
language are data, in `text/data/follow_ups.json`. `bench/query_rewrite.py` measures it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import regex

from ...text.data import load
from ...text.fold import bare
from ...text.language import language_of
from ...text.stop_words import stop_words
from ...text.terms import ENGLISH
from ...text.words import words
from ..cleaning import MAX_QUERY, search_query
from ..privacy import redact

_TURNS: Final = 8
"""Earlier turns that are looked at, the newest."""
_TURN_CHARS: Final = 600
"""Characters of an earlier turn that are looked at."""
_SUBJECT_WORDS: Final = 6
"""Content words taken from an earlier turn, the first ones."""
_UNSPACED: Final = frozenset({"zh", "ja"})
_HIRAGANA: Final = regex.compile(r"\p{Hiragana}+")
"""Grammar, mostly: names and nouns are in other scripts."""


class _FollowUps(NamedTuple):
    """The words of one language that a follow-up is known by, without accents.

    Beside an `impersonal` one a pronoun means nothing ("is it raining?"); `light` ones say little of a subject.
    """

    pronouns: frozenset[str]
    impersonal: frozenset[str]
    light: frozenset[str]


def standalone_query(question: str, before: Sequence[str]) -> str:
    """A message as a query that can be understood without the conversation, of at most 400 characters.

    Args:
        question: the newest user message.
        before: the user's earlier messages, the oldest first.
    """
    query = search_query(question)
    if not query or len(" ".join(question.split())) > MAX_QUERY:
        return query
    known = _follow_ups()
    language = language_of(query, known) or language_of(" ".join(before[-_TURNS:]), known) or ENGLISH
    if not _depends(query, language):
        return query
    for message in reversed(before[-_TURNS:]):
        # What is private is no subject: part of it would not be known for what it is when the query leaves.
        turn = redact(search_query(message[:_TURN_CHARS])).text
        if not _depends(turn, language) and (subject := _content(turn, language)):
            return search_query(" ".join([query, *subject[:_SUBJECT_WORDS]]))
    return query


def _depends(turn: str, language: str) -> bool:
    """Whether a turn is not understood without those before it."""
    known, said = _follow_ups()[language], {bare(word) for word in words(turn)}
    pointing = any(word in turn for word in known.pronouns) if language in _UNSPACED else said & known.pronouns
    content = len(_content(turn, language))
    return content <= 1 and not said & known.impersonal if pointing else not content and len(said) > 1


def _content(turn: str, language: str) -> list[str]:
    """The words that say what a turn is about, as they are written."""
    pronouns, _, light = _follow_ups()[language]
    if language in _UNSPACED:
        for word in sorted(pronouns | light, key=len, reverse=True):
            turn = turn.replace(word, " ")
        turn = _HIRAGANA.sub(" ", turn)
    empty = stop_words(language) | pronouns | light
    return [word for word in words(turn) if len(word) > 1 and bare(word) not in empty and word.lower() not in empty]


@cache
def _follow_ups() -> Mapping[str, _FollowUps]:
    """The lists by language: a blocking read, once in a process."""
    return {
        code: _FollowUps(*(frozenset(map(bare, lists[name])) for name in _FollowUps._fields))
        for code, lists in load("follow_ups").items()
    }
