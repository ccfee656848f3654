"""`Said`: a message as it was said, with what it called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from ..state.records import Role
from ..text.sentences import sentence_spans


@dataclass(frozen=True)
class Said:
    """A message as it was said."""

    thread_id: str
    id: str
    seq: int
    role: Role
    text: str
    said_at: datetime
    calls: Sequence[Mapping[str, Any]] | None = None
    """Of a message that calls tools, with their arguments."""

    @property
    def arguments(self) -> Iterator[str]:
        """All texts among the arguments of its calls."""
        return texts_in([call.get("args") for call in self.calls or ()])

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Where each of its sentences begins and ends."""
        return tuple(sentence_spans(self.text))

    @property
    def sentences(self) -> list[str]:
        """Its sentences, in order."""
        return [self.text[start:end] for start, end in self.spans]


def texts_in(value: Any) -> Iterator[str]:
    """All texts in plain data, those that name something as well."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from texts_in(name)
            yield from texts_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts_in(one)
