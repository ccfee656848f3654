"""The word lists of `text/data/search/`: one file a language, and the weights of their groups in `sign_weights.json`.

A phrase is words between spaces; `*` at its beginning or end stands for any further letters of a word. Lists apply
where their language is spoken: words that several languages write alike mean different things in them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from ...text.data import load_folder
from ...text.language import OF_SCRIPT, likelihoods
from ...text.scripts import script_of
from ...text.words import single_words
from .words import lines

_WEIGHTS: Final = Path(__file__).with_name("sign_weights.json")
_PREFIX: Final = 2
"""Letters by which phrases that end in `*` are looked up."""

_GRAMMAR: Final = ("leads", "question", "question_anywhere", "request", "request_anywhere")
_CLOSE: Final = 0.1
"""Share of the likeliest language's probability from which another one counts as spoken too."""


class Phrase(NamedTuple):
    """A phrase of a list: its language and group, as it is written, and as folded words."""

    language: str
    group: str
    text: str
    words: tuple[str, ...]
    any_end: bool
    any_beginning: bool

    def at(self, words: Sequence[str], start: int) -> bool:
        """Whether the phrase stands here."""
        end = start + len(self.words)
        if not (self.any_end or self.any_beginning):
            return tuple(words[start:end]) == self.words
        if len(words) < end or tuple(words[start : end - 1]) != self.words[:-1]:
            return False
        last, mine = words[end - 1], self.words[-1]
        if self.any_beginning:
            return mine in last if self.any_end else last.endswith(mine)
        return last.startswith(mine)


class PhraseMatch(NamedTuple):
    """A phrase in a list of words: from `start` to before `end`."""

    phrase: Phrase
    start: int
    end: int


class Phrases:
    """Phrases that are looked up in a list of words."""

    def __init__(self, phrases: Iterable[Phrase]) -> None:
        self._exact: dict[str, list[Phrase]] = defaultdict(list)
        self._prefix: dict[str, list[Phrase]] = defaultdict(list)
        self._inside: list[Phrase] = []
        for phrase in phrases:
            first = phrase.words[0]
            if phrase.any_beginning:
                self._inside.append(phrase)
            elif phrase.any_end and len(phrase.words) == 1:
                self._prefix[first[:_PREFIX]].append(phrase)
            else:
                self._exact[first].append(phrase)

    def at(self, words: Sequence[str], start: int, languages: frozenset[str] | None = None) -> list[PhraseMatch]:
        """The longest phrase that begins here, once for each group that holds it."""
        word = words[start]
        candidates = [*self._exact.get(word, ()), *self._prefix.get(word[:_PREFIX], ())]
        if self._inside and script_of(word) == "arabic":
            candidates += self._inside
        fits = [p for p in candidates if (languages is None or p.language in languages) and p.at(words, start)]
        if not fits:
            return []
        longest = max(len(phrase.words) for phrase in fits)
        groups = {p.group: p for p in reversed(fits) if len(p.words) == longest}
        return [PhraseMatch(phrase, start, start + longest) for phrase in groups.values()]

    def all_in(self, words: Sequence[str], languages: frozenset[str] | None = None) -> Iterator[list[PhraseMatch]]:
        """Phrases in the order of the text that do not overlap; those at one place together."""
        index = 0
        while index < len(words):
            if found := self.at(words, index, languages):
                yield found
                index = found[0].end
            else:
                index += 1


class Spoken(NamedTuple):
    """The languages of a text, and those of the script that most of it is in."""

    languages: frozenset[str]
    main: frozenset[str]


class WordLists(NamedTuple):
    """All lists, by what they are for."""

    signs: Phrases
    weights: Mapping[str, tuple[str, float]]
    """The kind and weight of a group of signs."""
    grammar: Mapping[str, Phrases]
    explicit: Phrases
    explicit_first: Phrases
    opt_out: Phrases
    chat: Phrases
    languages: frozenset[str]
    """Those that there are lists of."""

    def spoken(self, text: str) -> Spoken:
        """The languages that a text seems to be in: in each script the likeliest."""
        by_script: dict[str, list[str]] = defaultdict(list)
        for word in single_words(text):
            if (script := script_of(word)) in OF_SCRIPT:
                by_script[script].append(word)
        if "kana" in by_script:
            by_script["kana"] += by_script.pop("han", [])
        likely = {script: self._likely(" ".join(words)) for script, words in by_script.items()}
        most = max(by_script, key=lambda script: len(by_script[script]), default="other")
        return Spoken(frozenset().union(*likely.values()), likely.get(most, frozenset()))

    def _likely(self, text: str) -> frozenset[str]:
        found = {code: likelihood for code, likelihood in likelihoods(text).items() if code in self.languages}
        return frozenset(code for code, likelihood in found.items() if likelihood >= _CLOSE * max(found.values()))


@cache
def word_lists() -> WordLists:
    """The lists, read from disk once in a process (blocking).

    Raises:
        OSError: a list cannot be read.
    """
    weights = {
        group: (str(entry["kind"]), float(entry["weight"]))
        for group, entry in json.loads(_WEIGHTS.read_text(encoding="utf-8")).items()
    }
    lists = load_folder("search")
    phrases = [phrase for code, groups in lists.items() for phrase in _read(code, groups)]

    def group(*names: str) -> Phrases:
        return Phrases(phrase for phrase in phrases if phrase.group in names)

    return WordLists(
        signs=group(*weights),
        weights=weights,
        grammar={name: group(name) for name in _GRAMMAR},
        explicit=group("explicit", "not_explicit"),
        explicit_first=group("explicit_first"),
        opt_out=group("opt_out"),
        chat=group("chat", "filler"),
        languages=frozenset(lists),
    )


def _read(code: str, groups: Mapping[str, Sequence[str]]) -> Iterator[Phrase]:
    named = [(group, text) for group, texts in groups.items() for text in texts]
    for (group, text), words in zip(named, lines("\n".join(text.replace("*", "") for _, text in named)), strict=True):
        yield Phrase(code, group, text, words, text.endswith("*"), text.startswith("*"))
