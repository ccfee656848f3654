"""`Retention`: how long what is stored is kept, and how many of it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from .forms import NamedValues, written

_FOREVER: Final = "forever"
"""Says of a thread that it keeps what others do not."""

_UNITS: Final = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_AGE: Final = re.compile(r"(\d{1,9})\s*([wdhms])")
_MOST: Final = timedelta(weeks=5_000)

CHECKPOINTS: Final = 16
"""Of a thread, the newest: two a turn, so that the last eight turns can be edited."""


def _age(value: object) -> object:
    """An age as people write it."""
    if value == _FOREVER:
        return None
    if not isinstance(value, str):
        return value
    if (found := _AGE.fullmatch(value.strip())) is None:
        raise ValueError(f"expected a number with one of {', '.join(_UNITS)} behind it, as 30d, or {_FOREVER}")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _number(value: object) -> object:
    return None if value == _FOREVER else value


Age = Annotated[Annotated[timedelta, Field(gt=timedelta(0), le=_MOST)] | None, BeforeValidator(_age)]
CacheAge = Annotated[timedelta, BeforeValidator(_age), Field(ge=timedelta(0), le=_MOST)]
Number = Annotated[Annotated[int, Field(ge=1, le=1_000_000)] | None, BeforeValidator(_number)]


class Retention(NamedValues):
    """Beyond what age, or number, something goes; None is never.

    Each turn of everthread thins the checkpoints of its own thread. The hourly run goes over all threads, and deletes
    what is named here.
    """

    messages: Age = Field(None, title="Age of messages")
    reports: Age = Field(None, title="Age of turn reports")
    search_cache: CacheAge = Field(timedelta(minutes=15), title="Age of search results")
    checkpoints: Number = Field(CHECKPOINTS, title="Checkpoints of a thread")
    checkpoint_age: Age = Field(None, title="Age of checkpoints")

    def over(self, base: Retention) -> Retention:
        """These laid over others: what was given here by name counts."""
        return Retention.model_validate(base.with_parts(self))

    @property
    def limits_threads(self) -> bool:
        """Whether anything of threads goes."""
        return any(value is not None for name, value in self.given.items() if name != "search_cache")

    def __str__(self) -> str:
        return ",".join(f"{name}={_FOREVER if value is None else written(value)}" for name, value in self.given.items())


KEEPS: Final = Retention(messages=None, reports=None, checkpoint_age=None)
"""By which nothing of a thread goes: in place of its own where nobody can read that."""
