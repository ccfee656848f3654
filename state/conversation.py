"""`ConversationState`: what flows through the graph, one channel a key.

The state is bounded: it holds the newest messages, the ids of the chain, and this turn's working values, never the
whole history. That is in the archive. What is checkpointed is plain data and LangChain's messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import (
    Annotated,
    Any,
    NotRequired,  # pydantic asks for it below Python 3.12, to tell the schemas
)

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.channels import UntrackedValue
from langgraph.types import Interrupt
from typing_extensions import TypedDict

from .chain import Chain
from .fact_records import FactSheet
from .messages import add_said
from .records import Place, Recall, Summary
from .report_records import advanced
from .search_records import SearchOutcome
from .turn_records import AfterReply, Context, ContextReport, ReplyReport


class TurnInput(TypedDict):
    """The user's new message. The conversation so far is remembered and need not be sent."""

    messages: Annotated[list[AnyMessage], add_said]
    """The new message: an object with `role` ("user") and `content`, a pair of both, or a LangChain message."""


class TurnOutput(TypedDict, total=False):
    """What a turn gives back."""

    messages: Annotated[list[AnyMessage], add_said]
    """The conversation as people know it. The reply is the last message."""

    structured_response: Any
    """The answer in the shape that a responder of one's own was asked for."""


class TurnResult(TypedDict):
    """What `invoke` and `ainvoke` give back: a `TurnOutput`, and where the turn waits for somebody, what it asks."""

    messages: list[AnyMessage]
    """The conversation as people know it. The reply is the last message."""

    structured_response: NotRequired[Any]
    """The answer in the shape that a responder of one's own was asked for."""

    __interrupt__: NotRequired[Sequence[Interrupt]]
    """What a tool or a responder asks before the turn can go on: `Command(resume=...)` answers it."""


class ConversationState(TypedDict, total=False):
    """Everything the nodes read and write. What describes this turn alone is not checkpointed: it can be made again."""

    messages: Annotated[list[AnyMessage], add_said]
    """The conversation as people know it: what the user, the assistant and the tools said, in order, whole.

    The newest `visible_messages`; what is older is in the archive.
    """

    structured_response: Any
    """The answer in the shape that a responder of one's own was asked for."""

    chain: Chain
    """What the model is shown: ids of messages and summaries in their order."""

    compression: dict[str, Any]
    """What the commands in the chat have set for this thread: a `ThreadCompression`."""

    responder_state: dict[str, Any]
    """What an agent that answers keeps beside its messages from turn to turn: files, todos, notes."""

    progress: Annotated[dict[str, Any], advanced]
    """Which turn this is, and how long each node took: a `Progress`."""

    report: dict[str, Any]
    """What happened in the newest turn that came to its end, for a person to read: a `TurnReport`."""

    command_answer: Annotated[AnyMessage, UntrackedValue]
    """The graph's own answer to a command, for the stream of messages."""

    chain_texts: Annotated[Mapping[str, Summary | BaseMessage], UntrackedValue]
    """By id, the summaries of the chain, and its messages that are older than `messages`."""

    places: Annotated[Mapping[str, Place], UntrackedValue]
    """By id, where the messages stand that the chain and its newest summaries are made of."""

    search: Annotated[SearchOutcome, UntrackedValue]
    """Whether this turn searches the web, why, and what came of it."""

    recall: Annotated[Recall, UntrackedValue]
    """What was remembered for this turn."""

    facts: Annotated[FactSheet, UntrackedValue]
    """What this turn knows about its user."""

    context: Annotated[Context, UntrackedValue]
    """The messages that go to the model."""

    context_report: Annotated[ContextReport, UntrackedValue]
    """What the context cost in tokens, by section."""

    reply: Annotated[ReplyReport, UntrackedValue]
    """Which model answered."""

    unreadable: Annotated[Mapping[str, str], UntrackedValue]
    """By the ids of the tool calls of this reply whose arguments are no JSON, what the model wrote."""

    after_reply: Annotated[AfterReply, UntrackedValue]
    """What was archived, embedded and summarized after the reply."""
