"""Signs in a message that it needs the web, from word lists in `keywords.json` (seed `000`, strategy 1).

The lists are keyed by language, and all of them apply to every message. A sign has a kind and a weight; a
negative weight speaks against a search. Phrases match as whole words, in any case and script, outside code
and addresses.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..state.search_records import Sign

_DATA: Final = Path(__file__).with_name("keywords.json")
_NOISE: Final = (
    re.compile(r"(?s)```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`"),  # code
    re.compile(r"(?:https?://|www\.)\S+|[\w.+-]{1,64}@[\w-]{1,63}\.\w+"),  # addresses
    re.compile(r"(?m)^\[\w+\]$"),  # marks of images and other blocks
)
_YEAR: Final = re.compile(r"20\d\d")
_ENDS_OF_CLAUSE: Final = frozenset(".!?;:,()[]-–—…。！？；：，、")
_HEAD: Final = 400
_LONG: Final = 3 * _HEAD
_OWN_MATERIAL: Final = 600
_OWN_MATERIAL_WEIGHT: Final = -1.0
_RECENT_YEAR_WEIGHT: Final = 1.0


class Reading(NamedTuple):
    """What the word lists say about a message."""

    signs: tuple[Sign, ...]
    explicit: str | None
    """The words by which the user asks for a search."""
    opt_out: str | None
    """The words by which the user forbids one."""
    trivial: bool
    """Nothing but greetings, thanks and the like, or too short to mean more."""

    @property
    def score(self) -> float:
        """The summed weight of the signs."""
        return round(sum(sign.weight for sign in self.signs), 3)


class _Words(NamedTuple):
    """A text as words and punctuation marks, and which of them begin a clause."""

    words: list[str]
    clause_starts: set[int]


class _Phrases:
    """Phrases that are looked up in a list of words; the longest at a place wins."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = {tuple(_words(phrase).words): phrase for phrase in phrases}
        self._lengths = sorted({len(words) for words in self._phrases}, reverse=True)

    def at(self, words: list[str], start: int) -> tuple[str, int] | None:
        """The longest phrase that begins here, and the place after it."""
        for length in self._lengths:
            phrase = self._phrases.get(tuple(words[start : start + length]))
            if phrase is not None:
                return phrase, start + length
        return None

    def all_in(self, words: list[str]) -> Iterator[tuple[str, int, int]]:
        """Phrases in the order of the text that do not overlap, each with where it begins and ends."""
        place = 0
        while place < len(words):
            if found := self.at(words, place):
                phrase, end = found
                yield phrase, place, end
                place = end
            else:
                place += 1


class _Lists(NamedTuple):
    signs: _Phrases
    weights: dict[str, tuple[str, float]]
    explicit: _Phrases
    explicit_first: _Phrases
    leads: _Phrases
    opt_out: _Phrases
    chat: _Phrases


def preload() -> None:
    """Read the word lists: a blocking read of a file, once in a process."""
    _lists()
    _word_pattern()


def read(text: str, year: int) -> Reading:
    """What the word lists find in a message that was written in this year.

    Of a long message only the beginning and the end are searched for signs: what stands between them is
    quoted material, as a rule.
    """
    lists = _lists()
    parsed = _words(_prose(text))
    return Reading(
        signs=tuple(_signs(parsed.words, lists, year, len(text))),
        explicit=_explicit(parsed, lists),
        opt_out=next((phrase for phrase, _, _ in lists.opt_out.all_in(parsed.words)), None),
        trivial=_is_trivial(parsed.words, lists),
    )


def _prose(text: str) -> str:
    for noise in _NOISE:
        text = noise.sub(" \n ", text)
    return f"{text[:_HEAD]} \n {text[-_HEAD:]}" if len(text) > _LONG else text


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold().replace("’", "'")


def _words(text: str) -> _Words:
    words: list[str] = []
    starts = {0}
    for piece in _word_pattern().findall(_fold(text)):
        if piece != "\n":
            words.append(piece)
        if piece == "\n" or piece in _ENDS_OF_CLAUSE:
            starts.add(len(words))
    return _Words(words, starts)


def _signs(words: list[str], lists: _Lists, year: int, length: int) -> Iterator[Sign]:
    """Every phrase of the lists in the text, each once; recent years; and the length of a long text."""
    seen: set[str] = set()
    for phrase, _, _ in lists.signs.all_in(words):
        if phrase not in seen:
            seen.add(phrase)
            kind, weight = lists.weights[phrase]
            yield Sign(kind=kind, found=phrase, weight=weight)
    for word in words:
        if _YEAR.fullmatch(word) and int(word) >= year - 1 and word not in seen:
            seen.add(word)
            yield Sign(kind="temporal", found=word, weight=_RECENT_YEAR_WEIGHT)
    if length > _OWN_MATERIAL:
        yield Sign(kind="own_material", found=f"{length} characters", weight=_OWN_MATERIAL_WEIGHT)


def _explicit(parsed: _Words, lists: _Lists) -> str | None:
    """The words that ask for a search: at the start of a clause, or after a lead such as "can you"."""
    if found := lists.explicit_first.at(parsed.words, 0):
        return found[0]
    starts = set(parsed.clause_starts)
    for place in range(len(parsed.words)):
        if lead := lists.leads.at(parsed.words, place):
            starts.add(lead[1])
    for place in sorted(starts):
        if found := lists.explicit.at(parsed.words, place):
            return found[0]
    return None


def _is_trivial(words: list[str], lists: _Lists) -> bool:
    covered = {place for _, start, end in lists.chat.all_in(words) for place in range(start, end)}
    rest = [word for place, word in enumerate(words) if place not in covered and word[0].isalnum()]
    spoken = [word for word in words if word[0].isalnum()]
    bare = len(spoken) == 1 and "?" not in words and next(lists.signs.all_in(words), None) is None
    return not rest or bare


@cache
def _lists() -> _Lists:
    languages: list[dict[str, Any]] = list(json.loads(_DATA.read_text(encoding="utf-8")).values())

    def phrases(*names: str) -> _Phrases:
        return _Phrases(phrase for entry in languages for name in names for phrase in entry[name])

    weights = {
        phrase: (str(group["kind"]), float(group["weight"]))
        for entry in languages
        for group in entry["signs"]
        for phrase in group["phrases"]
    }
    return _Lists(
        signs=_Phrases(weights),
        weights=weights,
        explicit=phrases("explicit"),
        explicit_first=phrases("explicit_first"),
        leads=phrases("explicit_leads"),
        opt_out=phrases("opt_out"),
        chat=phrases("chat", "filler"),
    )


@cache
def _word_pattern() -> re.Pattern[str]:
    r"""One word, punctuation mark or line break.

    `\w` knows no combining marks, so "क" would match inside "का"; and scripts without spaces between words
    (Thai, Lao, Burmese, Khmer, kana, Han) have no word boundaries at all, so that there each letter is a word.
    """
    marks = "".join(
        char
        for char in map(chr, range(0x300, min(0x10000, sys.maxunicode)))
        if unicodedata.category(char).startswith("M")
    )
    unspaced = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    letter = f"(?:(?![{unspaced}])[\\w{marks}])"
    return re.compile(rf"[{unspaced}]|{letter}+(?:'{letter}+)*|\n|[^\s\w]")
