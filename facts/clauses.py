"""A message as clauses: what is not the user's own word is left out, the rest is cut where a new thought begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ..text.sentences import CODE, sentence_spans
from ..text.words import QUESTION_MARKS, WORD
from .language import Language

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
    r"\s*(?:[,;:，；：、،؛()（）]|\s[-–—]+\s|—|\.{2,}|…|(?<=\s)\.(?=\s)|(?<=\w\w\w)\.(?=\s|$)|!|[。！])\s*"
)
_LONGEST: Final = 600
_AHEAD: Final = 8
_AFTER: Final = 3
_PAIR: Final = 2
"""Words before "and I" that only name somebody else: "my friend and I"."""
_ITEM: Final = 3
_END: Final = " .!~…。！"
_SPEAKER: Final = re.compile(r"(?m)^\s*[\w .-]{1,30}:\s.*$")


class Clause(NamedTuple):
    """A part of a sentence: as it was said, and as patterns read it. `asks`: it is, or may be, a question."""

    text: str
    plain: str
    asks: bool
    joined: bool
    """Whether it goes on with the subject of the clause before it."""
    sentence: int


def clauses(text: str, language: Language) -> list[Clause]:
    """The clauses of what the user says in their own name, in their order; `text` is not longer than is read."""
    found: list[Clause] = []
    for number, (said, seen) in enumerate(_own_sentences(text, language)):
        pieces = list(_pieces(seen, language))
        asked = bool(_QUESTION.search(seen[-3:]))
        for place, (start, end, joined) in enumerate(pieces):
            last = place == len(pieces) - 1
            plain = language.normalized(seen[start:end]).rstrip(_END)
            asks = (
                bool(language["question_start"].match(plain)) or (asked and last) or _ends(language, plain, last=last)
            )
            shown = _shown(said[start:end], language)
            if shown and any(map(str.isalnum, plain)):
                found.append(Clause(shown, plain, asks, joined, number))
    return found


def _shown(text: str, language: Language) -> str:
    """The words of a clause without the mark at its end and the conjunction at its start."""
    text = text.strip(" \t\n,;:.，。、-–—")
    word, _, rest = text.partition(" ")
    return rest.strip() if rest and language["join"].fullmatch(language.normalized(word)) else text


def _ends(language: Language, plain: str, *, last: bool) -> bool:
    return last and any(
        match.end() == len(plain.rstrip(QUESTION_MARKS + _END)) for match in language["question_end"].finditer(plain)
    )


def _own_sentences(text: str, language: Language) -> Iterator[tuple[str, str]]:
    """Sentences as they were said, and with what is quoted in them masked; none after a request to work on a text."""
    blotted = masked(text, language)
    if language["joke"].search(language.normalized(blotted)) or len(_SPEAKER.findall(blotted)) > 1:
        return
    for start, end in sentence_spans(blotted):
        plain = language.normalized(blotted[start:end])
        if language["material"].search(plain):
            return
        if not language["fiction"].search(plain):
            yield text[start:end], blotted[start:end]


def masked(text: str, language: Language) -> str:
    """The text with code, links, quoted lines and quoted speech blotted out, as long as before."""
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


def _pieces(sentence: str, language: Language) -> Iterator[tuple[int, int, bool]]:
    """Where the clauses of a sentence begin and end."""
    start = 0
    for match in [*_BREAK.finditer(sentence), None]:
        end = match.start() if match else len(sentence)
        if _is_number(sentence, match) or (match is not None and end - start < 1):
            if match is not None and end == start:
                start = match.end()
            continue
        if (
            match is not None
            and match[0].strip() in {",", "，", "、"}
            and _lists_on(sentence, start, match.end(), language)
        ):
            continue
        if match is None or end > start:
            yield from _inner(sentence, start, end, language)
            start = match.end() if match else end


def _of_user(language: Language, plain: str) -> bool:
    while lead := language["lead"].match(plain):
        if language["first"].match(plain) or lead.end() == len(plain):
            break
        plain = plain[lead.end() :].lstrip()
    return language["first"].match(plain) is not None


def _is_number(sentence: str, match: re.Match[str] | None) -> bool:
    """Whether a mark stands inside a number, as in 1,000."""
    return (
        match is not None
        and len(match[0]) == 1
        and sentence[match.start() - 1 : match.start()].isdigit()
        and sentence[match.end() : match.end() + 1].isdigit()
    )


def _lists_on(sentence: str, start: int, at: int, language: Language) -> bool:
    """Whether a comma only divides the members of a list: "I like to cook, run, read poetry"."""
    if not language.spaced:
        return False
    following = _BREAK.search(sentence, at)
    item = language.normalized(sentence[at : following.start() if following else len(sentence)])
    joined = language["join"].match(item)
    if (
        joined
        and joined.end() < len(item)
        and not any(p.match(item[joined.end() :].strip()) for p in language.predicates.values())
    ):
        item = item[joined.end() :].strip()
    words = item.split(" ")
    new = any(
        language[name].match(item) for name in ("first", "my", "lead", "question_start", "split_before", "others")
    )
    own = new or bool(language["first_verbs"].match(item)) or language["join"].match(item) is not None
    return bool(item) and len(words) <= _ITEM and not own and bool(_QUESTION.search(item)) is False


def _inner(sentence: str, start: int, end: int, language: Language) -> Iterator[tuple[int, int, bool]]:
    """Cut again where the user speaks of themselves once more without a mark, or goes on with another verb."""
    if not language.spaced or end - start > _LONGEST:
        yield start, end, False
        return
    words = list(WORD.finditer(sentence[start:end]))
    plain = [language.normalized(word[0]) for word in words]
    begin, joined = start, False
    for place in range(1, len(words)):
        before = plain[place - 1].split(" ")[-1]
        rest = " ".join(plain[place : place + _AHEAD])
        new = language["split_before"].match(rest) and not language["split_after_not"].fullmatch(before)
        joins = language["join"].fullmatch(before)
        goes_on = joins and (language["first"].match(rest) or any(p.match(rest) for p in language.predicates.values()))
        own = (
            new
            and place >= _AFTER
            and (joined or _of_user(language, language.normalized(sentence[begin : start + words[place].start()])))
        )
        if own or goes_on:
            cut = start + (words[place - 1].start() if joins else words[place].start())
            if len(sentence[begin:cut].split()) > (_PAIR if goes_on and language["first"].match(rest) else 0):
                yield begin, cut, joined
                begin = start + words[place].start()
                joined = bool(goes_on) and not language["first"].match(rest)
    yield begin, end, joined
