"""The days that a question means: "yesterday", "last week", "three months ago", and their like in other languages.

And whether a question asks for a time, and a message tells one.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Any, Final, NamedTuple

import regex

from .data import load
from .fold import fold

Days = tuple[date, date]
"""The first and the last day of a period."""


class Period(NamedTuple):
    """From the first moment of a day to the last of another, both aware."""

    start: datetime
    end: datetime


_DAYS: Final[dict[str, Callable[[date], Days]]] = {
    "day before yesterday": lambda day: (day - timedelta(2), day - timedelta(2)),
    "yesterday": lambda day: (day - timedelta(1), day - timedelta(1)),
    "today": lambda day: (day, day),
    "last week": lambda day: _week(day, -1),
    "this week": lambda day: _week(day, 0),
    "last weekend": lambda day: (_week(day, -1)[0] + timedelta(5), _week(day, -1)[1]),
    "last month": lambda day: _month(day, -1),
    "this month": lambda day: _month(day, 0),
    "last year": lambda day: _year(day.year - 1),
    "this year": lambda day: _year(day.year),
}

_CHARACTERS: Final = 2000
"""Characters of a text that are read."""


def periods(question: str, now: datetime) -> list[Period]:
    """The periods that a question names relative to now.

    Args:
        question: any text.
        now: aware; its zone is that of the days meant.
    """
    text, today = _read(question), now.date()
    return [
        Period(
            datetime.combine(first, time.min, tzinfo=now.tzinfo), datetime.combine(last, time.max, tzinfo=now.tzinfo)
        )
        for first, last in _named_days(text, today)
    ]


def asks_when(question: str) -> bool:
    """Whether a question asks for a day or a year: "when", "in welchem Jahr"."""
    return _asking().search(_read(question)) is not None


def tells_when(text: str) -> bool:
    """Whether a text names a day, a month or a year, such as "yesterday", "in June" or "2019"."""
    text = _read(text)
    return any(phrase.search(text) for phrase in _telling())


def _read(text: str) -> str:
    return fold(text[:_CHARACTERS])


def _named_days(text: str, today: date) -> Iterator[Days]:
    for name, phrase in _phrases().items():
        if phrase.search(text):
            yield _DAYS[name](today)
            text = phrase.sub(" ", text)  # "the day before yesterday" is not yesterday as well
    for unit, phrase in _ago_phrases().items():
        for match in phrase.finditer(text):
            number = match.group("number")
            yield _ago(unit, _words()["numbers"].get(number) or int(number), today)
    for match in _weekday_phrase().finditer(text):
        wanted = next(days.index(match["day"]) for days in _words()["weekdays"].values() if match["day"] in days)
        day = today - timedelta((today.weekday() - wanted - 1) % 7 + 1)
        yield day, day


def _week(day: date, off: int) -> Days:
    monday = day - timedelta(day.weekday()) + timedelta(weeks=off)
    return monday, monday + timedelta(6)


def _month(day: date, off: int) -> Days:
    year, month = divmod(day.year * 12 + day.month - 1 + off, 12)
    return date(year, month + 1, 1), date(year, month + 1, monthrange(year, month + 1)[1])


def _year(year: int) -> Days:
    return date(max(1, year), 1, 1), date(max(1, year), 12, 31)


def _ago(unit: str, number: int, today: date) -> Days:
    """The day so long ago; of weeks, months and years as much around it as people are inexact."""
    if unit == "day":
        return today - timedelta(number), today - timedelta(number)
    if unit == "week":
        return today - timedelta(7 * number + 3), today - timedelta(7 * number - 3)
    return _month(today, -number) if unit == "month" else _year(today.year - number)


@cache
def _words() -> dict[str, Any]:
    """The word lists, folded as the texts are that they are sought in."""
    words: dict[str, Any] = _folded(load("dates"))
    return words


def _folded(data: Any) -> Any:
    if isinstance(data, dict):
        return {fold(key): _folded(value) for key, value in data.items()}
    return (
        [_folded(value) for value in data] if isinstance(data, list) else fold(data) if isinstance(data, str) else data
    )


def _any(phrases: Iterable[str]) -> str:
    return "(?:" + "|".join(regex.escape(phrase) for phrase in sorted(set(phrases), key=lambda p: -len(p))) + ")"


_BEGIN: Final = r"(?<![\p{Latin}\p{Cyrillic}\p{Arabic}\p{N}.,])"
_END: Final = r"(?![\p{Latin}\p{Cyrillic}\p{Arabic}])"


@cache
def _phrases() -> dict[str, regex.Pattern[str]]:
    return {name: regex.compile(_BEGIN + _any(phrases) + _END) for name, phrases in _words()["periods"].items()}


@cache
def _ago_phrases() -> dict[str, regex.Pattern[str]]:
    words = _words()
    number = rf"(?P<number>\d{{1,3}}|{_any(words['numbers'])})"
    return {
        unit: regex.compile(
            rf"{_BEGIN}{number}\s*{_any(names)}\s*{_any(words['ago_behind'])}{_END}"
            rf"|{_BEGIN}{_any(words['ago_before'])}\s+{number}\s*{_any(names)}{_END}"
        )
        for unit, names in words["units"].items()
    }


@cache
def _weekday_phrase() -> regex.Pattern[str]:
    words = _words()
    day = f"(?P<day>{_any(day for days in words['weekdays'].values() for day in days)})"
    return regex.compile(
        rf"{_BEGIN}{_any(words['weekday_before'])}\s+{day}{_END}|{_BEGIN}{day}\s+{_any(words['weekday_behind'])}{_END}"
    )


_YEAR: Final = r"(?<!\p{N})(?:19|20)\d\d(?!\p{N})"


@cache
def _asking() -> regex.Pattern[str]:
    return regex.compile(_BEGIN + _any(_words()["asks_when"]) + _END)


@cache
def _telling() -> tuple[regex.Pattern[str], ...]:
    words = _words()
    days = [day for names in words["weekdays"].values() for day in names]
    named = [*(phrase for phrases in words["periods"].values() for phrase in phrases), *words["coming"], *days]
    return regex.compile(f"{_BEGIN}{_any([*named, *words['months']])}{_END}|{_YEAR}|\\d月"), *_ago_phrases().values()
