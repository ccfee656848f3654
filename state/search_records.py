"""What flows about web search: `Sign`, `SearchResult`, `SearchOutcome`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .records import Record


class Sign(Record):
    """A sign that a message needs the web: the word found, its kind, its weight."""

    kind: str
    found: str
    weight: float


class SearchResult(Record):
    """One web page found, cleaned to plain text."""

    title: str
    url: str
    content: str
    engine: str
    published: str | None = None


class SearchOutcome(Record):
    """Whether this turn searched the web, why, for what, and what came of it."""

    decided_by: Literal["keywords", "slm", "setting", "user"]
    needed: bool | None = Field(description="None: keywords do not decide, the small model is to be asked.")
    reason: str
    score: float = 0.0
    signs: tuple[Sign, ...] = ()
    query: str | None = None
    engine: str | None = None
    results: tuple[SearchResult, ...] = ()
    error: str | None = Field(None, description="Why there are no results: one sentence, or nothing.")
