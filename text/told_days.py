"""The days that a message means, relative to its own: "last May", "yesterday", "the week before"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import regex

from .dates import BEGIN, END, Days, Named, any_of, date_words, month, named_days, read, week, year

_COMING: Final[Mapping[str, Callable[[date], Days]]] = MappingProxyType(
    {
        "tomorrow": lambda day: (day + timedelta(1), day + timedelta(1)),
        "next week": lambda day: week(day, 1),
        "next weekend": lambda day: (week(day, 1)[0] + timedelta(5), week(day, 1)[1]),
        "next month": lambda day: month(day, 1),
        "next year": lambda day: year(day.year + 1),
    }
)
_BEFORE: Final[Mapping[str, Callable[[date], Days]]] = MappingProxyType(
    {
        "day": lambda day: (day - timedelta(1), day - timedelta(1)),
        "week": lambda day: week(day, -1),
        "month": lambda day: month(day, -1),
        "year": lambda day: year(day.year - 1),
    }
)
_LONGEST: Final = MappingProxyType({"day": 1, "week": 7, "month": 31, "year": 366})
"""Days that the period before which such a one lies has, at most: a week before "in May" can be any."""

_MOST: Final = 4
"""Phrases of a message that are told."""


def days_told(text: str, said: date) -> str:
    """What a message says of other days, in their dates: " [last may: 2023-05]"; nothing where it says nothing of them.

    "The week before" is told where the message names the day that it is before. What can be any day ("on Friday"), and
    what holds the message's own ("this week"), is left out.

    Args:
        text: any text.
        said: the day on which it was said.
    """
    text = read(text)
    try:
        named = [one for one in _certain(text, said) if not one.days[0] <= said <= one.days[1]]
        named += _before(text, named)
    except (OverflowError, ValueError):  # the ends of the calendar
        return ""
    told = {one.phrase: _dates(*one.days) for one in sorted(named)}
    pairs = [f"{phrase}: {dates}" for phrase, dates in [*told.items()][:_MOST]]
    return f" [{'; '.join(pairs)}]" if pairs else ""


def _certain(text: str, said: date) -> Iterator[Named]:
    """What is named relative to the day, and is not one of many."""
    words = date_words()
    weekdays = {day for days in words["weekdays"].values() for day in days}
    for one in named_days(text, said):
        if weekdays.isdisjoint(one.phrase.split()) or _past().search(one.phrase):
            yield one
    for name, of in _COMING.items():
        for match in _phrase(("coming", name)).finditer(text):
            yield Named(match.start(), match[0], of(said))
    for match in _last_month().finditer(text):
        number = next(months.index(match["month"]) for months in words["months"].values() if match["month"] in months)
        yield Named(match.start(), match[0], month(said, (number - said.month + 1) % 12 - 12))


def _before(text: str, named: list[Named]) -> Iterator[Named]:
    """ "The week before", where a day was named before it."""
    for unit, of in _BEFORE.items():
        for match in _phrase(("before", unit)).finditer(text):
            earlier = [one for one in named if one.at < match.start() and _length(one.days) <= _LONGEST[unit]]
            if earlier and not _goes_on(match[0]).match(text, match.end()):
                yield Named(match.start(), match[0], of(max(earlier).days[0]))


def _length(days: Days) -> int:
    return (days[1] - days[0]).days + 1


def _dates(first: date, last: date) -> str:
    if (first, last) == year(first.year):
        return f"{first:%Y}"
    if (first, last) == month(first, 0):
        return f"{first:%Y-%m}"
    return f"{first}" if first == last else f"{first} to {last}"


@cache
def _phrase(path: tuple[str, str]) -> Any:
    words = date_words()
    return regex.compile(BEGIN + any_of(words[path[0]][path[1]]) + END)


@cache
def _past() -> Any:
    words = date_words()
    return regex.compile(rf"^{any_of(words['past_before'])}\s|\s{any_of(words['weekday_behind'])}$")


@cache
def _last_month() -> Any:
    words = date_words()
    name = f"(?P<month>{any_of(name for names in words['months'].values() for name in names)})"
    before, behind = any_of(words["past_before"]), any_of(words["weekday_behind"])
    return regex.compile(rf"{BEGIN}{before}\s+{name}{END}|{BEGIN}{name}\s+{behind}{END}")


def _goes_on(phrase: str) -> Any:
    """What says of what it is before: in English any word behind it, "the week before the wedding"; else "of"."""
    return _ANY_WORD if phrase.startswith("the ") else _OF


_ANY_WORD: Final = regex.compile(r"\s*[\p{L}\p{N}]")
_OF: Final = regex.compile(r"\s+(?:d[eiu]|des|del|della|dell|d'|a|al|à|che|que|von|der|des|zu)\b")
