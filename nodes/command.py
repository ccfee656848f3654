"""The node `command`: a /command in the chat is answered by the graph itself (seed `003`, "User Commands").

Nothing else of the turn runs. A command and its answer stand in the conversation for people to see; they are no part of
the chain and of the archive.
"""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING, cast

from langchain_core.messages import AIMessage, HumanMessage

from ..compression.commands import SummaryCommand, read_command
from ..compression.thread import as_channel, control_of
from ..runtime.chain_texts import with_chain
from ..runtime.commands import command_answer
from ..runtime.turn import Turn
from ..state.errors import StorageError
from ..state.messages import content_hash, message_text
from ..state.update import Update, Whole

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)


def is_for_command(state: ConversationState) -> bool:
    """Whether the newest message is one of our commands, or answers what `/summary` has asked."""
    return _command_in(state) is not None


async def command(state: ConversationState, turn: Turn) -> Update:
    """Do what the command says, and answer it.

    Raises:
        ThreadOwnershipError: the thread belongs to another user.
    """
    found = _command_in(state)
    if found is None:
        return {}
    await _own(turn)
    asked = state["messages"][-1]
    # Without the command itself, which is no part of the chain.
    before = cast("ConversationState", {**state, "messages": state["messages"][:-1]})
    try:
        before, update = await with_chain(before, turn)
    except StorageError as error:
        logger.warning("The chain of the thread was not read: %s", error)
        update = {}
    answer = await command_answer(found, before, turn)
    reply = AIMessage(answer.text, id=str(uuid.uuid4()))
    control = answer.control or control_of(state)
    pending = control.model_copy(update={"asked_id": reply.id if control.pending else None})
    chain = answer.chain or before.get("chain")
    if chain is not None:
        aside = {str(message.id): content_hash(message) for message in (asked, reply)}
        update["chain"] = {**chain, "known": {**chain["known"], **aside}}
    return {
        **update,
        "messages": Whole([*before["messages"], asked, reply]) if "messages" in update else [reply],
        "command_answer": reply,
        "compression": as_channel(pending),
        "after_reply": answer.after_reply,
    }


def _command_in(state: ConversationState) -> SummaryCommand | None:
    messages = state["messages"]
    if not messages or not isinstance(messages[-1], HumanMessage):
        return None
    control = control_of(state)
    is_next = len(messages) > 1 and messages[-2].id == control.asked_id and control.asked_id is not None
    return read_command(message_text(messages[-1]), control.pending if is_next else None)


async def _own(turn: Turn) -> None:
    try:
        await turn.user.archive.own_thread(turn.thread_id)
    except StorageError as error:
        logger.warning("Whose thread this is was not checked: %s", error)
