"""Signs in a message that it needs the web (seed `000`, strategy 1, "Keyword-Based Trigger").

The word lists hold the seed's three kinds (temporal, information requests, specific domains) and what speaks against
a search; beside them stand signs that need no language: years, addresses, tickers, version numbers. Signs for a
search count where the message asks for something: in a question, in a request, or in a bare phrase ("weather
Oslo"). What is only stated ("I went out today") needs no search.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from ...state.search_records import Sign
from ...text.sentences import CODE
from ...text.shorten import middle_out
from ...text.words import is_word
from .wordlists import Spoken, WordLists, word_lists
from .words import Sentence, Words, split

_NOISE: Final = (
    CODE,
    re.compile(r"(?:https?://|www\.)\S+|[\w.+-]{1,64}@[\w-]{1,63}\.\w+"),  # addresses
    re.compile(r"(?m)^\[\w+\]$"),  # marks of images and other blocks
)
_ADDRESS: Final = re.compile(r"(?:https?://|www\.)[^\s<>\"'`]{3,200}")
_TICKER: Final = re.compile(
    r"(?<![\w$])\$[A-Z]{1,5}(?:\.[A-Z]{1,2})?(?![\w$])|\b(?:NASDAQ|NYSE|LSE|XETRA|TSE|HKEX): ?[A-Z0-9.]{1,6}\b"
)
_VERSION: Final = re.compile(r"(?<![\w.])(?:v\d+(?:\.\d+)*|\d+\.\d+\.\d+)(?![\w.]*\d)", re.IGNORECASE)
_NAMED_VERSION: Final = re.compile(
    r"(?<!\w)[A-Z][A-Za-z]+[- ]v?\d+(?:\.\d+)?(?![\w.,:%]*\d|[:%])(?!\s*(?:AM|PM|am|pm|o'clock)\b)"
)
NAME: Final = re.compile(r"(?<![.!?…:,\n\"“(] )(?<!^)(?<![\w'’])[A-ZÀ-ÖØ-ÞĀ-ŽА-ЯЁ][\w'’.-]*[a-zß-ÿа-яё0-9A-Z][\w-]*")
_YEAR: Final = re.compile(r"(?<!\d)20\d\d(?!\d)")
TALK: Final = frozenset({"first", "past", "reaction"})
"""Groups by which a user tells of himself."""
_VERB_LAST: Final = frozenset({"tr", "kk", "ja", "hi"})
_COMMAS: Final = frozenset(",，、،")
_HEAD: Final = 400
_LONG: Final = 3 * _HEAD
_OWN_MATERIAL: Final = 600
_BRIEF: Final = 10
_LANGUAGE_FREE: Final = {
    "year": ("temporal", 1.0),
    "address": ("domain", 1.0),
    "ticker": ("domain", 1.0),
    "version": ("domain", 0.5),
    "name": ("domain", 0.25),
    "length": ("own_material", -1.0),
    "told": ("statement", -0.5),
}
_ANYWHERE: Final = frozenset({"conversation", "given_text", "self_contained", "task", "assistant", "past"})
"""Groups that speak against a search wherever in the message they stand."""
_ONCE: Final = frozenset({"first", "second", "past", "reaction", "ask", "name", "version"})
"""Groups of which one phrase says as much as several."""

Manner = Literal["asks", "brief", "tells"]


class Part(NamedTuple):
    """A sentence: whether it asks, and the signs in it as group and text."""

    manner: Manner
    signs: tuple[tuple[str, str], ...]
    grammar: frozenset[str] = frozenset()
    """What makes it a question or a request: groups of the word lists, "mark", and "inside" for "... did what?"."""


class KeywordReading(NamedTuple):
    """What the word lists say about a message."""

    signs: tuple[Sign, ...]
    explicit: str | None
    """The words by which the user asks for a search."""
    opt_out: str | None
    """The words by which the user forbids one."""
    trivial: bool
    """Nothing but greetings, thanks and the like."""
    bare: bool
    """One word without a sign, which is too little to search the web for."""
    parts: tuple[Part, ...] = ()
    languages: frozenset[str] = frozenset()
    """The languages that the message seems to be in."""

    @property
    def score(self) -> float:
        """The summed weight of the signs."""
        return round(sum(sign.weight for sign in self.signs), 3)


@lru_cache(maxsize=16)  # a turn asks several times
def read_question(text: str, year: int) -> KeywordReading:
    """What the word lists find in a message that was written in this year.

    Of a long message only the beginning and the end are searched for signs: what stands between them is
    quoted material, as a rule.
    """
    lists = word_lists()
    prose = _prose(text)
    parsed = split(prose)
    spoken = lists.spoken(prose)
    parts = tuple(_parts(parsed, prose, _shortened(text), lists=lists, spoken=spoken, year=year))
    return KeywordReading(
        signs=tuple(_signs(parts, lists, len(text))),
        explicit=_explicit(parsed, lists),
        opt_out=next((found[0].phrase.text for found in lists.opt_out.all_in(parsed.words)), None),
        trivial=_is_trivial(parsed, lists),
        bare=_is_bare(parsed, lists, spoken.languages),
        parts=parts,
        languages=spoken.main,
    )


def _prose(text: str) -> str:
    for noise in _NOISE:
        text = noise.sub(" \n ", text)
    return _shortened(text)


def _shortened(text: str) -> str:
    return middle_out(text, 2 * _HEAD, " \n ") if len(text) > _LONG else text


def _parts(parsed: Words, prose: str, raw: str, *, lists: WordLists, spoken: Spoken, year: int) -> Iterator[Part]:
    """The sentences with their signs. Signs that are found by their form belong to the last sentence that asks."""
    sentences = parsed.sentences or [Sentence((), asked=False, exclaimed=False)]
    read_ones = [_read_sentence(sentence, lists, spoken, year) for sentence in sentences]
    manners = [_manner(sentence, found, len(sentences)) for sentence, found in zip(sentences, read_ones, strict=True)]
    index = max((n for n, manner in enumerate(manners) if manner != "tells"), default=len(manners) - 1)
    for n, (manner, (signs, grammar)) in enumerate(zip(manners, read_ones, strict=True)):
        forms = list(_by_form(prose, raw, spoken.main)) if n == index else []
        yield Part(manner, (*signs, *forms), grammar)


class _SentenceFound(NamedTuple):
    signs: tuple[tuple[str, str], ...]
    grammar: frozenset[str]


def _read_sentence(sentence: Sentence, lists: WordLists, spoken: Spoken, year: int) -> _SentenceFound:
    words = sentence.words
    grammar, covered = _grammar(words, lists, spoken.main)
    signs: dict[tuple[str, str], None] = {}
    groups: set[str] = set()
    for found in lists.signs.all_in(words, spoken.languages):
        for phrase, begin, end in found:
            person = phrase.group in {"first", "second"}
            masked = person and (covered.issuperset(range(begin, end)) or phrase.language not in spoken.main)
            if not masked and not (phrase.group in _ONCE and phrase.group in groups):
                groups.add(phrase.group)
                signs[phrase.group, phrase.text] = None
    for word in words:
        if (match := _YEAR.search(word)) and len(word) < 12:
            signs[_year_group(int(match.group()), year), match.group()] = None
    return _SentenceFound(tuple(signs), frozenset(grammar | ({"mark"} if sentence.asked else set())))


def _grammar(words: Sequence[str], lists: WordLists, languages: frozenset[str]) -> tuple[set[str], set[int]]:
    """What makes the sentence a question or a request, and the words that belong to that ("tell me")."""
    grammar: set[str] = set()
    start = _after_leads(words, lists, languages)
    covered = set(range(start))
    starts = [start, *(n + 1 for n, word in enumerate(words) if word in _COMMAS)]
    for name in ("question", "request"):
        for index in starts:
            found = lists.grammar[name].at(words, index, languages) if index < len(words) else []
            # After a comma only what cannot be a relative clause: "..., is there traffic".
            if found and (index == start or found[0].end > index + 1):
                grammar.add(name)
                covered |= set(range(index, found[0].end + (name == "request")))
    for name in ("question_anywhere", "request_anywhere"):
        for found in lists.grammar[name].all_in(words, languages):
            grammar.add(name)
            covered |= set(range(found[0].start, found[0].end))
            if name == "request_anywhere":
                covered |= set(range(found[0].end))
    if not grammar & {"question", "request"}:
        inside = any(lists.grammar["question"].at(words, index, languages) for index in range(start + 1, len(words)))
        grammar |= {"inside"} if inside else set()
    return grammar, covered


def _year_group(found: int, year: int) -> str:
    """This and the next year are signs; last year and the years to come are weak ones; others date a question."""
    if year <= found <= year + 1:
        return "year"
    return "near" if year - 1 <= found <= year + 10 else "old_year"


def _after_leads(words: Sequence[str], lists: WordLists, languages: frozenset[str]) -> int:
    """Where the sentence begins after "please", "can you", "and" and the like."""
    start = 0
    while start < len(words):
        if not is_word(words[start]):
            start += 1
        elif lead := lists.grammar["leads"].at(tuple(words), start, languages):
            start = lead[0].end
        else:
            break
    return start


def _manner(sentence: Sentence, found: _SentenceFound, sentences: int) -> Manner:
    groups = {group for group, _ in found.signs}
    if sentence.asked or "request" in found.grammar or "request_anywhere" in found.grammar:
        return "asks"
    if found.grammar & {"question", "question_anywhere"} and not sentence.exclaimed:
        return "asks"
    words = sum(is_word(word) for word in sentence.words)
    talks = groups & {*TALK, "second"}
    if sentences == 1 and words <= _BRIEF and not talks and not sentence.exclaimed:
        return "brief"
    return "tells"


def _by_form(prose: str, raw: str, languages: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Signs by the form of a word, whatever the language; at most one of each."""
    for group, pattern, text in (
        ("address", _ADDRESS, raw),
        ("ticker", _TICKER, prose),
        ("version", _VERSION, prose),
        ("version", _NAMED_VERSION, prose),
        ("name", NAME, prose),
    ):
        if group == "name" and ("de" in languages or not any(char.islower() for char in prose)):
            continue
        if match := pattern.search(text):
            yield group, match.group()[:80]


def _signs(parts: Sequence[Part], lists: WordLists, length: int) -> Iterator[Sign]:
    """The signs that count: those of the sentence that asks for the web most, and what speaks against it anywhere."""
    weights = {**_LANGUAGE_FREE, **lists.weights}

    def weighed(signs: Iterable[tuple[str, str]]) -> list[Sign]:
        known = [(group, found) for group, found in signs if group in weights]
        return [Sign(kind=weights[group][0], found=found, weight=weights[group][1]) for group, found in known]

    candidates = []
    for part in parts:
        asks = part.manner != "tells"
        own = [s for s in part.signs if asks or s[0] not in weights or weights[s[0]][1] < 0]
        if not any(group == "ask" for group, _ in own):
            own = [sign for sign in own if sign[0] != "name"]
        candidates.append((asks, sum(sign.weight for sign in weighed(own)), own))
    best = max(candidates, key=lambda candidate: candidate[:2])
    told = [part for part in parts if part.manner == "tells" and any(group in TALK for group, _ in part.signs)]
    if told:
        best[2].append(("told", "the user tells something"))
    against = {sign: None for part in parts for sign in part.signs if sign[0] in _ANYWHERE}
    yield from weighed({**dict.fromkeys(best[2]), **against})
    if length > _OWN_MATERIAL:
        kind, weight = weights["length"]
        yield Sign(kind=kind, found=f"{length} characters", weight=weight)


def _explicit(parsed: Words, lists: WordLists) -> str | None:
    """The words that ask for a search: at the start of a clause, or after a lead such as "can you".

    Where the verb comes last, they ask at the end of a clause too.
    """
    words = parsed.words
    if words and (found := lists.explicit_first.at(words, 0)) and not lists.explicit.at(words, 0):
        return found[0].phrase.text
    starts = set(parsed.clause_starts)
    for lead in lists.grammar["leads"].all_in(words):
        starts.add(lead[0].end)
    for index in sorted(starts):
        found = lists.explicit.at(words, index) if index < len(words) else []
        if found and found[0].phrase.group == "explicit":
            return found[0].phrase.text
    for found in lists.explicit.all_in(words, _VERB_LAST):
        if found[0].phrase.group == "explicit" and (
            found[0].end == len(words) or found[0].end in parsed.clause_starts or not is_word(words[found[0].end])
        ):
            return found[0].phrase.text
    return None


def _is_trivial(parsed: Words, lists: WordLists) -> bool:
    covered = {index for found in lists.chat.all_in(parsed.words) for index in range(found[0].start, found[0].end)}
    return all(index in covered for index, word in enumerate(parsed.words) if is_word(word))


def _is_bare(parsed: Words, lists: WordLists, languages: frozenset[str]) -> bool:
    is_one = sum(map(is_word, parsed.words)) == 1
    return is_one and not parsed.asked and next(lists.signs.all_in(parsed.words, languages), None) is None
