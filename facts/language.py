r"""How each language says something about oneself: word lists and frames from `patterns/*.json`, compiled.

A list is one string, its parts divided by a comma and a space; a part is a regular expression for text in lower case
and single spaces. In a frame `@` is the value (`~` as little of it as fits), `#` a number as the value, `{they}` and
`{jobs}` other lists. A language that is written with spaces matches whole words.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from .words import fold

_DATA: Final = Path(__file__).with_name("patterns")
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*'?")
_SCRIPTS: Final = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("zh", re.compile("[\u3400-\u9fff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
)
_NEVER: Final = re.compile(r"(?!)")
_SAMPLE: Final = 2000
_EVIDENCE: Final = 0.15
_TELLING: Final = ("common", "first", "my", "lead", "adverbs", "people", "negation", "jobs", "question_start")
_PLAIN: Final = re.compile(r"[\w' ]+")


@dataclass(frozen=True)
class Frame:
    """One way to say an attribute: its name (`{}` is filled with a group of the pattern), and the pattern."""

    attribute: str
    pattern: re.Pattern[str]


@dataclass(frozen=True)
class Language:
    """One language, ready to match folded text. A pattern of an absent list matches nothing."""

    code: str
    spaced: bool
    verb_last: bool
    habit: bool
    words: frozenset[str]
    letters: frozenset[str]
    stop: frozenset[str]
    expand: Mapping[str, str]
    pronoun: str
    """What stands before a predicate whose subject, the user, was named before; empty where verbs tell it."""
    lists: Mapping[str, re.Pattern[str]]
    predicates: Mapping[str, re.Pattern[str]]
    frames: tuple[Frame, ...]
    their_frames: tuple[Frame, ...]
    attribute_words: Mapping[str, re.Pattern[str]]

    def __getitem__(self, name: str) -> re.Pattern[str]:
        return self.lists.get(name, _NEVER)

    def normalized(self, text: str) -> str:
        """The text folded, with its contractions written out, as the patterns expect it."""
        folded = fold(text)
        if not self.spaced:
            return re.sub(r"\s+", "", folded).translate({ord(old): new for old, new in self.expand.items()})
        for short, long in self.expand.items():
            if short.endswith("'"):
                folded = re.sub(rf"(?<!\w){re.escape(short)}", long, folded)
        return re.sub(r"\s+", " ", _WORD.sub(lambda match: self.expand.get(match[0], match[0]), folded)).strip()


def language_of(text: str) -> Language | None:
    """The language of a text that we know, by its script or its commonest words, or None."""
    sample = fold(text[:_SAMPLE])
    known = languages()
    for code, script in _SCRIPTS:
        if code in known and len(script.findall(sample)) * 4 > sum(map(str.isalpha, sample)) * (
            0.3 if code == "ja" else 1
        ):
            return known[code]
    weights = _weights()
    whole = [word for word in _WORD.findall(sample) if not word.isdecimal()]
    found = [part for word in whole for part in ([word] if word in weights else word.split("'")) if part]
    seen = {code: sum(weights[word] for word in found if word in one.words) for code, one in known.items()}
    for code, one in known.items():
        seen[code] += sum(char in one.letters for char in text[:_SAMPLE].lower())
    best = max(seen, key=lambda code: (seen[code], code == "en"))
    return known[best] if sum(word in known[best].words for word in found) >= _EVIDENCE * len(found) else None


@cache
def _weights() -> dict[str, float]:
    """How much a word tells about its language: less, the more languages have it."""
    count = Counter(word for language in languages().values() for word in language.words)
    return {word: 1 / number**2 for word, number in count.items()}


@cache
def languages() -> dict[str, Language]:
    """All languages by their codes (a blocking read of files, once in a process)."""
    files = sorted(_DATA.glob("*.json"))
    return {file.stem: _compiled(file.stem, json.loads(file.read_text(encoding="utf-8"))) for file in files}


def _parts(text: str) -> list[str]:
    return [part for part in text.split(", ") if part]


def _source(part: str) -> str:
    """The regular expression folded as the text is; escapes and names of groups stay as they are."""
    pieces = re.split(r"(\\.|\(\?P<\w+>)", part)
    return "".join(piece if place % 2 else fold(piece) for place, piece in enumerate(pieces))


def _any(parts: Iterable[str], *, spaced: bool) -> re.Pattern[str]:
    joined = "|".join(sorted((_source(part) for part in parts), key=len, reverse=True))
    if not joined:
        return _NEVER
    return re.compile(rf"(?<![\w])(?:{joined})(?!\w)" if spaced else f"(?:{joined})")


def _frames(data: Mapping[str, str], lists: Mapping[str, str], *, spaced: bool) -> tuple[Frame, ...]:
    they = "|".join(map(_source, _parts(lists.get("people", ""))))
    mine = "|".join(map(_source, _parts(lists.get("owner", lists.get("my", "")))))
    gap, space = (r"(?:\w+ )?", " ") if spaced else ("", "")
    noun_first = lists.get("noun_first") == "yes"
    if not mine:
        space = ""  # the noun itself says whose it is
    them = rf"(?P<they>(?:{they})){space}(?:{mine})" if noun_first else rf"(?:{mine}){space}(?P<they>{gap}(?:{they}))"
    jobs = "|".join(map(_source, _parts(lists.get("jobs", ""))))
    frames = []
    for attribute, text in data.items():
        for part in _parts(text):
            source = _source(part).replace("{jobs}", f"(?P<job>{jobs})").replace("{they}", them)
            source = source.replace("@", r"(?P<value>.+)").replace("~", r"(?P<value>.+?)")
            source = source.replace("#", r"(?P<number>\d{1,3})")
            frames.append(Frame(attribute, re.compile(rf"(?<!\w){source}" if spaced else source)))
    return tuple(frames)


def _compiled(code: str, data: dict[str, Any]) -> Language:
    spaced = bool(data.get("spaced", True))
    lists = {name: value for name, value in data.items() if isinstance(value, str)}
    pronoun = lists.pop("pronoun", "")
    expand = dict(part.split("=", 1) for part in _parts(fold(lists.pop("expand", ""))))
    stop = {
        word
        for name in ("common", "first", "my", "lead", "adverbs", "negation")
        for word in _words(lists.get(name, ""))
    }
    return Language(
        code=code,
        spaced=spaced,
        verb_last=bool(data.get("verb_last", False)),
        habit=bool(data.get("habit", False)),
        pronoun=pronoun + " " if pronoun and spaced else pronoun,
        words=frozenset({*_vocabulary(lists, data["predicates"]), *expand}) if "common" in lists else frozenset(),
        letters=frozenset(lists.pop("letters", "")),
        stop=frozenset(stop),
        expand=expand,
        lists={name: _any(_parts(text), spaced=spaced) for name, text in lists.items()},
        predicates={kind: _any(_parts(text), spaced=spaced) for kind, text in data["predicates"].items()},
        frames=_frames(data.get("frames", {}), lists, spaced=spaced),
        their_frames=_frames(data.get("their_frames", {}), lists, spaced=spaced),
        attribute_words={
            name: _any(_parts(text), spaced=spaced) for name, text in data.get("attribute_words", {}).items()
        },
    )


def _vocabulary(lists: Mapping[str, str], predicates: Mapping[str, str]) -> frozenset[str]:
    """The plain words of the lists: what the language is known by."""
    texts = [lists.get(name, "") for name in _TELLING]
    parts = [part for text in (*texts, *predicates.values()) for part in _parts(fold(text))]
    return frozenset(word for part in parts if _PLAIN.fullmatch(part) for word in part.split(" "))


def _words(text: str) -> list[str]:
    return [word for part in _parts(text) for word in _WORD.findall(fold(part))]
