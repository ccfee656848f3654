"""What flows about web search: `Sign`, `SearchResult`, `EngineFailure`, `SearchOutcome`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .errors import SearchFault
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
    engine: str = Field(description="The engine that found it; of several, their names joined by +.")
    published: str | None = None
    whole: bool = Field(False, description="Whether the content was read from the page itself, not from a snippet.")


class EngineFailure(Record):
    """Why a search engine, or a page (`engine` is then "page"), brought nothing in this turn."""

    engine: str
    kind: SearchFault
    problem: str = Field(description="Part of a sentence; without the query.")
    attempts: int = Field(1, ge=0, description="How often it was asked; 0 where it was passed over.")


class SearchOutcome(Record):
    """Whether this turn searched the web, why, for what, and what came of it."""

    decided_by: Literal["keywords", "router", "slm", "setting", "user"]
    needed: bool | None = Field(description="None: keywords do not decide; the small model or the local router does.")
    reason: str
    score: float = Field(0.0, description="The summed weight of the signs.")
    probability: float | None = Field(None, description="How likely the local router holds a need for the web.")
    signs: tuple[Sign, ...] = ()
    query: str | None = None
    sent: str | None = Field(None, description="The query as it left; None where none did.")
    redacted: tuple[str, ...] = Field((), description="Kinds of what was taken out of the query before it left.")
    engine: str | None = Field(None, description="The engine that answered; of several, their names joined by +.")
    results: tuple[SearchResult, ...] = ()
    error: str | None = Field(None, description="Why there are no results: one sentence, or nothing.")
    failures: tuple[EngineFailure, ...] = Field((), description="What failed on the way, also where results came.")
    from_cache: bool = False
    milliseconds: float | None = Field(None, description="How long searching took, reading of pages included.")
