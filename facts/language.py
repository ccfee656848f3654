r"""How each language says something about oneself: word lists and frames from `text/data/facts/*.json`.

Each pattern is compiled where it is first asked for: all of them take longer than LangGraph takes to be imported.

A list is one string, its parts divided by a comma and a space; a part is a regular expression for text in lower case
and single spaces. In a frame `@` is the value (`~` as little of it as fits), `#` a number as the value, `{they}` and
`{jobs}` other lists. A language that is written with spaces matches whole words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import regex

from ..text.data import load_folder
from ..text.fold import fold
from ..text.language import language_of
from ..text.stop_words import stop_words
from ..text.words import WORD, words

_WORD: Final = regex.compile(rf"{WORD.pattern}'?")
_COMMA: Final = re.compile(r"(?:(?<!\s)\s+)?[,，،、]\s*")
_NEVER: Final = re.compile(r"(?!)")
_UNSURE: Final = regex.compile(
    r"(?:(\((?:[^()\\]|\\.|(?1))*\))|\[[^\]]*\]|\{\w+\}|\\.|[@~#.^$]|.(?=[?*+{]))(?:[?*+]|\{\d[\d,]*\})*\??"
)
"""What of a frame may be there or not, or may be this or that: groups, sets, places, and what may be left out."""

_MARKS: Final = r"\w\u0900-\u0903\u093a-\u094f\u0962\u0963"
"""What belongs to a word: the vowel signs of Devanagari are no letters to `re`."""

BEFORE_WORD: Final = f"(?<![{_MARKS}])"
AFTER_WORD: Final = f"(?![{_MARKS}])"
"""What stands around a whole word."""


class _Patterns(Mapping[str, re.Pattern[str]]):
    """The pattern of each list, compiled when it is first asked for.

    Args:
        lists: by name, the parts divided by a comma and a space.
        spaced: whether a pattern matches whole words alone.
    """

    def __init__(self, lists: Mapping[str, str], *, spaced: bool) -> None:
        self._lists, self._spaced = lists, spaced
        self._compiled: dict[str, re.Pattern[str]] = {}

    def __getitem__(self, name: str) -> re.Pattern[str]:
        if name not in self._lists:
            raise KeyError(name)
        return self.pattern(name)

    def pattern(self, name: str) -> re.Pattern[str]:
        """That of a list; one that matches nothing where there is no such list."""
        if (found := self._compiled.get(name)) is None:
            found = self._compiled[name] = _any(_parts(self._lists.get(name, "")), spaced=self._spaced)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._lists)

    def __len__(self) -> int:
        return len(self._lists)


@dataclass(frozen=True)
class Frame:
    """One way to say an attribute: its name (`{}` is filled with a group of the pattern), and the pattern.

    `fixed` is in each text that it matches: a quick look before the pattern.
    """

    attribute: str
    pattern: re.Pattern[str]
    fixed: str


@dataclass(frozen=True)
class Language:
    """One language, ready to match folded text. A pattern of an absent list matches nothing."""

    code: str
    spaced: bool
    verb_last: bool
    habit: bool
    stop: frozenset[str]
    """Words that tell no fact: the stop words of the language and its words for oneself, how often, and not."""
    expand: Mapping[str, str]
    pronoun: str
    """What stands before a predicate whose subject, the user, was named before; empty where verbs tell it."""
    lists: _Patterns
    predicates: _Patterns
    attribute_words: _Patterns
    data: Mapping[str, Any]
    """The file it is made from."""

    def __getitem__(self, name: str) -> re.Pattern[str]:
        return self.lists.pattern(name)

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The ways to say something of oneself."""
        return _frames(self.data.get("frames", {}), self.data, spaced=self.spaced)

    @cached_property
    def their_frames(self) -> tuple[Frame, ...]:
        """The ways to say something of people of one's own."""
        return _frames(self.data.get("their_frames", {}), self.data, spaced=self.spaced)

    def supposes(self, plain: str) -> bool:
        """Whether normalized text begins with "if", "when" or the like."""
        return any(self[name].match(plain) is not None for name in ("unreal", "subordinate"))

    def says(self, plain: str) -> bool:
        """Whether normalized text begins with a predicate of a fact."""
        return any(pattern.match(plain) for pattern in self.predicates.values())

    def ending(self, name: str, plain: str) -> re.Match[str] | None:
        """Where something of a list ends normalized text."""
        return next((match for match in self[name].finditer(plain) if match.end() == len(plain)), None)

    def without_lead(self, plain: str) -> str:
        """Normalized text from where it names the user, or what it is about: without "well", "today" before it."""
        while lead := self["lead"].match(plain):
            rest = plain[lead.end() :].lstrip(" ,")
            if not rest or rest == plain or self["first"].match(plain) or self["first_verbs"].match(plain):
                break
            plain = rest
        return plain

    def in_order(self, plain: str) -> str:
        """Normalized text in the order that the patterns expect.

        The user stands before the verb ("seit 2010 spiele ich" as "ich spiele seit 2010"), and what to do always before
        what it is for ("if I ask for recipes, always give grams").
        """
        first, *then = _COMMA.split(plain, maxsplit=1)
        if then and self["standing"].match(then[0]) and self.supposes(first):
            return f"{then[0]} {first}"
        if (match := self["turned"].match(plain)) is None:
            return plain
        before, rest = plain[: match.start("verb")], plain[match.end() :]
        return f"{match['first']} {match['verb']} {before.rstrip()}{rest}"

    def normalized(self, text: str) -> str:
        """The text folded, with its contractions written out, as the patterns expect it."""
        folded = fold(text)
        if not self.spaced:
            return re.sub(r"\s+", "", folded).translate({ord(old): new for old, new in self.expand.items()})
        for short, long in self.expand.items() if "'" in folded else ():
            if short.endswith("'"):
                folded = re.sub(rf"(?<!\w){re.escape(short)}", long, folded)
        if "'" in folded or not self.expand.keys().isdisjoint(words(folded)):
            folded = _WORD.sub(lambda match: self.expand.get(match[0], match[0]), folded)
        return " ".join(folded.split())


def language_in(text: str) -> Language | None:
    """How the language of a text says something about oneself; None where it is none that we know, or does not tell."""
    known = languages()
    return known.get(language_of(text, known.keys()) or "")


@cache
def languages() -> dict[str, Language]:
    """All languages by their codes (a blocking read of files, once in a process)."""
    return {code: _compiled(code, data) for code, data in load_folder("facts").items()}


def _parts(text: str) -> list[str]:
    return [part for part in text.split(", ") if part]


def folded_source(part: str) -> str:
    """The regular expression folded as the text is; escapes and names of groups stay as they are."""
    pieces = re.split(r"(\\.|\(\?P<\w+>)", part)
    return "".join(piece if index % 2 else fold(piece) for index, piece in enumerate(pieces))


def _any(parts: Iterable[str], *, spaced: bool) -> re.Pattern[str]:
    joined = "|".join(sorted((folded_source(part) for part in parts), key=len, reverse=True))
    if not joined:
        return _NEVER
    return re.compile(f"{BEFORE_WORD}(?:{joined}){AFTER_WORD}" if spaced else f"(?:{joined})")


def _frames(data: Mapping[str, str], lists: Mapping[str, Any], *, spaced: bool) -> tuple[Frame, ...]:
    they = "|".join(map(folded_source, _parts(lists.get("people", ""))))
    mine = "|".join(map(folded_source, _parts(lists.get("owner", lists.get("my", "")))))
    gap, space = (r"(?:\w+ )?", " ") if spaced else ("", "")
    noun_first = lists.get("noun_first") == "yes"
    if not mine:
        space = ""  # the noun itself says whose it is
    them = rf"(?P<they>(?:{they})){space}(?:{mine})" if noun_first else rf"(?:{mine}){space}(?P<they>{gap}(?:{they}))"
    jobs = "|".join(map(folded_source, _parts(lists.get("jobs", ""))))
    frames = []
    for attribute, text in data.items():
        for part in _parts(text):
            plain = folded_source(part)
            source = plain.replace("{jobs}", f"(?P<job>{jobs})").replace("{they}", them)
            source = source.replace("@", r"(?P<value>.+)").replace("~", r"(?P<value>.+?)")
            source = source.replace("#", r"(?P<number>\d{1,3})")
            pattern = re.compile(f"{BEFORE_WORD}{source}" if spaced else source)
            frames.append(Frame(attribute, pattern, _fixed(plain)))
    return tuple(frames)


def _fixed(source: str) -> str:
    """The longest text that is in all that a frame matches; empty where it has alternatives outside of brackets."""
    sure = _UNSURE.sub("\0", source)
    return "" if "|" in sure else max(sure.split("\0"), key=len)


def _compiled(code: str, data: dict[str, Any]) -> Language:
    spaced = bool(data.get("spaced", True))
    lists = {name: value for name, value in data.items() if isinstance(value, str)}
    pronoun = lists.pop("pronoun", "")
    expand = dict(part.split("=", 1) for part in _parts(fold(lists.pop("expand", ""))))
    stop = {word for name in ("first", "my", "lead", "adverbs", "negation") for word in _words(lists.get(name, ""))}
    return Language(
        code=code,
        spaced=spaced,
        verb_last=bool(data.get("verb_last", False)),
        habit=bool(data.get("habit", False)),
        pronoun=pronoun + " " if pronoun and spaced else pronoun,
        stop=frozenset(stop | stop_words(code)),
        expand=expand,
        lists=_Patterns(lists, spaced=spaced),
        predicates=_Patterns(data["predicates"], spaced=spaced),
        attribute_words=_Patterns(data.get("attribute_words", {}), spaced=spaced),
        data=data,
    )


def _words(text: str) -> list[str]:
    return [word for part in _parts(text) for word in _WORD.findall(fold(part))]
