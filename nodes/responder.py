"""A responder of one's own in the place of the model call: any Runnable, or a compiled agent."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    BaseMessageChunk,
    ToolMessage,
    convert_to_messages,
    message_chunk_to_message,
)
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.errors import GraphBubbleUp
from langgraph.graph.message import push_message
from langgraph.pregel.protocol import PregelProtocol

from ..models.failures import Failure, failure_of
from ..state.errors import EverthreadError, ModelError, SettingsError
from ..state.messages import cleaned

Message = TypeVar("Message", bound=BaseMessage)


class Responder:
    """Answers with a Runnable or a compiled graph.

    It is given the assembled messages: as `{"messages": [...]}` where its input is a mapping (a graph, a prompt with a
    placeholder of that name, a function that says so), else as a list. It returns a text, a message, a list of
    messages, or a mapping with `messages` or `output`; those of its messages that are new and the assistant's or a
    tool's enter the chain.

    Args:
        runnable: a Runnable, a compiled graph, or a function, async or not.

    Raises:
        SettingsError: it is none of these.
    """

    def __init__(self, runnable: Runnable[Any, Any] | Callable[..., Any]) -> None:
        if not isinstance(runnable, Runnable):
            if not callable(runnable):
                raise SettingsError(
                    f"A {type(runnable).__name__} is no responder: give a Runnable, a compiled graph or a function."
                )
            runnable = RunnableLambda(runnable)
        self._runnable = runnable
        self._takes_state = _takes_state(runnable)

    @property
    def name(self) -> str:
        """What the responder calls itself."""
        return str(getattr(self._runnable, "name", None) or type(self._runnable).__name__)

    async def respond(self, messages: Sequence[AnyMessage], config: RunnableConfig, timeout: float) -> list[AnyMessage]:
        """The new messages, the reply last; `timeout` is seconds.

        Raises:
            ResponderError: it failed, took too long, or returned nothing that can be used.
        """
        given = [_with_id(message) for message in messages]
        clock = asyncio.timeout(timeout)
        try:
            async with clock:
                output = await self._output({"messages": given} if self._takes_state else given, config)
        except GraphBubbleUp:
            # An interrupt, or a command to our graph.
            raise
        except Exception as error:
            if clock.expired():
                raise ResponderError(self.name, Failure("timeout", f"no reply in {timeout:g} s")) from None
            raise ResponderError(self.name, failure_of(error)) from error
        return self._new(output, {str(message.id) for message in given})

    async def _output(self, given: Any, config: RunnableConfig) -> Any:
        if not (isinstance(self._runnable, PregelProtocol) and _shows_tokens_of_this_graph_only(config)):
            return await self._runnable.ainvoke(given, config)
        # LangGraph leaves out what a graph inside a node says, unless `subgraphs=True`; its answer is ours here.
        output: Any = None
        async for mode, part in self._runnable.astream(given, config, stream_mode=["messages", "values"]):
            if mode == "messages":
                push_message(part[0], state_key=None)
            else:
                output = part
        return output

    def _new(self, output: Any, known: set[str]) -> list[AnyMessage]:
        new = [
            cleaned(_with_id(message))
            for message in self._messages(output)
            if message.id not in known and isinstance(message, (AIMessage, ToolMessage))
        ]
        if not new or not isinstance(new[-1], AIMessage):
            raise ResponderError(self.name, Failure("empty", "it returned no message of the assistant"))
        return new

    def _messages(self, output: Any) -> list[BaseMessage]:
        if isinstance(output, Mapping):
            output = next((output[key] for key in ("messages", "output") if output.get(key) is not None), None)
        if isinstance(output, str):
            output = AIMessage(output)
        if isinstance(output, BaseMessage):
            output = [output]
        try:
            read = convert_to_messages(output) if isinstance(output, Sequence) else []
        except (ValueError, TypeError, KeyError, NotImplementedError):
            read = []
        if not read:
            kind = type(output).__name__
            reason = f"it returned a {kind}, expected was a text, a message, a list of messages or a mapping with one"
            raise ResponderError(self.name, Failure("other", reason))
        return [message_chunk_to_message(m) if isinstance(m, BaseMessageChunk) else m for m in read]


class ResponderError(ModelError):
    """The responder failed; `failure` says how."""

    def __init__(self, name: str, failure: Failure) -> None:
        sentence = str(failure.error) if isinstance(failure.error, EverthreadError) else ""
        super().__init__(
            sentence or f"The responder {name!r} failed: {failure.reason}. What you said is kept: ask again."
        )
        self.failure = failure


def _with_id(message: Message) -> Message:
    return message if message.id else message.model_copy(update={"id": str(uuid.uuid4())})


def _takes_state(runnable: Runnable[Any, Any]) -> bool:
    try:
        schema = runnable.get_input_jsonschema()
    except Exception:  # a schema that cannot be told in JSON is not one of messages
        return isinstance(runnable, PregelProtocol)
    return schema.get("type") == "object"


def _shows_tokens_of_this_graph_only(config: RunnableConfig) -> bool:
    """Whether somebody streams the tokens of this graph without those of graphs inside it."""
    handlers = getattr(config.get("callbacks"), "handlers", None) or []
    return any(getattr(handler, "subgraphs", None) is False for handler in handlers)
