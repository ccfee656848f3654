"""A message as clauses: what is not the user's own word is left out, the rest is cut where a new thought begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from ..text.sentences import CODE, sentence_spans
from ..text.words import QUESTION_MARKS, WORD
from .language import Language, languages
from .speakers import others_speech

MOST_CHARACTERS: Final = 4_000
"""Characters of a message that are read; what is longer is material, as a rule."""

MASK: Final = "\u2022"
"""Stands for each character that is not the user's own word."""

_MARKUP: Final = re.compile(r"(?s)<(\w+)[^<>]{0,200}>[^<]{0,2000}</\1>|https?://\S+")
_QUOTED_LINE: Final = re.compile(r"(?m)^[ \t]*(?:>|\||[$#%]\s).*$")
_QUOTES: Final = re.compile(
    r"\"[^\"\n]{1,2000}\"|“[^”]{1,2000}”|„[^“”]{1,2000}[“”]|«[^»]{1,2000}»|「[^」]{1,2000}」|『[^』]{1,2000}』"
)
_LONG_QUOTE: Final = 3
_LONG_QUOTE_UNSPACED: Final = 9
_QUESTION: Final = re.compile(f"[{QUESTION_MARKS}]")
_BREAK: Final = re.compile(
    r"(?:(?<!\s)\s+)?(?:[,;:，；：、،؛()（）]|\s[-–—]+\s|—|\.{2,}|…|(?<=\s)\.(?=\s)|(?<=\w\w\w)\.(?=\s|$)|!|[。！])\s*"
)
_LONGEST: Final = 600
_AHEAD: Final = 8
_AFTER: Final = 3
_PAIR: Final = 2
"""Words before "and I" that only name somebody else: "my friend and I"."""
_ITEM: Final = 3
_COMMAS: Final = frozenset({",", "，", "、"})
_NEW_THOUGHT: Final = (
    "first", "my", "lead", "question_start", "split_before", "others", "first_verbs", "join",
)  # fmt: skip
"""Lists with which something begins that is no member of a list."""
_END: Final = " .!~…。！।"
_SPEAKER: Final = re.compile(r"(?m)^\s*[\w .-]{1,30}:\s.*$")


_Piece = tuple[int, int, bool]
"""Where a clause begins and ends in its sentence, and whether it goes on with the subject of the one before."""


class Clause(NamedTuple):
    """A part of a sentence: as it was said, and as patterns read it. `asks`: it is, or may be, a question."""

    text: str
    plain: str
    asks: bool
    joined: bool
    """Whether it goes on with the subject of the clause before it."""
    sentence: int


def clauses(text: str, language: Language) -> Iterator[Clause]:
    """The clauses of what the user says in their own name, in their order; `text` is not longer than is read."""
    for number, (said, seen) in enumerate(_own_sentences(text, language)):
        pieces = _whole_instructions(seen, list(_pieces(seen, language)), language)
        asked = bool(_QUESTION.search(seen[-3:]))
        for start, end, joined in pieces:
            plain = language.in_order(language.normalized(seen[start:end]).rstrip(_END))
            shown = _shown(said[start:end], language)
            if shown and any(map(str.isalnum, plain)):
                asks = (start, end, joined) == pieces[-1] and (asked or _ends_as_question(plain, language))
                asks = asks or (
                    language["question_start"].match(plain) is not None and not language["revoked"].match(plain)
                )
                yield Clause(shown, plain, asks, joined, number)


def _whole_instructions(sentence: str, pieces: list[_Piece], language: Language) -> list[_Piece]:
    """The pieces, a standing instruction with what belongs to it: "Always write dates as month, day, year".

    So does what it is for, before it: "If I ask for recipes, always give me grams".
    """
    found: list[_Piece] = []
    is_open = supposes = False
    for start, end, joined in pieces:
        plain = language.normalized(sentence[start:end])
        stands = language["standing"].match(plain) is not None
        starts = any(language[name].match(plain) for name in ("first", "my", "question_start"))
        if (supposes and stands) or (is_open and not (starts or stands)):
            found[-1] = (found[-1][0], end, found[-1][2])
        else:
            found.append((start, end, joined))
        is_open = stands or (is_open and not starts)
        supposes = language.supposes(plain)
    return found


def _shown(text: str, language: Language) -> str:
    """The words of a clause without the mark at its end and the conjunction at its start."""
    text = text.strip(" \t\n,;:.，。、।-–—")
    word, _, rest = text.partition(" ")
    return rest.strip() if rest and language["join"].fullmatch(language.normalized(word)) else text


def _ends_as_question(plain: str, language: Language) -> bool:
    return language.ending("question_end", plain.rstrip(QUESTION_MARKS + _END)) is not None


def _own_sentences(text: str, language: Language) -> Iterator[tuple[str, str]]:
    """Sentences as they were said, and with what is quoted in them masked; none after a request to work on a text."""
    blotted = masked(text, language)
    whole = language.normalized(blotted)
    if language["joke"].search(whole) or len(_SPEAKER.findall(blotted)) > 1:
        return
    spans = list(sentence_spans(blotted))
    for start, end in spans:
        plain = language.normalized(blotted[start:end]) if len(spans) > 1 else whole
        if language["material"].search(plain):
            return
        if not language["fiction"].search(plain):
            yield text[start:end], blotted[start:end]


def masked(text: str, language: Language) -> str:
    """The text with code, links, quoted lines and what others say blotted out, as long as before."""
    for start, end in others_speech(text, language):
        text = text[:start] + _blotted(text[start:end]) + text[end:]
    for noise in (CODE, _MARKUP, _QUOTED_LINE):
        text = noise.sub(
            lambda match: "\n" + MASK * (len(match[0]) - 2) + "\n" if len(match[0]) > 2 else match[0], text
        )

    def blot(match: re.Match[str]) -> str:
        inner = match[0][1:-1]
        size = len(inner.split()) if language.spaced else len(inner) / _LONG_QUOTE_UNSPACED * _LONG_QUOTE
        speaks = size >= _LONG_QUOTE or language["first"].search(language.normalized(inner))
        return f"{match[0][0]}{MASK * len(inner)}{match[0][-1]}" if speaks else match[0]

    return _QUOTES.sub(blot, text)


def _blotted(text: str) -> str:
    """As many marks, with the line breaks in their places."""
    return "".join(char if char == "\n" else MASK for char in text)


def _pieces(sentence: str, language: Language) -> Iterator[_Piece]:
    """Where the clauses of a sentence begin and end, and whether they go on with the subject of the one before."""
    start = 0
    for mark in _BREAK.finditer(sentence):
        if mark.start() == start:
            start = mark.end()
        elif not (
            _is_in_number(sentence, mark)
            or _lists_on(sentence, mark, language)
            or language["from_now"].fullmatch(language.normalized(sentence[start : mark.start()]))
        ):
            yield from _inner(sentence, start, mark.start(), language)
            start = mark.end()
    yield from _inner(sentence, start, len(sentence), language)


def _is_in_number(sentence: str, mark: re.Match[str]) -> bool:
    """Whether a mark stands inside a number, as in 1,000."""
    before, after = sentence[mark.start() - 1 : mark.start()], sentence[mark.end() : mark.end() + 1]
    return len(mark[0]) == 1 and before.isdigit() and after.isdigit()


def _lists_on(sentence: str, mark: re.Match[str], language: Language) -> bool:
    """Whether a mark is a comma that only divides the members of a list: "I like to cook, run, read poetry"."""
    if mark[0].strip() not in _COMMAS or not language.spaced:
        return False
    following = _BREAK.search(sentence, mark.end())
    item = language.normalized(sentence[mark.end() : following.start() if following else None])
    if conjunction := language["join"].match(item):
        last = item[conjunction.end() :].strip()
        item = last if last and not language.says(last) else item
    is_item = item and len(item.split(" ")) <= _ITEM and not _QUESTION.search(item)
    return bool(is_item) and not any(language[name].match(item) for name in _NEW_THOUGHT)


def _inner(sentence: str, start: int, end: int, language: Language) -> Iterator[_Piece]:
    """Cut again where the user speaks of themselves once more without a mark, or goes on with another verb."""
    words = list(WORD.finditer(sentence, start, end)) if language.spaced and end - start <= _LONGEST else []
    plain = [_normalized(word[0], language.code) for word in words]
    joined = False
    for at in range(1, len(words)):
        before = plain[at - 1].rpartition(" ")[2]
        joins, of_user, goes_on = language["join"].fullmatch(before), False, False
        if joins:
            rest = " ".join(plain[at : at + _AHEAD])
            of_user = language["first"].match(rest) is not None
            goes_on = of_user or language.says(rest)
        if goes_on or (
            at >= _AFTER
            and language["split_before"].match(plain[at])
            and not language["split_after_not"].fullmatch(before)
            and (joined or _is_of_user(sentence[start : words[at].start()], language))
        ):
            cut = words[at - 1 if joins else at].start()
            if len(sentence[start:cut].split()) > (_PAIR if goes_on and of_user else 0):
                yield start, cut, joined
                start, joined = words[at].start(), goes_on and not of_user
    yield start, end, joined


@lru_cache(20_000)
def _normalized(word: str, language: str) -> str:
    return languages()[language].normalized(word)


def _is_of_user(text: str, language: Language) -> bool:
    return language["first"].match(language.without_lead(language.normalized(text))) is not None
