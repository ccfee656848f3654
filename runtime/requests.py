"""The requests to forget that a turn begins with: those that are some by their words, and those that were heard.

"Forget the password of my bank" is heard where this user has said or pinned something that has its words; else it is a
turn of speech, and nothing of the turn changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from langchain_core.messages import AnyMessage

from ..facts.commands import FactCommand, may_ask
from ..facts.extraction import Occasion
from ..facts.forgetting import heard
from ..facts.language import Language, language_in
from ..facts.said import Said
from ..state.errors import StorageError
from ..state.fact_records import Fact, Pin
from ..state.messages import newest_question, role_of
from ..state.records import now

if TYPE_CHECKING:
    from ..state.conversation import ConversationState
    from .turn import Turn


class Request(NamedTuple):
    """A request of a turn: what it asks, in which language, and where."""

    command: FactCommand
    language: Language
    asked: Occasion


class Heard:
    """What a run has heard: decided once, because what tells it is gone after it was done."""

    def __init__(self) -> None:
        self.requests: dict[str, list[Request]] = {}
        """By the id of the message."""
        self.lock: Final = asyncio.Lock()


async def requests_of(state: ConversationState, turn: Turn) -> list[Request]:
    """The requests of the newest message. Of one run always the same, also when what they name is gone.

    Raises:
        StorageError: it cannot be told whether one was heard.
    """
    found = await asyncio.to_thread(requests_in, state, turn)
    if any(request.command.act == "forget named" for request in found):
        asked, heard_of = _asked_in(state), turn.heard.requests
        async with turn.heard.lock:
            if asked not in heard_of:
                heard_of[asked] = await _heard(found, turn)
            return heard_of[asked]
    return found


async def requests_feared(state: ConversationState, turn: Turn) -> list[Request]:
    """The same; where it cannot be told whether one was heard, all."""
    try:
        return await requests_of(state, turn)
    except StorageError:
        return await asyncio.to_thread(requests_in, state, turn)


def requests_in(state: ConversationState, turn: Turn) -> list[Request]:
    """The requests of the newest message by its words, or where this run has heard them, those."""
    if (known := turn.heard.requests.get(_asked_in(state))) is not None:
        return known
    if _is_of_another(state["messages"], turn):
        return []
    text = newest_question(state["messages"])
    asked = Occasion(turn.thread_id, "", now())
    found = may_ask(text)
    language = language_in(text) if found else None
    return [Request(command, language, asked) for command in found] if language is not None else []


async def what_was_said(turn: Turn) -> list[Said]:
    """All that the user said, and what was replied; what has a damaged time counts as said now."""
    rows = await turn.user.rows.fetch("forgetting.said")
    return [Said(**{**row, "said_at": row["said_at"] or now()}) for row in rows]


async def what_is_known(turn: Turn) -> tuple[list[Fact], list[Pin]]:
    """All facts and pins of the user, once what was said has been read for them."""
    await turn.user.caught_up("facts")
    return await turn.user.facts.all_facts(), await turn.user.facts.pins(forgotten=True)


async def _heard(requests: Sequence[Request], turn: Turn) -> list[Request]:
    said, (facts, pins) = await what_was_said(turn), await what_is_known(turn)

    def is_heard(request: Request) -> bool:
        return request.command.act != "forget named" or heard(*request, said, facts=facts, pins=pins)

    return await asyncio.to_thread(lambda: [request for request in requests if is_heard(request)])


def _asked_in(state: ConversationState) -> str:
    """The id of the newest message of the user."""
    return next((str(message.id) for message in reversed(state["messages"]) if role_of(message) == "user"), "")


def _is_of_another(messages: Sequence[AnyMessage], turn: Turn) -> bool:
    """Whether the newest message bears a name that is not the user's: see `facts.unread`."""
    names = [message.name for message in messages if role_of(message) == "user"]
    return bool(names) and names[-1] not in {None, turn.settings.user_id} and any(n != names[-1] for n in names)
