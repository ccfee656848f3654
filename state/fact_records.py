"""The records of what is known about a user: `Fact`, `Pin`, and the `FactSheet` of a turn (seeds `002` and `004`)."""

from __future__ import annotations

import uuid
from typing import Final, Literal, Self

from pydantic import AwareDatetime, Field, model_validator

from ..text.shorten import one_line
from .records import EVERTHREAD_NAMESPACE, Record

FactKind = Literal["preference", "biography", "goal", "constraint", "commitment", "instruction"]
FactState = Literal["current", "superseded", "conflicting", "forgotten"]
FactOrigin = Literal["pattern", "model", "user"]
PinKind = Literal["manual", "automatic"]

USER: Final = "user"
"""The subject of a fact about the user."""

HEALTH: Final = "health "
"""What the attribute of a fact begins with that tells what may harm the user, such as an allergy."""

ENDS: Final = "end "
"""What the attribute of a fact begins with that tells that something is over: see `facts.endings`."""

MANUAL_SCORE: Final = 0.8
"""The score of a pin that the user asked for (seed `002`, `createSemanticPin`)."""

_LINE: Final = 300
"""Characters of a fact or pin that one line of the sheet shows."""


class Fact(Record):
    """One thing the user said about themselves or somebody close, in their own words (seed `004`, "Fact Extraction").

    Two facts with the same subject and attribute and another value contradict each other; without an attribute
    nothing is contradicted. `confidence` is in [0, 1]. The interval is half open: true from `valid_from` until before
    `valid_to`.
    """

    id: str
    kind: FactKind
    text: str = Field(min_length=1, description="Verbatim, in the user's language.")
    subject: str = Field(USER, description="'user', or the user's words for whom it is about, such as 'sister'.")
    attribute: str | None = Field(None, description="What of the subject can have only one value at a time.")
    value: str | None = Field(None, description="That value, in lower case.")
    negated: bool = Field(False, description="Whether it says what is not so.")
    settles: bool = Field(True, description="Whether its word is enough to replace what contradicts it.")
    terms: tuple[str, ...] = Field((), description="The words that carry the meaning, to find and compare it.")
    state: FactState = "current"
    thread_id: str
    source_id: str = Field(description="The message it was said in.")
    said_at: AwareDatetime
    confirmed_at: AwareDatetime = Field(description="When it was last said.")
    valid_from: AwareDatetime
    valid_to: AwareDatetime | None = None
    superseded_by: str | None = Field(None, description="What ended it; of an open fact, what makes it doubtful.")
    confidence: float = Field(0.5, ge=0.0, le=1.0)
    origin: FactOrigin = "pattern"

    @model_validator(mode="after")
    def _interval_is_open_only_while_it_holds(self) -> Self:
        if (self.valid_to is None) != self.is_open:
            raise ValueError("a fact has an end of its interval when, and only when, it is superseded or forgotten")
        return self

    @property
    def is_open(self) -> bool:
        """Whether it may still be so: current, or in an undecided conflict."""
        return self.state in {"current", "conflicting"}

    @property
    def slot(self) -> str | None:
        """Subject and attribute in one: facts with the same slot can contradict each other."""
        return None if self.attribute is None else f"{self.subject}\x1f{self.attribute}"

    @staticmethod
    def id_for(source_id: str, text: str, attribute: str | None) -> str:
        """The id of what this message says in these words (compared as `facts.words.key` does) of this attribute."""
        return str(uuid.uuid5(EVERTHREAD_NAMESPACE, "\x1f".join(["fact", source_id, text, attribute or ""])))


class Pin(Record):
    """Something to be kept in sight: because the user asked for it, or by its score (seed `002`, `SemanticPin`)."""

    id: str
    text: str = Field(min_length=1)
    kind: PinKind = "manual"
    score: float = Field(MANUAL_SCORE, ge=0.0, le=1.0)
    thread_id: str
    source_id: str
    created_at: AwareDatetime
    forgotten_at: AwareDatetime | None = None

    @staticmethod
    def id_for(source_id: str, text: str) -> str:
        """The id of the pin of this text of this message."""
        return str(uuid.uuid5(EVERTHREAD_NAMESPACE, "\x1f".join(["pin", source_id, text])))


class Forgotten(Record):
    """What became of a request to forget that a turn began with."""

    messages: int = Field(0, ge=0, description="Messages that are gone, or from which sentences are gone.")
    facts: int = Field(0, ge=0)
    pins: int = Field(0, ge=0)
    summaries: int = Field(0, ge=0, description="Summaries that are gone or were written again.")
    may_be_meant: tuple[str, ...] = Field((), description="Where nothing was removed: sentences that may be meant.")
    error: str | None = Field(None, description="Why nothing could be removed: one sentence, or nothing.")

    @property
    def is_done(self) -> bool:
        """Whether something was removed; else it is not clear what was meant, or the removal failed."""
        return self.messages > 0

    @property
    def is_set_aside(self) -> bool:
        """Whether the request and the reply to it stay out of the archive: it was done, or nothing else says it."""
        return self.is_done or not (self.may_be_meant or self.error)


class FactSheet(Record):
    """What a turn knows about its user: the pins and facts that bear on it, the most important first."""

    pins: tuple[Pin, ...] = ()
    facts: tuple[Fact, ...] = ()
    forgotten: Forgotten | None = Field(None, description="Where the user asked to forget something.")
    error: str | None = Field(None, description="Why there is nothing: one sentence, or nothing.")

    @property
    def lines(self) -> tuple[str, ...]:
        """One line each, in the user's words: data for the context, never an instruction."""
        return (*map(pin_line, self.pins), *map(fact_line, self.facts))


def pin_line(pin: Pin) -> str:
    """A pin, for the context."""
    return f"pinned: {one_line(pin.text, _LINE)} (since {pin.created_at:%Y-%m-%d})"


def fact_line(fact: Fact) -> str:
    """A fact, for the context; what to do always, without the day on which that was said."""
    about = "" if fact.subject == USER else f", {one_line(fact.subject, _LINE)}"
    doubts = ", may have changed" if fact.superseded_by is not None else ", contradicted elsewhere"
    doubt = doubts if fact.state == "conflicting" else ""
    said = f"{fact.kind}{about}: {one_line(fact.text, _LINE)}"
    if fact.kind == "instruction" and not doubt:
        return said
    return f"{said} (since {fact.valid_from:%Y-%m-%d}{doubt})"
