"""What the chain of a thread needs beside the state: texts of its summaries, and the chain where a state has none."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from ..compression.commands import read_command
from ..compression.engine import policy_of
from ..state.chain import Chain, Link, empty_chain, summary_link
from ..state.conversation import ConversationState, Update
from ..state.live_chain import texts_missing
from ..state.messages import content_hash, message_text
from .turn import Turn

MOST_STANDING: Final = 2_000
"""Messages of a chain that is made from the archive, at most, the newest."""


async def with_chain(state: ConversationState, turn: Turn) -> tuple[ConversationState, Update]:
    """The state with its chain and its texts, and what of that the state lacked.

    A thread that was imported, that existed before everthread, or that is a part of another graph has no chain in its
    state: it follows from what the archive has.

    Raises:
        StorageError: the archive cannot be read.
    """
    update: Update = {}
    if state.get("chain") is None:
        update["chain"] = await chain_from_archive(state.get("messages") or [], turn)
        state = {**state, "chain": update["chain"]}
    messages, summaries = texts_missing(state)
    if messages or summaries or state.get("chain_texts") is None:
        found = dict(state.get("chain_texts") or {})
        if messages:
            newest = messages[-MOST_STANDING:]
            found |= await turn.resources.archive.whole_messages(turn.user_id, turn.thread_id, newest)
        if summaries:
            found |= await turn.resources.summaries.some(turn.user_id, turn.thread_id, summaries)
        update["chain_texts"] = found
        state = {**state, "chain_texts": found}
    return state, update


async def chain_from_archive(messages: Sequence[AnyMessage], turn: Turn) -> Chain:
    """The chain of a thread as its summaries in the archive tell; `messages` are those of its state.

    Raises:
        StorageError: the archive cannot be read.
    """
    archive, where = turn.resources.archive, (turn.user_id, turn.thread_id)
    recent = policy_of(turn.settings).recent(turn.settings)
    standing = await archive.standing(*where, recent=recent, limit=MOST_STANDING)
    archived = await archive.known_ids(*where, [str(message.id) for message in messages])
    if not standing.places and not archived:
        return empty_chain()
    links = [
        summary_link(standing.summaries[id_]) if id_ in standing.summaries else _message_link(id_, id_ in standing.kept)
        for id_ in standing.places
    ]
    aside = _commands(messages)
    known = {str(m.id): content_hash(m) for m in messages if m.id in archived or m.id in aside}
    return Chain(links=links, known=known, last=standing.last)


def _message_link(id_: str, kept: bool) -> Link:
    return Link(id=id_, kept=True) if kept else Link(id=id_)


def _commands(messages: Sequence[AnyMessage]) -> set[str]:
    """Ids of commands in the chat and of the answers to them, which are no part of the chain; not of a newest one."""
    found: set[str] = set()
    for asked, answer in pairwise(messages):
        if isinstance(asked, HumanMessage) and isinstance(answer, AIMessage) and read_command(message_text(asked)):
            found |= {str(asked.id), str(answer.id)}
    return found
