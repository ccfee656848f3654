"""Marks on the fields of `Settings` that a form reads: the nodes a field belongs to, and what a process fixes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.config import JsonDict

PROCESS: Final[JsonDict] = {"scope": "process"}
"""Marks what is fixed when the process starts: a single run cannot change it."""


def on_node(*names: str) -> JsonDict:
    """JSON schema metadata that makes Studio show a setting on the nodes it belongs to."""
    return {"langgraph_nodes": list(names)}


class Parts(BaseModel):
    """A setting of several named values, given as a mapping or as text: `a=1,b=2`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        return pairs(value) if isinstance(value, str) else value

    def with_parts(self, value: Any) -> Any:
        """What is set here with what is set in `value`, not validated; `value` where it is nothing of the kind."""
        if isinstance(value, Parts):
            value = value.given
        value = pairs(value) if isinstance(value, str) else value
        return {**self.given, **value} if isinstance(value, Mapping) else value

    @property
    def given(self) -> dict[str, Any]:
        """What was set by name."""
        return {name: getattr(self, name) for name in self.model_fields_set}


def pairs(text: str) -> dict[str, str]:
    """The values of `a=1,b=2` by their names."""
    split = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    return {name.strip(): value.strip() for name, _, value in split}
