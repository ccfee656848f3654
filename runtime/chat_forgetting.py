"""A request to forget in the chat: what it means is decided and removed before anything is recalled for the turn.

The request itself, and what the assistant says to it, stay in the conversation for people to see, and are no part of
the archive and the chain. What is removed goes from everywhere, also from the messages of this thread.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast

from langchain_core.messages import AnyMessage

from ..facts.forgetting import Meant, Part, meant_by, rest_of, sources_of, whole, without_repeats
from ..facts.said import Said
from ..prompts.forgetting import DONE, FAILED, NOT_FOUND, UNCLEAR
from ..state.chain import relinked, summary_ids
from ..state.errors import EverthreadError
from ..state.fact_records import Forgotten
from ..state.messages import content_hash, content_text, message_text, role_of
from ..state.shortened import shortened
from ..state.update import Update
from ..text.count import counted
from ..text.shorten import one_line
from .chain_texts import chain_from_archive, with_chain
from .events import tell
from .forget import forget
from .forget_traces import joined
from .forget_wanted import Wanted, with_copies
from .requests import Request, requests_in, requests_of, what_is_known, what_was_said
from .turn import Turn

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)

_QUOTED: Final = 120


async def forget_asked(state: ConversationState, turn: Turn) -> tuple[ConversationState, Update, Forgotten | None]:
    """Do what the newest message asks to be forgotten.

    Args:
        state: with its chain.
        turn: whose thread it is.

    Returns:
        The state without what is gone, what of the state changed, and what became of the request: None where nothing
        was asked.
    """
    update: Update = {}
    try:
        requests = await requests_of(state, turn)
        if not requests:
            return state, {}, None
        archived = await _archived(state, turn)
        found = [await _meant(request, turn) for request in requests]
        done = await _remove(found, turn)
        if done.is_done:
            state, update = await _without(state, found, archived, turn)
    except EverthreadError as error:
        logger.warning("What was asked to be forgotten was not removed: %s", error)
        done = Forgotten(error=str(error))
    tell("forgotten", messages=done.messages, facts=done.facts, unclear=not done.is_done)
    return state, update, done


def note(done: Forgotten | None) -> tuple[str, ...]:
    """The line that tells the model what became of a request; none where nothing was asked."""
    if done is None:
        return ()
    if done.is_done:
        return (DONE.format(messages=counted(done.messages, "message"), facts=counted(done.facts + done.pins, "fact")),)
    if done.error is not None:
        return (FAILED,)
    quoted = "; ".join(f'"{one_line(sentence, _QUOTED)}"' for sentence in done.may_be_meant)
    return (UNCLEAR.format(sentences=quoted) if quoted else NOT_FOUND,)


def turn_messages(state: ConversationState) -> list[AnyMessage]:
    """The messages of the newest turn: from the user's newest one on."""
    messages = state["messages"]
    start = max((at for at, message in enumerate(messages) if role_of(message) == "user"), default=len(messages))
    return messages[start:]


def set_aside(state: ConversationState, turn: Turn) -> tuple[ConversationState, bool]:
    """The state after a reply to a request that was done, so that neither is archived; whether messages changed.

    What a message says beside its request stays, and so does what the reply says to that.
    """
    requests, said = requests_in(state, turn), turn_messages(state)
    if not requests or not said:
        return state, False
    if rest := rest_of(message_text(said[0]), [request.command for request in requests]):
        kept = [said[0].model_copy(update={"content": shortened(said[0].content, rest)}), *said[1:]]
        kept[1:] = [_without_repeats(message, requests) for message in kept[1:]]
        before = state["messages"][: -len(said)]
        return cast("ConversationState", {**state, "messages": [*before, *kept]}), True
    chain = state["chain"]
    known = {**chain["known"], **{str(message.id): content_hash(message) for message in said}}
    ids = {str(message.id) for message in said}
    links = [link for link in chain["links"] if link["id"] not in ids]
    return cast("ConversationState", {**state, "chain": {**relinked(chain, links), "known": known}}), False


def _without_repeats(message: AnyMessage, requests: Iterable[Request]) -> AnyMessage:
    if role_of(message) == "user":
        return message
    before = text = content_text(message.content)
    for command, language, asked in requests:
        text = without_repeats(text, command, language, asked)
    if text == before or not text.strip():
        return message
    return message.model_copy(update={"content": shortened(message.content, text)})


async def _meant(request: Request, turn: Turn) -> Meant:
    command, language, asked = request
    said = await what_was_said(turn)
    here = [message for message in said if message.thread_id == turn.thread_id]
    if command.act == "forget conversation":
        return whole(here)
    if command.act == "forget today":
        return whole(message for message in said if _day(message.said_at) == _day(asked.said_at))
    if command.act == "forget" and not command.words:
        return _before(here)
    facts, pins = await what_is_known(turn)
    if command.act == "forget everything":
        return await asyncio.to_thread(sources_of, facts, pins, said)
    return await asyncio.to_thread(meant_by, command, language, asked, said, facts=facts, pins=pins)


def _day(moment: datetime) -> str:
    """The day on the clock of this machine."""
    return moment.astimezone().date().isoformat()


def _before(here: Sequence[Said]) -> Meant:
    """What was said just before, with the reply; a question before is not what is meant."""
    asked = [at for at, message in enumerate(here) if message.role == "user"]
    if not asked or here[asked[-1]].text.rstrip().endswith(("?", "？", "؟")):
        return Meant()
    return whole(here[asked[-1] :])


async def _remove(found: Sequence[Meant], turn: Turn) -> Forgotten:
    """Remove what is meant, all at once; what a message says beside it is archived in its place."""
    parts = {(part.said.thread_id, part.said.id): part for meant in found for part in meant.parts}
    if not parts:
        return Forgotten(may_be_meant=tuple(dict.fromkeys(text for meant in found for text in meant.unclear)))
    kept = _by_thread(part for part in parts.values() if part.rest)
    for thread_id, some in kept.items():  # before they go, so that replies to a rest are not taken for replies to them
        await _archive_rests(thread_id, some, turn)
    ids = await with_copies(turn.user, joined(parts))
    done = await forget(turn.user, Wanted("messages", ids=ids), asked_by="chat", also=turn.note_forgotten)
    for thread_id, some in kept.items():
        places = {"ids": [_rest_id(part.said.id) for part in some], "numbers": [part.said.seq for part in some]}
        await turn.user.rows.fetch("archive.renumber", thread_id=thread_id, **places)
    turn.user.embed_later(turn.settings.timeouts.embedding)
    summaries = done.summaries + done.rewritten
    return Forgotten(messages=len(parts), facts=done.facts, pins=done.pins, summaries=summaries)


def _by_thread(parts: Iterable[Part]) -> dict[str, list[Part]]:
    found: dict[str, list[Part]] = {}
    for part in parts:
        found.setdefault(part.said.thread_id, []).append(part)
    return found


async def _archive_rests(thread_id: str, parts: Sequence[Part], turn: Turn) -> None:
    messages = await turn.user.archive.whole_messages(thread_id, [part.said.id for part in parts])
    rests = [_shortened(cast("AnyMessage", messages[part.said.id]), part) for part in parts if part.said.id in messages]
    await turn.user.archive.add_messages(thread_id, rests)


def _rest_id(id_: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"rest of {id_}"))


def _shortened(message: AnyMessage, part: Part) -> AnyMessage:
    """What a message says beside what is forgotten, said when it was said."""
    kept = {"created_at": part.said.said_at.isoformat()}
    content = shortened(message.content, part.rest)
    return message.model_copy(update={"id": _rest_id(part.said.id), "content": content, "additional_kwargs": kept})


async def _without(
    state: ConversationState, found: Sequence[Meant], archived: set[str], turn: Turn
) -> tuple[ConversationState, Update]:
    """The state without what was archived and is no more, its chain read again."""
    rests = {part.said.id: part for meant in found for part in meant.parts if part.said.thread_id == turn.thread_id}
    gone = archived - await _archived(state, turn)
    messages = [
        _shortened(message, part) if (part := rests.get(str(message.id))) is not None else message
        for message in state["messages"]
        if message.id not in gone or ((part := rests.get(str(message.id))) is not None and part.rest)
    ]
    chain = await chain_from_archive(messages, turn)
    ids = summary_ids(chain)
    texts: Mapping[str, Any] = dict((await turn.user.archive.end_and_texts(turn.thread_id, ids))[1])
    state = cast("ConversationState", {**state, "messages": messages, "chain": chain, "chain_texts": texts})
    state, update = await with_chain(state, turn)
    # The report of the turn before may quote it; this turn makes another.
    return state, {"messages": messages, "chain": chain, "chain_texts": texts, "report": None, **update}


async def _archived(state: ConversationState, turn: Turn) -> set[str]:
    """Ids of the messages of the state that the archive has."""
    return set(await turn.user.archive.known_ids(turn.thread_id, [str(message.id) for message in state["messages"]]))
