"""The times within which a question looks: "between March and May", "before June", "since last summer", "in May"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import regex

from .data import load
from .dates import Days, Period, any_of, folded, month, read, year
from .language import language_of
from .scripts import SPACELESS

_SEASONS: Final = (3, 6, 9, 12)
"""The months in which spring, summer, autumn and winter begin, in the north."""

_WEEK: Final = timedelta(6)
_DAY: Final = timedelta(1)
_NEVER: Final = date(1900, 1, 1)
"""Where a past without a beginning begins."""

_OF: Final[Mapping[str, Callable[[Days, date], Days]]] = MappingProxyType(
    {
        "before": lambda days, _: (_NEVER, days[0] - _DAY),
        "after": lambda days, today: (days[1] + _DAY, today),
        "since": lambda days, today: (days[0], today),
        "in": lambda days, _: days,
    }
)
"""What each group of phrases of `data/bounds.json` means of the days that are named; the first that is there counts."""

_FIRST_MARK: Final = 0xE000
_MARK: Final = "[\ue000-\uf8ff]"
"""What stands in the place of a name while phrases are sought: private characters, one a name."""


class _Name(NamedTuple):
    """A month, a season, a day of a month or a year in a question.

    Attributes:
        first: the number of its first month; 0 for a year.
        months: how many it has.
        day: of the month, or 0.
        year: 0 where none is named.
        is_past: whether "last" stands at it.
        is_sure: whether it cannot be another word: "may" and "fall" alone can.
        part: the week of it that is meant: "begin", "end", or all of it.
    """

    first: int
    months: int
    day: int
    year: int
    is_past: bool
    is_sure: bool
    part: str = ""

    def days(self, until: date) -> Days:
        """Its days, of those of several years the last that have begun then."""
        first, last = self._whole(until)
        return (last - _WEEK if self.part == "end" else first), (first + _WEEK if self.part == "begin" else last)

    def _whole(self, until: date) -> Days:
        if not self.first:
            return year(self.year)
        begins = date(self.year or until.year, self.first, max(1, self.day))
        if not self.year and (begins > until or (self.is_past and begins.replace(day=1) == until.replace(day=1))):
            begins = begins.replace(year=begins.year - 1)
        return (begins, begins) if self.day else (begins, month(begins, self.months - 1)[1])


def bounds(question: str, now: datetime) -> list[Period]:
    """The periods in which a question looks by months, seasons, days of a month or years: those of the past.

    A month without a year is the last one that has begun.

    Args:
        question: any text.
        now: aware; its zone is that of the days meant.
    """
    today, found = now.date(), list[Period]()
    try:
        for first, last in _meant(read(question), today):
            if first <= min(last, today):
                start = datetime.combine(first, time.min, tzinfo=now.tzinfo)
                found.append(Period(start, min(now, datetime.combine(last, time.max, tzinfo=now.tzinfo))))
    except (OverflowError, ValueError):  # no day of the calendar
        pass
    return found


def _meant(text: str, today: date) -> Iterator[Days]:
    names, spoken = list[_Name](), language_of(text)

    def marked(match: Any) -> str:
        if match["season"] and spoken not in (None, *_seasons()[match["season"]]):
            return str(match[0])
        names.append(_read_name(match, today))
        return chr(_FIRST_MARK + len(names) - 1)

    text = _names().sub(marked, regex.sub(_MARK, " ", text))
    if not names:
        return

    def named(match: Any, group: str) -> _Name:
        return names[ord(match[group]) - _FIRST_MARK]

    for part in ("begin", "end"):
        for phrase in _phrases(part, text):
            for match in phrase.finditer(text):
                names[ord(match["a"]) - _FIRST_MARK] = named(match, "a")._replace(part=part, is_sure=True)
            text = phrase.sub(r"\g<a>", text)
    for phrase in _phrases("between", text):
        for match in phrase.finditer(text):
            begin, end = named(match, "a"), named(match, "b")
            last = end.days(today)
            if begin.year and not end.year and end.first:
                last = end._replace(year=begin.year + (end.first < begin.first)).days(today)
            yield begin.days(last[0])[0], last[1]
        text = phrase.sub(" ", text)
    for group, of in _OF.items():
        for phrase in _phrases(group, text):
            for match in phrase.finditer(text):
                yield of(named(match, "a").days(today), today)
            text = phrase.sub(" ", text)
    for left in regex.findall(_MARK, text):
        if (name := names[ord(left) - _FIRST_MARK]).is_sure:
            yield name.days(today)


def _read_name(match: Any, today: date) -> _Name:
    words = _words()
    last_year = any(match["before"] and phrase in match["before"] for phrase in words["last_year"])
    past = bool(match["before"] or match["behind"])
    of_year = int(match["year"] or 0) or (today.year - 1 if last_year else 0)
    day = int(regex.sub(r"\D", "", match["day"] or match["day_behind"] or "0"))
    if match["season"]:
        number = next(iter(_seasons()[match["season"]].values()))
        return _Name(_SEASONS[number], 3, 0, of_year, past, past or bool(of_year))
    if match["month"]:
        sure = past or bool(day or of_year) or match["month"] not in words["verbs"]
        return _Name(_numbers()[match["month"]], 1, day, of_year, past, sure)
    return _Name(0, 12, 0, of_year, past, True)


@cache
def _words() -> Any:
    return folded(load("bounds"))


@cache
def _numbers() -> Mapping[str, int]:
    """The number of a month by each of its forms."""
    months = _words()["months"].values()
    return {form: n for listed in months for n, forms in enumerate(listed, 1) for form in forms.split()}


@cache
def _seasons() -> Mapping[str, Mapping[str, int]]:
    """By each of its forms, the languages in which it is the name of a season, and which one it is there."""
    seasons: dict[str, dict[str, int]] = {}
    for code, listed in _words()["seasons"].items():
        for number, forms in enumerate(listed):
            for form in forms.split():
                seasons.setdefault(form, {})[code] = number
    return seasons


@cache
def _names() -> regex.Pattern[str]:
    """A name, with what tells the day, the year, and that it is past."""
    words = _words()
    of = rf"\s*(?:{any_of(words['of'])})?\s*"
    last = any_of([*words["last"], *words["last_year"]])
    day = r"(?:[12]?\d|3[01])(?:\.|st|nd|rd|th|er|º|°)?"
    number = r"(?:19|20)\d\d"
    return regex.compile(
        rf"{_WITH_AND}(?:(?P<before>{last})\s*)?(?:(?P<year>{number}){of})?(?:(?P<day>{day})(?!\p{{N}}){of})?"
        rf"(?:(?P<month>{any_of(_numbers())})|(?P<season>{any_of(_seasons())})){_END}"
        rf"(?:(?:\s+|(?<=月))(?P<day_behind>{day})(?:日|号)?(?![\p{{N}}:.]))?(?:,?{of}(?P<year>{number})(?!\p{{N}}))?"
        rf"(?:\s+(?P<behind>{last}){_END})?|{_BEGIN}(?P<year>{number})(?!\p{{N}})年?{_END}"
    )


def _phrases(group: str, text: str) -> list[regex.Pattern[str]]:
    """The phrases of a group around names, the longest first; only those that may stand in the text are compiled."""
    return [_phrase(phrase) for phrase, parts in _listed(group) if all(part in text for part in parts)]


@cache
def _listed(group: str) -> list[tuple[str, list[str]]]:
    """The phrases of a group in all languages, and what of each is written there."""
    listed = sorted(
        {phrase for of in _words()[group].values() for phrase in of}, key=lambda phrase: (-len(phrase), phrase)
    )
    return [(phrase, regex.split(r"\s*\{[ab]\}\s*", phrase)) for phrase in listed]


@cache
def _phrase(phrase: str) -> regex.Pattern[str]:
    filler = rf"(?:{any_of(_words()['of'])}\s+|\p{{L}}{{1,4}}')?"
    pattern = regex.escape(phrase, special_only=True)
    for name in "ab":
        pattern = pattern.replace(rf"\{{{name}\}}", f"{filler}(?P<{name}>{_MARK})")
    return regex.compile(_BEGIN + pattern + _END)


_LETTER: Final = rf"(?![{SPACELESS}])[\p{{L}}\p{{M}}\p{{N}}]"
_BEGIN: Final = f"(?<!{_LETTER})"
_END: Final = f"(?!{_LETTER})"
_WITH_AND: Final = f"(?:{_BEGIN}|(?<={_BEGIN}[وفبل]))"
"""In Arabic "and" and "in" are written with the word behind them."""
