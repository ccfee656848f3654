"""The days that a question means: "yesterday", "last week", "three months ago", and their like in other languages.

And whether a question asks for a time, and a message tells one.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Any, Final, NamedTuple

import regex

from .data import load
from .fold import fold

Days = tuple[date, date]
"""The first and the last day of a period."""


class Named(NamedTuple):
    """A phrase of a text, where it begins, and the days that it means."""

    at: int
    phrase: str
    days: Days


class Period(NamedTuple):
    """From the first moment of a day to the last of another, both aware."""

    start: datetime
    end: datetime


_DAYS: Final[dict[str, Callable[[date], Days]]] = {
    "day before yesterday": lambda day: (day - timedelta(2), day - timedelta(2)),
    "yesterday": lambda day: (day - timedelta(1), day - timedelta(1)),
    "today": lambda day: (day, day),
    "last week": lambda day: week(day, -1),
    "this week": lambda day: week(day, 0),
    "last weekend": lambda day: (week(day, -1)[0] + timedelta(5), week(day, -1)[1]),
    "last month": lambda day: month(day, -1),
    "this month": lambda day: month(day, 0),
    "last year": lambda day: year(day.year - 1),
    "this year": lambda day: year(day.year),
}

_A_VERB: Final = "may"
"""The month that is more often something else."""

_CHARACTERS: Final = 2000
"""Characters of a text that are read."""


def periods(question: str, now: datetime) -> list[Period]:
    """The periods that a question names relative to now.

    Args:
        question: any text.
        now: aware; its zone is that of the days meant.
    """
    return [
        Period(
            datetime.combine(first, time.min, tzinfo=now.tzinfo), datetime.combine(last, time.max, tzinfo=now.tzinfo)
        )
        for _, _, (first, last) in named_days(read(question), now.date())
    ]


def asks_when(question: str) -> bool:
    """Whether a question asks for a day or a year: "when", "in welchem Jahr"."""
    return _asking().search(read(question)) is not None


def tells_when(text: str) -> bool:
    """Whether a text names a day, a month or a year, such as "yesterday", "in June" or "2019"."""
    text = read(text)
    units = _those_in(text, date_words()["units"])
    return bool(_telling().search(text)) or any(_ago_phrase(unit).search(text) for unit in units)


def read(text: str) -> str:
    """As much of a text as is looked at, folded."""
    return fold(text[:_CHARACTERS])


def named_days(text: str, today: date) -> Iterator[Named]:
    """What a text names relative to a day that was, or that is this one.

    Args:
        text: folded.
        today: from where "yesterday" is told.
    """
    words = date_words()  # of whose patterns only those are compiled that may fit
    for name in _those_in(text, words["periods"]):
        phrase = _phrase(name)
        yield from (Named(match.start(), match[0], _DAYS[name](today)) for match in phrase.finditer(text))
        # "the day before yesterday" is not yesterday as well
        text = phrase.sub(lambda match: " " * len(match[0]), text)
    for unit in _those_in(text, words["units"]):
        for match in _ago_phrase(unit).finditer(text):
            number = match.group("number")
            yield Named(match.start(), match[0], _ago(unit, words["numbers"].get(number) or int(number), today))
    if not _those_in(text, words["weekdays"]):
        return
    for match in _weekday_phrase().finditer(text):
        wanted = next(days.index(match["day"]) for days in words["weekdays"].values() if match["day"] in days)
        day = today - timedelta((today.weekday() - wanted - 1) % 7 + 1)
        yield Named(match.start(), match[0], (day, day))


def _those_in(text: str, lists: Mapping[str, Sequence[str]]) -> list[str]:
    """The names of the lists of which a phrase is in a text, be it inside of a word."""
    return [name for name, phrases in lists.items() if any(phrase in text for phrase in phrases)]


def week(day: date, off: int) -> Days:
    """The week of a day, or one so many weeks later."""
    monday = day - timedelta(day.weekday()) + timedelta(weeks=off)
    return monday, monday + timedelta(6)


def month(day: date, off: int) -> Days:
    """The month of a day, or one so many months later."""
    of_year, number = divmod(day.year * 12 + day.month - 1 + off, 12)
    return date(of_year, number + 1, 1), date(of_year, number + 1, monthrange(of_year, number + 1)[1])


def year(number: int) -> Days:
    """A year of our calendar, or its first one."""
    return date(max(1, number), 1, 1), date(max(1, number), 12, 31)


def _ago(unit: str, number: int, today: date) -> Days:
    """The day so long ago; of weeks, months and years as much around it as people are inexact."""
    if unit == "day":
        return today - timedelta(number), today - timedelta(number)
    if unit == "week":
        return today - timedelta(7 * number + 3), today - timedelta(7 * number - 3)
    return month(today, -number) if unit == "month" else year(today.year - number)


@cache
def date_words() -> dict[str, Any]:
    """The word lists, folded as the texts are that they are sought in."""
    words: dict[str, Any] = folded(load("dates"))
    return words


def folded(data: Any) -> Any:
    """Word lists folded as the texts are that they are sought in."""
    if isinstance(data, dict):
        return {fold(key): folded(value) for key, value in data.items()}
    return (
        [folded(value) for value in data] if isinstance(data, list) else fold(data) if isinstance(data, str) else data
    )


def any_of(phrases: Iterable[str]) -> str:
    """A pattern of phrases, the longest first."""
    return "(?:" + "|".join(regex.escape(phrase) for phrase in sorted(set(phrases), key=lambda p: -len(p))) + ")"


BEGIN: Final = r"(?<![\p{Latin}\p{Cyrillic}\p{Arabic}\p{N}.,])"
END: Final = r"(?![\p{Latin}\p{Cyrillic}\p{Arabic}])"


@cache
def _phrase(period: str) -> regex.Pattern[str]:
    return regex.compile(BEGIN + any_of(date_words()["periods"][period]) + END)


@cache
def _ago_phrase(unit: str) -> regex.Pattern[str]:
    words = date_words()
    number = rf"(?P<number>\d{{1,3}}|{any_of(words['numbers'])})"
    names = any_of(words["units"][unit])
    return regex.compile(
        rf"{BEGIN}{number}\s*{names}\s*{any_of(words['ago_behind'])}{END}"
        rf"|{BEGIN}{any_of(words['ago_before'])}\s+{number}\s*{names}{END}"
    )


@cache
def _weekday_phrase() -> regex.Pattern[str]:
    words = date_words()
    day = f"(?P<day>{any_of(day for days in words['weekdays'].values() for day in days)})"
    before, behind = any_of(words["weekday_before"]), any_of(words["weekday_behind"])
    return regex.compile(rf"{BEGIN}(?:{before}\s+)?{day}\s+{behind}{END}|{BEGIN}{before}\s+{day}{END}")


_YEAR: Final = r"(?<!\p{N})(?:19|20)\d\d(?!\p{N})"


@cache
def _asking() -> regex.Pattern[str]:
    return regex.compile(BEGIN + any_of(date_words()["asks_when"]) + END)


@cache
def _telling() -> regex.Pattern[str]:
    words = date_words()
    lists = [
        *words["periods"].values(),
        *words["coming"].values(),
        *words["weekdays"].values(),
        *words["months"].values(),
    ]
    named = {phrase for phrases in lists for phrase in phrases}.union(words["coming_or_morning"]) - {_A_VERB}
    return regex.compile(f"{BEGIN}{any_of(named)}{END}|{_YEAR}|\\d月")
