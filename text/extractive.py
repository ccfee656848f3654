"""The extractive core: choosing among the sentences of texts. No language model.

It answers for the offline model and writes summaries where no capable model is set, in any language.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log
from typing import Final

import numpy as np

from .bm25 import idf
from .data import load
from .fold import fold
from .language import language_of
from .sentences import sentences
from .shorten import ELLIPSIS, truncate_to_tokens
from .stop_words import stop_words
from .terms import search_terms, terms
from .tokens import estimate_tokens
from .words import is_question, words

_PIECE_CHARS: Final = 300
# Fitted on DialogSum, SAMSum and QMSum (`bench/compression.py`), as are the numbers in `_units` and `_choose`.
_OPENING: Final = 2.0
"""How much more the first turn weighs, as it says what the talk is about; each later one exp(-1/2) of that."""
_COVERED: Final = 0.35
"""What a term counts that the summary has already."""
_SHORTER: Final = 0.75
"""The share of its source that a summary may have."""
_FEW_TOKENS: Final = 12
_MISSES: Final = 50
_OVER: Final = 0.5
"""The share of its last sentence by which a turn may go over its room."""
_CAPTION: Final = 0.15
_ITEM: Final = 0.3
_REPLY: Final = 0.5
"""What an assistant's sentence counts beside the user's: what is to be remembered is mostly the user's own."""
_CHEER: Final = 0.3
_FEW_WORDS: Final = 4
_SPEAKER: Final = re.compile(r"([^\s:：][^\s:：.!?]{0,30}(?: [^\s:：.!?]{1,20})?): ")
"""Who said what follows, in a summary."""
_NEXT_SPEAKER: Final = re.compile(
    r" (?=(?:user|assistant|tool): )|(?<=[.!?…\"”»)\]]) (?=[^\W\d_A-Z][^\s:：.!?]{0,30}: )"
)
"""Where a summary goes on with what another one said, whose name begins no sentence by itself."""
_LISTED: Final = re.compile(r"(?:[-*•]|\d+[.)])\s|\*\*")
"""How an item of a list begins."""
_ROW: Final = re.compile(r"#{1,6}\s|\|.*\|")
"""A heading, or a row of a table: nothing is told by it alone."""
_QUOTED: Final = re.compile('[«“„「『][^«»“”„「」『』]{1,4000}[»”“」』]|"[^"\n]{1,4000}"')
_CAPITALIZED: Final = re.compile(r"(?<=[\w,;:] )[^\W\d_a-z][\w-]+")


def _rarity(documents: Sequence[Iterable[str]]) -> dict[str, float]:
    """The weight of each term: rare terms more, what stands nearly everywhere next to nothing."""
    count = len(documents)
    frequency = Counter(term for document in documents for term in dict.fromkeys(document))
    rare = idf(count, np.array(list(frequency.values()), dtype=float)) + 0.1
    return {
        term: 0.02 if count >= 8 and seen > 0.7 * count else float(weight)
        for (term, seen), weight in zip(frequency.items(), rare, strict=True)
    }


def best_sentences(question: str, texts: Sequence[str], limit: int) -> list[str]:
    """The sentences of the texts that share the rarest words with the question, best first.

    A sentence that only repeats the question is left out, another question counts less than a statement; of equal ones
    the later stands first. Empty when nothing matches.
    """
    unique = list(dict.fromkeys(sentence for text in texts for sentence in sentences(text)))
    asked = dict.fromkeys(search_terms(question))
    if limit <= 0 or not asked or not unique:
        return []
    said = _plain(question)
    documents = [search_terms(sentence) for sentence in unique]
    rarity = _rarity(documents)
    scored: list[tuple[float, int]] = []
    for index, document in enumerate(documents):
        present = dict.fromkeys(document)
        score = sum(rarity[term] for term in asked if term in present)
        plain = _plain(unique[index])
        if score <= 0 or plain == said:
            continue
        score /= 1 + 0.02 * len(plain)
        scored.append((score * 0.4 if is_question(unique[index]) else score, index))
    return [unique[index] for _, index in heapq.nlargest(limit, scored)]


def _plain(text: str) -> frozenset[str]:
    return frozenset(words(fold(text)))


@dataclass(slots=True)
class _Unit:
    """A sentence, or a piece of a long one, with what its choice depends on."""

    turn: int
    speaker: str
    text: str
    terms: dict[str, None]
    size: int
    """Different words, stop words included."""
    bonus: float


def extract_summary(turns: Sequence[tuple[str, str]], max_tokens: int, covers: Sequence[int] = ()) -> str:
    """An extractive summary: the most telling sentences that do not repeat each other, in their order.

    Args:
        turns: speaker and text of each turn.
        max_tokens: the limit by `estimate_tokens`, the speakers' names included; below 1 counts as 1.
        covers: how many messages each turn stands for, where these are summaries: each has as much of the room, so
            that the whole span is covered, and not its end.

    Returns:
        Text like `user: ... assistant: ...`, shorter than its source unless that is a few words; empty only if
        the source has nothing but white space.
    """
    source = " ".join(joined for _, text in turns if (joined := " ".join(text.split())))
    size = estimate_tokens(source)
    if size <= min(max_tokens, _FEW_TOKENS):
        return source
    limit = max(1, min(max_tokens, int(size * _SHORTER)))
    if limit < _FEW_TOKENS:
        turns = [("", text) for _, text in turns]
    language = language_of(source)
    summary = _rendered(_choose(_units(turns, language), _room(turns, limit, covers), language))
    summary = truncate_to_tokens(summary, limit)
    return summary if 0 < len(summary) < len(source) else truncate_to_tokens(source, limit)


class _Room:
    """The tokens that a summary has, and each turn of it where their parts of the span are known."""

    def __init__(self, limit: int, shares: Sequence[float]) -> None:
        self._left, self._shares = limit, [share * limit for share in shares]

    def takes(self, turn: int, cost: int, *, first: bool) -> bool:
        """Whether a unit of this turn has room; then it is taken. The first one always has."""
        if not first and (cost > self._left or (self._shares and cost > self._shares[turn] + _OVER * cost)):
            return False
        self._left -= cost
        if self._shares:
            self._shares[turn] -= cost
        return True


def _room(turns: Sequence[tuple[str, str]], limit: int, covers: Sequence[int]) -> _Room:
    is_shared = len(covers) == len(turns) > 1 and max(covers) > 1
    return _Room(limit, [count / sum(covers) for count in covers] if is_shared else ())


def _units(turns: Sequence[tuple[str, str]], language: str | None) -> list[_Unit]:
    """The sentences worth a choice: each text once, with the weight of its place and kind; no speaker: a summary."""
    units: list[_Unit] = []
    seen: set[str] = set()
    stop = _contracted(language)
    for turn, (speaker, text) in enumerate(turns):
        opening = 1 + _OPENING * exp(-turn / 2) if speaker else 1.0
        for position, (name, piece) in enumerate(_said(speaker, text, language)):
            if piece in seen:
                continue
            seen.add(piece)
            found = dict.fromkeys(terms(piece, language, stop=stop))
            if found and any(map(str.isalpha, piece)) and not _ROW.match(piece):
                size = len(set(terms(piece, language, keep_stop_words=True)))
                bonus = opening * (1.15 if position == 0 else 1.0) * _worth(piece, len(found), is_told=not speaker)
                bonus *= _REPLY if name == "assistant" else 1.0
                units.append(_Unit(turn, name, piece, found, size, bonus))
    return units


def _said(speaker: str, text: str, language: str | None) -> Iterator[tuple[str, str]]:
    """The pieces of a turn, each with who said it: of a summary, the one who is named before it."""
    name = speaker
    for piece in _pieces(text if speaker else _NEXT_SPEAKER.sub("\n", text)):
        told = None if speaker else _SPEAKER.match(piece)
        told = None if told and not stop_words(language).isdisjoint(words(fold(told[1]))) else told
        name = told[1] if told else name
        if rest := piece[told.end() :] if told else piece:
            yield name, rest


def _worth(piece: str, telling: int, *, is_told: bool) -> float:
    """What a piece counts by its kind: code, captions, an item of a list and, once its talk is over, a cheer tell less.

    Args:
        piece: a sentence, or a part of a long one.
        telling: its words that tell something.
        is_told: whether it is from a summary.
    """
    if piece.startswith("```"):
        return 0.3
    if piece[0] in "[(" and piece[-1] in "])":
        return _CAPTION
    if _LISTED.match(piece):
        return _ITEM
    return _CHEER if is_told and piece[-1] in "!！" and telling <= _FEW_WORDS else 1.0


@cache
def _contracted(language: str | None) -> frozenset[str]:
    """What is left of contractions ("we", "ve"), beside the stop words; in a search "couldn't" tells something."""
    return frozenset(load("contractions").get(language or "", "").split())


def _quoted(match: re.Match[str]) -> str:
    """A quotation with its first sentence alone: a later one by itself would be said by who quotes it."""
    first, *rest = sentences(match[0][1:-1]) or [""]
    return f"{match[0][0]}{first.rstrip('.!?。！？')}{ELLIPSIS}{match[0][-1]}" if rest else match[0]


def _pieces(text: str) -> Iterator[str]:
    for sentence in sentences(_QUOTED.sub(_quoted, text)):
        flat = " ".join(sentence.split())
        start = 0
        while len(flat) - start > 2 * _PIECE_CHARS:
            space = flat.rfind(" ", start + _PIECE_CHARS // 2, start + _PIECE_CHARS)
            end = space if space > 0 else start + _PIECE_CHARS
            yield flat[start:end].lstrip() + ELLIPSIS
            start = end
        yield flat[start:].lstrip()


def _weights(units: Sequence[_Unit], language: str | None) -> dict[str, float]:
    """The weight of each term: what the turns come back to, without being everywhere; names and numbers more."""
    seen = Counter(term for unit in units for term in unit.terms)
    rarity = _rarity([unit.terms for unit in units])
    capitals = (name for unit in units for name in _CAPITALIZED.findall(unit.text) if name[0].isupper())
    names = {term for name in capitals for term in terms(name, language)}
    names -= {term for speaker in {unit.speaker for unit in units} for term in terms(speaker, language)}
    return {
        term: rarity[term] * (1 + log(count)) * (1.6 if term in names or term[0].isdigit() else 1.0)
        for term, count in seen.items()
    }


def _choose(units: Sequence[_Unit], room: _Room, language: str | None) -> list[_Unit]:
    """Greedily the unit that adds most for its length, until the limit; terms already covered count little.

    A unit whose words other units say too is nearer to what the talk is about: it counts up to twice.
    """
    weights = _weights(units, language)
    seen = Counter(term for unit in units for term in unit.terms)
    central = [_central(unit, weights, seen) for unit in units]
    covered: set[str] = set()

    def gain(index: int) -> float:
        unit = units[index]
        value = sum(weights[term] * (_COVERED if term in covered else 1.0) for term in unit.terms)
        return value * unit.bonus * central[index] / float((unit.size + 5) ** 0.7)

    queue = [(-gain(index), index) for index in range(len(units))]
    heapq.heapify(queue)
    chosen: list[int] = []
    misses = 0
    while queue and misses < _MISSES:
        index = heapq.heappop(queue)[1]
        unit = units[index]
        loss = -gain(index)
        # Covering terms only lowers a gain, so the queue holds upper bounds: compare again with the next one.
        if queue and loss > queue[0][0]:
            heapq.heappush(queue, (loss, index))
            continue
        cost = estimate_tokens(f" {unit.speaker}: {unit.text}")
        if not room.takes(unit.turn, cost, first=not chosen):
            misses += 1
            continue
        chosen.append(index)
        covered.update(unit.terms)
    return [units[index] for index in sorted(chosen)]


def _central(unit: _Unit, weights: dict[str, float], seen: Counter[str]) -> float:
    whole = sum(weights[term] for term in unit.terms)
    return 1 + sum(weights[term] for term in unit.terms if seen[term] > 1) / whole if whole else 1.0


def _rendered(units: Sequence[_Unit]) -> str:
    parts: list[str] = []
    speaker = ""
    for unit in units:
        if parts and parts[-1][-1].isalnum():
            parts[-1] += "."
        named = unit.speaker and unit.speaker != speaker
        parts.append(f"{unit.speaker}: {unit.text}" if named else unit.text)
        speaker = unit.speaker
    return " ".join(parts)
