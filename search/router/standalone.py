"""A follow-up as a query that stands alone, without a model: what it leaves out comes from the user's earlier turns.

"How tall is it?" finds nothing by itself. Pronouns, and what is left out in a turn of hardly a content word, stand for
what the conversation is about: a name or phrase of the newest earlier turn that stands alone. Where the turn names
its subject itself, or no earlier turn offers a subject, it stays as it is: a wrong subject is worse than none. Words of
each language are data, in `text/data/follow_ups.json`; the stop words are those of the keyword index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import regex

from ...text.data import load
from ...text.fold import bare
from ...text.language import language_of
from ...text.stems import stem
from ...text.stop_words import stop_words
from ...text.terms import ENGLISH
from ...text.words import LETTER, QUESTION_MARKS
from ..cleaning import MAX_QUERY, search_query
from ..privacy import redact

_TURNS: Final = 8
"""Earlier turns that are looked at, the newest."""
_CHARS: Final = 600
"""Characters of an earlier turn that are looked at."""
_MANY: Final = 4
"""Content words of a turn from which a pronoun in it may well mean one of them."""
_LONG: Final = 4
"""Words of a subject, at most."""
_SHORT: Final = 8
"""Words of a turn that may leave out its subject, at most."""
_PHRASE: Final = 2
"""Words of a phrase that stands by itself, at most."""
_BARE: Final = 1
"""Content words of a turn, up to which it leaves out its subject."""
_UNSPACED: Final = frozenset({"zh", "ja"})
_END: Final = f" !.。{QUESTION_MARKS}"
_PIECE: Final = regex.compile(rf"{LETTER}+(?:['’.&-]{LETTER}+)*|[^\s\p{{L}}\p{{M}}\p{{N}}]")
_RUN: Final = {
    "zh": regex.compile(r"[\p{Han}\p{Latin}\p{N}]+"),
    "ja": regex.compile(r"[\p{Han}\p{Katakana}ー\p{Latin}\p{N}]+"),
}


class Followups(NamedTuple):
    """The words of one language that a follow-up is known by."""

    pronouns: frozenset[str]
    possessives: frozenset[str]
    leads: tuple[tuple[str, ...], ...]
    fillers: tuple[tuple[str, ...], ...]
    dummies: frozenset[str]
    demonstratives: frozenset[str]
    markers: frozenset[str]
    definitions: frozenset[tuple[str, ...]]
    light: frozenset[str]


class _Turn(NamedTuple):
    """A turn as it is written and as folded words, with what it says and leaves out."""

    language: str
    pieces: list[str]
    words: list[str]
    pronoun: int | None
    """Where the first pronoun stands whose meaning is outside of the turn."""
    depends: bool
    """Whether the turn is not understood without those before it."""


class _Subject(NamedTuple):
    text: str
    stems: frozenset[str]
    name: bool
    words: int


def standalone_query(question: str, before: Sequence[str]) -> str:
    """A message as a query that can be understood without the conversation, of at most 400 characters.

    Args:
        question: the newest user message.
        before: the user's earlier messages, the oldest first.
    """
    query = search_query(question)
    if len(" ".join(question.split())) > MAX_QUERY:
        return query
    earlier = [text for message in before[-_TURNS:] if (text := search_query(message[:_CHARS]))]
    if not query or not earlier:
        return query
    language = _language(query, " ".join([query, *earlier]))
    query = _without_filler(query, _read(query, language))
    turn = _read(query, language)
    if not turn.depends:
        return query
    # What is private is never a subject; a part of it would not be known for what it is when the query leaves.
    subject = _subject(turn, [_read(redact(text).text, language) for text in earlier])
    return search_query(_with(query, turn, subject)) if subject else query


def _read(text: str, language: str) -> _Turn:
    lists = followups()[language]
    if language in _UNSPACED:
        found = [(text.find(word), word) for word in lists.pronouns if word in text]
        content = sum(1 for _ in _runs_unspaced(text, language))
        place = min(found)[0] if found else None
        return _Turn(language, [text], [bare(text)], place, place is not None or not content)
    pieces = _PIECE.findall(text)
    words = [bare(piece) for piece in pieces]
    place = _pronoun(words, language)
    return _Turn(language, pieces, words, place, place is not None or _is_bare(pieces, words, language))


def _language(*texts: str) -> str:
    """The language of the first of these texts that tells it, of those that have lists; else English."""
    return next((code for text in texts if (code := language_of(text, followups().keys()))), ENGLISH)


def _says(word: str, language: str) -> bool:
    """Whether a folded word says what a turn is about."""
    lists = followups()[language]
    stop = stop_words(language)
    empty = any(word in words for words in (stop, lists.light, lists.pronouns, lists.possessives, lists.demonstratives))
    return (word[0].isalpha() or word.isdigit()) and not empty and (len(word) > 1 or not word.isascii())


def _pronoun(words: Sequence[str], language: str) -> int | None:
    """Where a pronoun stands that means nothing in the turn itself."""
    lists = followups()[language]
    content = sum(_says(word, language) for word in words)
    for place, word in enumerate(words):
        own = word in lists.pronouns or word in lists.possessives
        rest = words[place + 1 : place + 2]
        points = word in lists.demonstratives and content <= _BARE and not any(_says(w, language) for w in rest)
        if own or points:
            around = {*words[place + 1 : place + 3], *words[max(0, place - 1) : place]}
            said = sum(_says(other, language) for other in words[:place])
            if not around & lists.dummies and said <= max(0, _BARE + 1 - content) and content <= _MANY:
                return place
    return None


def _is_bare(pieces: Sequence[str], words: Sequence[str], language: str) -> bool:
    """Whether a turn leaves out what it is about: it says nothing, or asks for one thing of many ("how many teams?").

    A definition that is asked for is no such turn ("what is a galaxy?", "who is Patel?"), nor is one that holds a name,
    a bare phrase (it may be a new subject), or a "what about ...?", which names one.
    """
    lists = followups()[language]
    spoken = [word for word in words if word[0].isalnum()]
    content = [place for place, word in enumerate(spoken) if _says(word, language)]
    if not spoken or len(content) > _BARE or len(spoken) > _SHORT:
        return False
    if lists.pronouns.intersection(spoken) and lists.dummies.intersection(spoken):
        return False
    if not content:
        return len(spoken) > 1
    shown = [piece for piece in pieces if piece[0].isalnum()]
    if shown[content[0]][0].isupper() or not lists.markers.intersection(spoken[max(0, content[0] - 3) : content[0]]):
        return False
    named = any(tuple(spoken[: len(lead)]) == lead for lead in lists.leads)
    return len(spoken) > _PHRASE and not named and tuple(spoken[:-1]) not in lists.definitions


def _without_filler(query: str, turn: _Turn) -> str:
    """The query without "ok, thanks, and" at its beginning, where something is left."""
    if turn.language in _UNSPACED:
        return query
    at = 0
    fillers = followups()[turn.language].fillers
    while at < len(turn.words):
        match = next((f for f in fillers if tuple(turn.words[at : at + len(f)]) == f), None)
        end = at + len(match) if match else at
        if match is None or end >= len(turn.words) or turn.words[end] not in ",.!;:…":
            break
        at = end
        while at < len(turn.words) and turn.words[at] in ",.!;:…":
            at += 1
    if not 0 < at < len(turn.words):
        return query
    return _after(query, turn.pieces[:at]) or query


def _subject(turn: _Turn, before: Sequence[_Turn]) -> str | None:
    """What the conversation is about: a name or phrase of the newest turn that stands alone, or of any that has one."""
    said = {_stem(word, turn.language) for word in turn.words}
    counts: Counter[str] = Counter()
    for other in before:
        counts.update({_stem(word, other.language) for word in other.words})
    alone = [other for other in reversed(before) if not other.depends]
    for other in [*alone, *(other for other in reversed(before) if other.depends)]:
        found = [s for s in _subjects(other) if not s.stems & said and s.words <= _LONG]
        if found:
            return max(found, key=lambda s: (s.name, sum(counts[one] for one in s.stems) / len(s.stems))).text
    return None


def _subjects(turn: _Turn) -> Iterator[_Subject]:
    """The names and phrases of a turn: runs of words that say something."""
    if turn.language in _UNSPACED:
        for run in _runs_unspaced(turn.pieces[0], turn.language):
            yield _Subject(run, frozenset({run}), name=False, words=1)
        return
    capitals = any(piece[0].islower() for piece in turn.pieces)
    begun: int | None = None
    for place in range(len(turn.words) + 1):
        inside = place < len(turn.words) and (
            _says(turn.words[place], turn.language) or (place > 0 and capitals and _is_in_name(turn, place))
        )
        if inside and begun is None:
            begun = place
        elif not inside and begun is not None:
            pieces = turn.pieces[begun:place]
            name = capitals and any(piece[0].isupper() for piece in (pieces if begun else pieces[1:]))
            stems = frozenset(_stem(word, turn.language) for word in turn.words[begun:place])
            if any(piece[0].isalpha() for piece in pieces):
                yield _Subject(" ".join(pieces), stems, name, len(pieces))
            begun = None


def _is_in_name(turn: _Turn, place: int) -> bool:
    """Whether a word that says little by itself may be a part of a name, as "Big" in "Big Ben"."""
    piece, after = turn.pieces[place], turn.pieces[place + 1 : place + 2]
    shaped = piece[0].isupper() and piece.isalpha() and any(other[0].isupper() for other in after)
    return shaped and turn.words[place] in followups()[turn.language].light


def _runs_unspaced(text: str, language: str) -> Iterator[str]:
    lists = followups()[language]
    for word in sorted(lists.light | lists.pronouns, key=len, reverse=True):
        text = text.replace(word, " ")
    yield from (run for run in _RUN[language].findall(text) if len(run) > 1)


def _with(query: str, turn: _Turn, subject: str) -> str:
    """The query with the subject in the place of its pronoun, or at its end."""
    lists = followups()[turn.language]
    if turn.pronoun is not None and turn.language in _UNSPACED:
        word = next(w for w in sorted(lists.pronouns, key=len, reverse=True) if query.startswith(w, turn.pronoun))
        return query[: turn.pronoun] + subject + query[turn.pronoun + len(word) :]
    if turn.pronoun is not None and turn.words[turn.pronoun] not in lists.possessives:
        place = 0
        for piece in turn.pieces[: turn.pronoun]:
            place = query.index(piece, place) + len(piece)
        place = query.index(turn.pieces[turn.pronoun], place)
        return query[:place] + subject + query[place + len(turn.pieces[turn.pronoun]) :]
    return f"{query.rstrip(_END)} {subject}"


def _after(query: str, pieces: Sequence[str]) -> str:
    """The query behind its first pieces."""
    place = 0
    for piece in pieces:
        place = query.index(piece, place) + len(piece)
    return query[place:].strip()


def _stem(word: str, language: str) -> str:
    return bare(stem(word, language))


@cache
def followups() -> Mapping[str, Followups]:
    """The words of `text/data/follow_ups.json`, by language: a blocking read, once in a process."""
    data: dict[str, dict[str, list[str]]] = load("follow_ups")

    def phrases(words: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        return tuple(sorted((tuple(bare(word).split()) for word in words), key=len, reverse=True))

    return {
        code: Followups(
            pronouns=frozenset(map(bare, lists["pronouns"])),
            possessives=frozenset(map(bare, lists["possessives"])),
            leads=phrases(lists["leads"]),
            fillers=phrases(lists["fillers"]),
            dummies=frozenset(map(bare, lists["dummies"])),
            demonstratives=frozenset(map(bare, lists["demonstratives"])),
            markers=frozenset(map(bare, lists["markers"])),
            definitions=frozenset(phrases(lists["definitions"])),
            light=frozenset(map(bare, lists["light"])),
        )
        for code, lists in data.items()
    }
