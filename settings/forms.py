"""What a setting is beside its type: its group and title, the nodes it belongs to, and what it means by profile."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

CAPPED: Final = "capped"
"""Marks what a client of a server may lower, and not raise above what the operator has set."""

TRUSTED: Final = "trusted"
"""Marks what a client of a server may not choose unless the operator says so."""

PROFILES_KEY: Final = "profiles"
"""Marks the thresholds: what the setting means under each profile that has it."""


class Group(BaseModel):
    """Settings that stand together in forms, tables and the help of the command, under a title."""

    group: ClassVar[str]


def groups_of(kind: type[BaseModel]) -> dict[str, tuple[str, ...]]:
    """The names of the settings of each group, in their order."""
    found: dict[str, tuple[str, ...]] = {}
    for base in reversed(kind.__mro__):
        if title := vars(base).get("group"):
            names = tuple(name for name in inspect.get_annotations(base) if name in kind.model_fields)
            found[title] = (*found.get(title, ()), *names)
    return found


def on_node(*names: str, capped: bool = False, trusted: bool = False) -> JsonDict:
    """JSON schema metadata that makes Studio show a setting on the nodes it belongs to, and our marks."""
    marks: JsonDict = {CAPPED: True} if capped else {TRUSTED: True} if trusted else {}
    return {"langgraph_nodes": list(names), **marks}


def threshold(default: Any, *, title: str, ge: int | None = None, le: int | None = None, **meanings: str) -> Any:
    """A threshold of compression.

    Args:
        default: its value, where the profile fills no other.
        title: what a person reads.
        ge: the least that is allowed.
        le: the most that is allowed.
        **meanings: what it means, by the names of the profiles that have it.
    """
    return Field(
        default,
        title=title,
        ge=ge,
        le=le,
        description=" ".join(f"{profile}: {meaning}" for profile, meaning in meanings.items()),
        json_schema_extra={**on_node("summarize"), PROFILES_KEY: dict(meanings)},
    )


def _listed(value: object) -> object:
    """A comma-separated text as a list, as the environment and the command line give it."""
    return names_in(value) if isinstance(value, str) else value


def names_in(text: str) -> tuple[str, ...]:
    """The names of a comma-separated text."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""Names, also as a comma-separated text."""


class NamedValues(BaseModel):
    """A setting of several named values, given as a mapping or as text: `a=1,b=2`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        return _pairs(value) if isinstance(value, str) else value

    def with_parts(self, value: Any) -> Any:
        """What is set here with what is set in `value`, not validated; `value` where it is nothing of the kind."""
        if isinstance(value, NamedValues):
            value = value.given
        value = _pairs(value) if isinstance(value, str) else value
        return {**self.given, **value} if isinstance(value, Mapping) else value

    @property
    def given(self) -> dict[str, Any]:
        """What was set by name."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}


def _pairs(text: str) -> dict[str, str]:
    """The values of `a=1,b=2` by their names."""
    split = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    return {name.strip(): value.strip() for name, _, value in split}


def written(value: float | str | timedelta) -> str:
    """A number as people write it; an age in its largest whole unit: `30d`."""
    if isinstance(value, str):
        return value
    if not isinstance(value, timedelta):
        return f"{value:g}"
    seconds = round(value.total_seconds())
    unit, size = next((unit, size) for unit, size in _SECONDS.items() if seconds % size == 0)
    return f"{seconds // size}{unit}"


_SECONDS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


def shown(value: Any) -> str:
    """The value of a setting as a person writes it."""
    if value is None:
        return "unset"
    if isinstance(value, NamedValues):
        return ",".join(f"{part}={written(number)}" for part, number in value if number is not None) or "unset"
    if isinstance(value, tuple):
        return ",".join(value) or "none"
    return "empty" if value == "" else str(value).lower() if isinstance(value, bool) else str(value)
