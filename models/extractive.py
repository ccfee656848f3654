"""The extractive core: sentences, words, and choosing among them. No language model, no word lists to install.

It answers for the offline model and writes summaries where no capable model is set, in any language.
"""

from __future__ import annotations

import heapq
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log
from typing import Final

from .tokens import ELLIPSIS, estimate_tokens, truncate_to_tokens

_FENCE: Final = re.compile(r"(```.*?(?:```|\Z))", re.DOTALL)
_LINE_END: Final = re.compile(r"[\n\r\x0b\x0c\x85\u2028\u2029]+")
_CLOSERS: Final = r"[\"'”’»)\]）」』】]*"
_SENTENCE_END: Final = re.compile(rf"(?<![.!?…])[.!?…]++{_CLOSERS}(?=\s)|[。！？｡؟۔।॥։።។။]+{_CLOSERS}")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:dr|mr|mrs|ms|prof|st|sr|jr|vs|no|nr|inc|ltd|approx|fig|cf|bzw|ca|sra?|mme|e\.g|i\.e|u\.s|a\.m|p\.m|z\.b|d\.h)"
    r"|(?:^|[\s(.])[^\W\d_])\.$",
    re.IGNORECASE,
)

_UNSPACED: Final = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af"
)
_MARKS: Final = "".join(
    re.escape(chr(code))
    for code in (*range(0x0300, 0x1100), *range(0x1700, 0x1E00), *range(0xA800, 0xAC00))
    if unicodedata.category(chr(code)).startswith("M")
)
_TOKEN: Final = re.compile(
    rf"\d+(?:[.,:/-]\d+)+|[{_UNSPACED}]+|[^\W_{_UNSPACED}](?:[^\W_{_UNSPACED}]|[{_MARKS}'’](?=\w|[{_MARKS}])|[{_MARKS}])*"
)
_IS_UNSPACED: Final = re.compile(f"[{_UNSPACED}]")

_COMMON: Final = (
    "a an and are as at be been but by can could did do does for from had has have he her him his how i if in into is "
    "it its i'm it's let me my no not of on or our she should so than that that's the their them then there these they "
    "this those to too up us was we were what what's when where which who whom whose why will with would yes you your "
    "about all also am any just like more much ok okay please tell very well hi hello hey thanks thank know remember "
    "de la le les un une et est que qui en el los las una y es der die das und ist ein eine ich du mein meine wie was "
    "wer wo mon ma mes ton mi tu su qué como cómo и в не на я мой моя как что где من في ما هو هل على "
    "我的 你的 他的 她的 什么 怎么 是什 叫什 么名 我们 你们 哪里 多少 です ます した して から 私の 何で すか"
)
_FUNCTION_WORDS: Final = frozenset(_COMMON.split())
_FOLDS: Final = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))
_PIECE_CHARS: Final = 300
_OPENING: Final = 2.0
"""How much more the first turn weighs, as it says what the talk is about; each later one exp(-1/2) of that."""
_SHORTER: Final = 0.75
"""The share of its source that a summary may have."""
_FEW_TOKENS: Final = 12
_MISSES: Final = 50
_CAPITALIZED: Final = re.compile(r"(?<=[\w,;:] )[^\W\d_a-z][\w-]+")


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped, in order; a fenced code block is one, a line break ends one."""
    found: list[str] = []
    for part in _FENCE.split(text):
        if part.startswith("```"):
            found.append(part)
        else:
            found.extend(piece for line in _LINE_END.split(part) for piece in _split_line(line))
    return [stripped for sentence in found if (stripped := sentence.strip())]


def _split_line(line: str) -> Iterator[str]:
    start = 0
    for match in _SENTENCE_END.finditer(line):
        if match[0][0] in ".!?…" and _goes_on(line, match):
            continue
        yield line[start : match.end()]
        start = match.end()
    yield line[start:]


def _goes_on(line: str, end: re.Match[str]) -> bool:
    following = line[end.end() : end.end() + 8].lstrip()[:1]
    if following.islower():
        return end[0][0] in ".…" or end[0][-1] not in "!?"
    before = line[max(0, end.start() - 12) : end.start() + 1]
    return end[0][0] == "." and before[-2:-1].isalpha() and bool(_ABBREVIATION.search(before))


def words(text: str) -> list[str]:
    """The words of a text, casefolded; runs of a script without spaces become pairs of characters."""
    return list(_expand(_tokens(text)))


def content_terms(text: str) -> list[str]:
    """The words of a text without their endings, function words left out."""
    return [term for term in _terms(_tokens(text)) if term not in _FUNCTION_WORDS]


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(unicodedata.normalize("NFKC", text))


def _expand(tokens: Iterable[str]) -> Iterator[str]:
    for token in tokens:
        if len(token) > 1 and _IS_UNSPACED.match(token):
            yield from (token[at : at + 2] for at in range(len(token) - 1))
        else:
            yield token.casefold()


def _terms(tokens: Iterable[str]) -> list[str]:
    return [word if word in _FUNCTION_WORDS else _fold(word) for word in _expand(tokens)]


@lru_cache(maxsize=50_000)
def _fold(word: str) -> str:
    """A word without its commonest endings, so that `dogs` finds `dog` and `собаку` finds `собака`."""
    if not word[0].isalpha():
        return word
    word = word.replace("’", "'").removesuffix("'s").rstrip("'")
    if not word.isascii():
        word = word.removeprefix("ال") if len(word) > 4 else word
        return word[:5] if word[:1] > "\u024f" or len(word) > 8 else word
    for ending, instead in _FOLDS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: len(word) - len(ending)] + instead
            break
    return word.removesuffix("e") if len(word) > 3 else word


def _rarity(documents: Sequence[Iterable[str]]) -> dict[str, float]:
    """The weight of each term: rare terms more, function words and what stands nearly everywhere next to nothing."""
    count = len(documents)
    frequency = Counter(term for terms in documents for term in dict.fromkeys(terms))
    weights: dict[str, float] = {}
    for term, seen in frequency.items():
        weight = log(1 + (count - seen + 0.5) / (seen + 0.5)) + 0.1
        is_common = count >= 8 and seen > 0.7 * count
        weights[term] = 0.0 if term in _FUNCTION_WORDS else 0.02 if is_common else weight
    return weights


def best_sentences(question: str, texts: Sequence[str], limit: int) -> list[str]:
    """The sentences of the texts that share the rarest words with the question, best first.

    A sentence that only repeats the question is left out, another question counts less than a statement; of equal ones
    the later stands first. Empty when nothing matches.
    """
    unique = list(dict.fromkeys(sentence for text in texts for sentence in sentences(text)))
    asked = dict.fromkeys(_terms(_tokens(question)))
    if limit <= 0 or not asked or not unique:
        return []
    documents = [_terms(_tokens(sentence)) for sentence in unique]
    rarity = _rarity(documents)
    scored: list[tuple[float, int]] = []
    for index, terms in enumerate(documents):
        present = dict.fromkeys(terms)
        score = sum(rarity[term] for term in asked if term in present)
        if score <= 0 or present.keys() == asked.keys():
            continue
        score /= 1 + 0.02 * len(terms)
        scored.append((score * 0.4 if _is_question(unique[index]) else score, index))
    return [unique[index] for _, index in heapq.nlargest(limit, scored)]


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"'”’»)」』 ").endswith(("?", "？", "؟"))


@dataclass(slots=True)
class _Unit:
    """A sentence, or a piece of a long one, with what its choice depends on."""

    turn: int
    text: str
    terms: dict[str, None]
    bonus: float


def summarize(turns: Sequence[tuple[str, str]], max_tokens: int) -> str:
    """An extractive summary: the most telling sentences that do not repeat each other, in their order.

    Args:
        turns: speaker and text of each turn.
        max_tokens: the limit by `estimate_tokens`, the speakers' names included; below 1 counts as 1.

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
    summary = _rendered(_choose(_units(turns), limit, turns), turns)
    summary = truncate_to_tokens(summary, limit)
    return summary if 0 < len(summary) < len(source) else truncate_to_tokens(source, limit)


def _units(turns: Sequence[tuple[str, str]]) -> list[_Unit]:
    """The sentences worth a choice: each text once, with the weight of its place and kind; no speaker: a summary."""
    units: list[_Unit] = []
    seen: set[str] = set()
    for turn, (speaker, text) in enumerate(turns):
        opening = 1 + _OPENING * exp(-turn / 2) if speaker else 1.0
        for place, piece in enumerate(_pieces(text)):
            if piece in seen:
                continue
            seen.add(piece)
            terms = dict.fromkeys(_terms(_tokens(piece)))
            bonus = opening * (1.15 if place == 0 else 1.0) * (0.3 if piece.startswith("```") else 1.0)
            if terms:
                units.append(_Unit(turn, piece, terms, bonus * (0.9 if _is_question(piece) else 1.0)))
    return units


def _pieces(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        flat = " ".join(sentence.split())
        start = 0
        while len(flat) - start > 2 * _PIECE_CHARS:
            space = flat.rfind(" ", start + _PIECE_CHARS // 2, start + _PIECE_CHARS)
            end = space if space > 0 else start + _PIECE_CHARS
            yield flat[start:end].lstrip() + ELLIPSIS
            start = end
        yield flat[start:].lstrip()


def _weights(units: Sequence[_Unit], turns: Sequence[tuple[str, str]]) -> dict[str, float]:
    """The weight of each term: what the turns come back to, without being everywhere; names and numbers more."""
    seen = Counter(term for unit in units for term in unit.terms)
    rarity = _rarity([unit.terms for unit in units])
    names = {_fold(name.casefold()) for unit in units for name in _CAPITALIZED.findall(unit.text) if name[0].isupper()}
    names -= {_fold(word) for speaker, _ in turns for word in words(speaker)}
    return {
        term: rarity[term] * (1 + log(count)) * (1.6 if term in names or term[0].isdigit() else 1.0)
        for term, count in seen.items()
    }


def _choose(units: Sequence[_Unit], limit: int, turns: Sequence[tuple[str, str]]) -> list[_Unit]:
    """Greedily the unit that adds most for its length, until the limit; terms already covered count little.

    A unit whose words other units say too is nearer to what the talk is about: it counts up to twice.
    """
    weights = _weights(units, turns)
    seen = Counter(term for unit in units for term in unit.terms)
    central = [_central(unit, weights, seen) for unit in units]
    covered: set[str] = set()

    def gain(index: int) -> float:
        unit = units[index]
        value = sum(weights[term] * (0.15 if term in covered else 1.0) for term in unit.terms)
        return value * unit.bonus * central[index] / float((len(unit.terms) + 5) ** 0.7)

    queue = [(-gain(index), index) for index in range(len(units))]
    heapq.heapify(queue)
    chosen: list[int] = []
    left, misses = limit, 0
    while queue and misses < _MISSES:
        index = heapq.heappop(queue)[1]
        unit = units[index]
        loss = -gain(index)
        # Covering terms only lowers a gain, so the queue holds upper bounds: compare again with the next one.
        if queue and loss > queue[0][0]:
            heapq.heappush(queue, (loss, index))
            continue
        cost = estimate_tokens(f" {turns[unit.turn][0]}: {unit.text}")
        if chosen and cost > left:
            misses += 1
            continue
        chosen.append(index)
        covered.update(unit.terms)
        left -= cost
    return [units[index] for index in sorted(chosen)]


def _central(unit: _Unit, weights: dict[str, float], seen: Counter[str]) -> float:
    whole = sum(weights[term] for term in unit.terms)
    return 1 + sum(weights[term] for term in unit.terms if seen[term] > 1) / whole if whole else 1.0


def _rendered(units: Sequence[_Unit], turns: Sequence[tuple[str, str]]) -> str:
    parts: list[str] = []
    speaker = ""
    for unit in units:
        name = turns[unit.turn][0]
        parts.append(unit.text if name == speaker else f"{name}: {unit.text}")
        speaker = name
    return " ".join(parts)
