"""What the chain of a thread needs beside the state: texts of its summaries, and the chain where a state has none."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from langchain_core.messages import AnyMessage, HumanMessage

from ..compression.commands import read_command
from ..compression.engine import policy_of
from ..facts.commands import may_ask
from ..state.chain import Chain, Link, empty_chain, message_ids, removed_ids, summary_ids, summary_link
from ..state.messages import content_hash, message_text
from ..state.update import Update
from ..storage.sparse_checkpoints import note_read
from .left_out import without_left_out
from .turn import Turn
from .user_defaults import default_channel

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)

MOST_STANDING: Final = 2_000
"""Messages of a chain that is made from the archive, at most, the newest."""


async def with_chain(state: ConversationState, turn: Turn) -> tuple[ConversationState, Update]:
    """The state with its chain and its texts, and what of that the state lacked.

    A thread that was imported, that existed before everthread, or that is a part of another graph has no chain in its
    state: it follows from what the archive has, and so do the messages before those of the state. In a new thread holds
    what its user has chosen by commands in another. The first call in a
    run also notes what has left the conversation, so that it is not recalled.

    Raises:
        StorageError: the archive cannot be read.
    """
    update: Update = {}
    if state.get("chain_texts") is None and not turn.is_nested:
        update = await _without_refused(state, turn)
        state = cast("ConversationState", {**state, **update})
    if state.get("chain") is None:
        update |= await restored(state.get("messages") or [], turn)
        if state.get("compression") is None and (chosen := await default_channel(turn)):
            update["compression"] = chosen
        state = cast("ConversationState", {**state, **update})
    texts = state.get("chain_texts")
    if texts is None:
        ids = summary_ids(state["chain"])
        last, standing, places = await turn.user.archive.end_and_texts(
            turn.thread_id, ids, turn.needed_before, message_ids(state["chain"])
        )
        turn.places.update(places)
        if overtaken := await _overtaken(state, last, turn):
            update |= overtaken
        elif (settled := await _settle(state, last, turn)) is not None:
            update["chain"] = settled
        texts = update["chain_texts"] = dict(standing)
        state = cast("ConversationState", {**state, **update})
    messages, summaries = turn.live(state).missing
    if messages or summaries:
        found = dict(texts)
        if messages:
            newest = messages[-MOST_STANDING:]
            found |= await turn.user.archive.whole_messages(turn.thread_id, newest)
        if summaries:
            found |= await turn.user.summaries.some(turn.thread_id, summaries)
        update["chain_texts"] = found
        state = cast("ConversationState", {**state, "chain_texts": found})
    return state, update


async def _without_refused(state: ConversationState, turn: Turn) -> Update:
    """The messages without what a stranger sent to another graph on this thread, which left it in the state.

    Raises:
        StorageError: the archive cannot be read.
    """
    messages = state.get("messages") or []
    known = (state.get("chain") or empty_chain())["known"]
    new = [message for message in messages[:-1] if known.get(str(message.id)) != content_hash(message)]
    own = await without_left_out(turn.user, turn.thread_id, new)
    if own is new:
        return {}
    stand = {message.id: message for message in own}
    there = {message.id for message in new}
    return {"messages": [stand.get(m.id, m) for m in messages if m.id in stand or m.id not in there]}


async def restored(messages: list[AnyMessage], turn: Turn) -> Update:
    """The chain as the archive tells, and the messages with those that the archive has beside them.

    A run from an earlier checkpoint goes on from that alone.

    Raises:
        StorageError: the archive cannot be read.
    """
    if turn.is_fork:
        return {"chain": empty_chain()}
    chain = await chain_from_archive(messages, turn)
    if chain["last"] is None or turn.is_nested:
        return {"chain": chain}
    limit = turn.settings.visible_messages
    page = await turn.user.archive.page(turn.thread_id, limit=limit)
    there = {message.id for message in messages}
    if all(row.id in there for row in page):
        return {"chain": chain}
    archived = [cast("AnyMessage", row.message) for row in page]
    note_read(turn.config, {row.id for row in page} - there)
    new = [message for message in messages if message.id not in chain["known"]]
    known = {**chain["known"], **{str(message.id): content_hash(message) for message in archived}}
    return {"chain": {**chain, "known": known}, "messages": [*archived, *new]}


async def _overtaken(state: ConversationState, last: str | None, turn: Turn) -> Update:
    """The chain and the messages, made again, where the archive goes on with what the state never had.

    The end of a turn was archived and not stored, by a crash say. A branch that somebody wanted has been noted when it
    began, so that what it left is not the end of the archive.
    """
    there = {str(message.id) for message in state.get("messages") or []}
    there |= {link["id"] for link in state["chain"]["links"]}
    is_known = last is None or last == state["chain"]["last"] or last in there
    if is_known or turn.is_fork or turn.is_nested or not there or removed_ids(state["chain"], state["messages"]):
        return {}
    logger.warning("What was archived in thread %s after its state was stored is part of it again.", turn.thread_id)
    return await restored(state["messages"], turn)


async def _settle(state: ConversationState, last: str | None, turn: Turn) -> Chain | None:
    """Note what has left the conversation: the archive has another end than this chain, or messages were removed.

    Where the conversation was cut short at its end, or its question was edited, no summary stands any longer for what
    is said no more: the chain is rebuilt and returned.
    """
    chain, messages, thread_id = state["chain"], state.get("messages") or [], turn.thread_id
    removed, asked = removed_ids(chain, messages), _edited_question(state)
    if not removed and asked is None and last == chain["last"]:
        return None
    edited = [] if asked is None else [str(asked.id)]
    await turn.user.branches.settle(thread_id, [str(message.id) for message in messages], removed, outdated=edited)
    if asked is not None and await turn.user.archive.changed_ids(thread_id, [asked]):  # not where it is resumed
        await turn.user.branches.edit(thread_id, [asked])
    is_cut = chain["last"] in removed and len(removed) < len(chain["known"])
    alone = {link["id"] for link in chain["links"] if "level" not in link and not link.get("kept")}
    if (is_cut or edited) and not alone.issuperset([*removed, *edited]):
        return await chain_from_archive(messages, turn)
    return None


def _edited_question(state: ConversationState) -> HumanMessage | None:
    """The message that is to be answered, where it was said with another content before."""
    chain, messages = state["chain"], state.get("messages") or []
    if not messages or not isinstance(asked := messages[-1], HumanMessage):
        return None
    return asked if chain["known"].get(str(asked.id)) not in {None, content_hash(asked)} else None


async def chain_from_archive(messages: Sequence[AnyMessage], turn: Turn) -> Chain:
    """The chain of a thread as its summaries in the archive tell; `messages` are those of its state.

    Raises:
        StorageError: the archive cannot be read.
    """
    archive, thread_id = turn.user.archive, turn.thread_id
    recent = policy_of(turn.settings).recent(turn.settings)
    standing = await archive.standing(thread_id, recent=recent, limit=MOST_STANDING)
    archived = await archive.known_ids(thread_id, [str(message.id) for message in messages])
    if not standing.positions and not archived:
        return empty_chain()
    links = [
        summary_link(standing.summaries[id_]) if id_ in standing.summaries else _message_link(id_, id_ in standing.kept)
        for id_ in standing.positions
    ]
    aside = await asyncio.to_thread(command_ids, messages)  # which may read word lists
    known = {str(m.id): content_hash(m) for m in messages if m.id in archived or m.id in aside}
    return Chain(links=links, known=known, last=standing.last)


def _is_aside(text: str) -> bool:
    return read_command(text) is not None or bool(may_ask(text))


def _message_link(id_: str, kept: bool) -> Link:
    return Link(id=id_, kept=True) if kept else Link(id=id_)


def command_ids(messages: Sequence[AnyMessage]) -> set[str]:
    """Ids of commands and requests to forget, and of the answers to them: no part of the chain; not of a newest one.

    A request that was not clear is archived like all else.
    """
    found: set[str] = set()
    aside = False
    for at, message in enumerate(messages):
        if isinstance(message, HumanMessage):
            aside = at + 1 < len(messages) and _is_aside(message_text(message))
        if aside:
            found.add(str(message.id))
    return found
