"""A responder of one's own instead of the model call: any Runnable, or a compiled agent."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar, cast

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
from pydantic import BaseModel
from pydantic_core import to_json

from ..models.failures import Failure, failure_of
from ..models.replies import unusable
from ..state.errors import EverthreadError, ModelError, SettingsError
from ..state.messages import cleaned
from ..state.storable import fits_checkpoint, storable_data

logger = logging.getLogger(__name__)

Message = TypeVar("Message", bound=BaseMessage)

_STRUCTURED: Final = "structured_response"
"""Where LangChain's agents put an answer in the shape that they were asked for."""


class Responder:
    """Answers with a Runnable or a compiled graph.

    It is given the assembled messages: as `{"messages": [...]}` where its input is a mapping (a graph, a prompt with a
    placeholder of that name, a function that says so), else as a list. It returns a text, a message, a list of
    messages, or a mapping with `messages` or `output`; those of its messages that are new and the assistant's or a
    tool's enter the chain. A structured answer (a pydantic object, or `structured_response` of an agent whose last
    message is not the assistant's) enters it as JSON.

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
        self._inputs = _inputs(runnable) if self._takes_state else frozenset()

    @property
    def name(self) -> str:
        """What the responder calls itself."""
        return str(getattr(self._runnable, "name", None) or type(self._runnable).__name__)

    async def respond(
        self,
        messages: Sequence[AnyMessage],
        config: RunnableConfig,
        timeout: float,
        *,
        context: Any = None,
        state: Mapping[str, Any] | None = None,
    ) -> Response:
        """The new messages, the reply last, and what else the responder says.

        Args:
            messages: the prompt.
            config: of the run.
            timeout: seconds.
            context: of the application, or the settings of the run; a graph takes it as its own.
            state: what the responder kept beside its messages in the turn before.

        Raises:
            ResponderError: it failed, took too long, or returned nothing that can be used.
        """
        given = [_with_id(message) for message in messages]
        clock = asyncio.timeout(timeout)
        try:
            async with clock:
                said: Any = {**(state or {}), "messages": given} if self._takes_state else given
                output = await self._output(said, config, context)
        except GraphBubbleUp:
            # An interrupt, or a command to our graph.
            raise
        except asyncio.CancelledError as error:
            # What the responder raises itself, as a client's cancelled scope does, is a failure of it.
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            raise ResponderError(self.name, Failure("other", "it ended with CancelledError")) from error
        except Exception as error:
            if clock.expired():
                raise ResponderError(self.name, Failure("timeout", f"no reply in {timeout:g} s")) from None
            raise ResponderError(self.name, failure_of(error)) from error
        new = self._new(output, {str(message.id) for message in given})
        if (failure := unusable(cast("AIMessage", new[-1]))) is not None:
            raise ResponderError(self.name, failure)
        return Response(new, _structured(output), self._kept(output, state or {}))

    async def _output(self, given: Any, config: RunnableConfig, context: Any) -> Any:
        if not isinstance(self._runnable, PregelProtocol):
            return await self._runnable.ainvoke(given, config)
        options: Any = {} if context is None else {"context": context}
        if not _shows_tokens_of_this_graph_only(config):
            return await self._runnable.ainvoke(given, config, **options)
        # LangGraph leaves out what a graph inside a node says, unless `subgraphs=True`; its answer is ours here.
        output: Any = None
        async for mode, part in self._runnable.astream(given, config, stream_mode=["messages", "values"], **options):
            if mode == "messages":
                if isinstance(part[0], (AIMessage, ToolMessage)):
                    push_message(part[0], state_key=None)
            else:
                output = part
        return output

    def _kept(self, output: Any, before: Mapping[str, Any]) -> dict[str, Any] | None:
        """What a graph keeps beside its messages, and takes again: files, todos, notes.

        What it does not tell of stays as it was before. What no checkpoint can hold is left out: the turn would fail.
        """
        if not (self._takes_state and isinstance(output, Mapping)):
            return None
        told = {name: output[name] for name in self._inputs - {"messages", _STRUCTURED} if name in output}
        kept = {name: value for name, value in {**before, **told}.items() if value is not None}
        if unfit := [name for name, value in kept.items() if not fits_checkpoint(value)]:
            logger.warning("The responder %r keeps what no checkpoint can hold: %s.", self.name, ", ".join(unfit))
        return {name: value for name, value in kept.items() if name not in unfit}

    def _new(self, output: Any, known: set[str]) -> list[AnyMessage]:
        new = [
            cleaned(_with_id(message))
            for message in self._messages(output)
            if message.id not in known and isinstance(message, (AIMessage, ToolMessage))
        ]
        if isinstance(output, Mapping) and output.get(_STRUCTURED) is not None and not _ends_in_reply(new):
            # An agent that tells its answer by the call of a tool ends with the result of that call.
            new.append(_with_id(cleaned(AIMessage(_as_json(output[_STRUCTURED])))))
        if not _ends_in_reply(new):
            raise ResponderError(self.name, Failure("empty", "it returned no message of the assistant"))
        return new

    def _messages(self, output: Any) -> list[BaseMessage]:
        returned = f"a {type(output).__name__}"
        if isinstance(output, Mapping):
            returned = f"a mapping of {', '.join(repr(key) for key in output) or 'nothing'}"
            output = next((output[key] for key in ("messages", "output") if output.get(key) is not None), None)
        if isinstance(output, BaseModel) and not isinstance(output, BaseMessage):
            output = _as_json(output)
        if isinstance(output, str):
            output = AIMessage(output)
        if isinstance(output, BaseMessage):
            output = [output]
        try:
            read = convert_to_messages(output) if isinstance(output, Sequence) else []
        except (ValueError, TypeError, KeyError, NotImplementedError):
            read = []
        if not read:
            expected = (
                "a text, a message, a list of messages, a pydantic object, or a mapping with 'messages' or 'output'"
            )
            raise ResponderError(self.name, Failure("other", f"it returned {returned}, expected {expected}"))
        return [message_chunk_to_message(m) if isinstance(m, BaseMessageChunk) else m for m in read]


class Response(NamedTuple):
    """What a responder answered.

    Attributes:
        messages: new ones, the reply last.
        structured: the answer in the shape that it was asked for; None where there is none.
        state: what a graph keeps beside its messages; None where it keeps nothing.
    """

    messages: list[AnyMessage]
    structured: Any = None
    state: dict[str, Any] | None = None


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


def _ends_in_reply(messages: Sequence[AnyMessage]) -> bool:
    return bool(messages) and isinstance(messages[-1], AIMessage)


def _as_json(value: Any) -> str:
    return to_json(value, fallback=str).decode()


def _structured(output: Any) -> Any:
    if isinstance(output, BaseModel) and not isinstance(output, BaseMessage):
        return output
    given = output.get(_STRUCTURED) if isinstance(output, Mapping) else None
    return given if fits_checkpoint(given) else storable_data(given)


def _inputs(runnable: Runnable[Any, Any]) -> frozenset[str]:
    """The names of what a graph takes."""
    try:
        return frozenset(runnable.get_input_jsonschema().get("properties", {}))
    except Exception:  # a schema that cannot be written as JSON
        return frozenset()


def _takes_state(runnable: Runnable[Any, Any]) -> bool:
    try:
        schema = runnable.get_input_jsonschema()
    except Exception:  # a schema that cannot be written as JSON is not one of messages
        return isinstance(runnable, PregelProtocol)
    return schema.get("type") == "object"


def _shows_tokens_of_this_graph_only(config: RunnableConfig) -> bool:
    """Whether somebody streams the tokens of this graph without those of graphs inside it."""
    handlers = getattr(config.get("callbacks"), "handlers", None) or []
    return any(getattr(handler, "subgraphs", None) is False for handler in handlers)
