"""On which day something was said: told where the conversation that is shown goes on on another day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from langchain_core.messages import AnyMessage, HumanMessage

from ..prompts.context import DAY
from ..state.records import Place
from ..storage.archive_rows import CREATED_AT, said_at
from .chain import joined


def days_of(messages: Sequence[AnyMessage], places: Mapping[str, Place], today: date) -> dict[str, date]:
    """By their ids the user's messages that begin another day; none where all that is shown was said today.

    Args:
        messages: what is shown, in its order.
        places: when messages were said; those without a place are new, of which only the newest is dated.
        today: the day of a question that does not itself say when it was said.
    """
    said = [message for message in messages if isinstance(message, HumanMessage) and message.id]
    days: dict[str, date] = {}
    told: date | None = None
    for message in said:
        place = places.get(str(message.id))
        day = place.said_at.date() if place is not None else day_of(message, today) if message is said[-1] else told
        if day is not None and day != told:
            days[str(message.id)] = told = day
    return {} if set(days.values()) <= {today} else days


def day_of(question: AnyMessage | None, today: date) -> date:
    """The day of a question: as the archive will have it, so that the next prompt tells the same."""
    return said_at(question).date() if question is not None and CREATED_AT in question.additional_kwargs else today


def dated(message: AnyMessage, days: Mapping[str, date]) -> AnyMessage:
    """The message behind its day, where it begins one."""
    day = days.get(str(message.id))
    if day is None:
        return message
    told: AnyMessage = message.model_copy(update={"content": joined(DAY.format(day=day), message.content)})
    return told
