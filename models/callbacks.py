"""Callbacks that listen to chat models: what of a reply was streamed, and which requests were made."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk, LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from ..state.turn_records import ModelCall
from .failures import Failure, failure_of
from .replies import finish_of, tokens_of


def heard_by(listener: BaseCallbackHandler, config: RunnableConfig) -> RunnableConfig:
    """The config of a call to which this one listens, too."""
    return merge_configs(config, {"callbacks": [listener]})


class StreamCounter(AsyncCallbackHandler):
    """Counts what was streamed: characters of text, and each piece of a tool call as one.

    Thinking does not count: it is no part of the answer. Where nobody asks for tokens, nothing is streamed.
    """

    run_inline = True

    def __init__(self) -> None:
        self.characters = 0

    async def on_llm_new_token(
        self, token: Any, *, chunk: GenerationChunk | ChatGenerationChunk | None = None, **_: Any
    ) -> None:
        """Count a chunk."""
        message = getattr(chunk, "message", None)
        if isinstance(message, AIMessageChunk):
            self.characters += len(message.text) + len(message.tool_call_chunks)
        elif isinstance(token, str):
            self.characters += len(token)

    async def on_stream_event(self, event: Any, **_: Any) -> None:
        """Count an event of the streaming protocol v3."""
        delta = event.get("delta") if isinstance(event, dict) else None
        if isinstance(delta, dict) and delta.get("type") in {"text-delta", "text"}:
            self.characters += len(str(delta.get("text", "")))


class ShownReply(AsyncCallbackHandler):
    """Holds what was streamed of the newest reply: its text, and the id under which it was shown."""

    run_inline = True

    def __init__(self) -> None:
        self.text = ""
        self.id: str | None = None
        self._run_id: UUID | None = None

    async def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: UUID, **_: Any) -> None:
        """Another reply begins."""
        self.text, self.id, self._run_id = "", None, run_id

    async def on_llm_new_token(
        self, token: Any, *, run_id: UUID, chunk: GenerationChunk | ChatGenerationChunk | None = None, **_: Any
    ) -> None:
        """Hold a chunk."""
        message = getattr(chunk, "message", None)
        if run_id == self._run_id and isinstance(message, AIMessageChunk):
            self.text, self.id = self.text + message.text, self.id or message.id

    async def on_stream_event(self, event: Any, *, run_id: UUID, **_: Any) -> None:
        """Hold an event of the streaming protocol v3."""
        delta = event.get("delta") if isinstance(event, dict) else None
        if run_id == self._run_id and isinstance(delta, dict) and delta.get("type") in {"text-delta", "text"}:
            self.text += str(delta.get("text", ""))


class CallRecorder(BaseCallbackHandler):
    """Records each request to a chat model with its model, time, tokens and end."""

    run_inline = True

    def __init__(self) -> None:
        self._begun: dict[UUID, tuple[str, float]] = {}
        self._calls: list[ModelCall] = []

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """The requests that have ended, in the order in which they did."""
        return tuple(self._calls)

    def failed(self, name: str, seconds: float, failure: Failure) -> None:
        """Note a failure of the responder that is none of its requests'."""
        self._note(name, seconds, failure=failure.kind, error=failure.reason)

    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: UUID, metadata: dict[str, Any] | None = None, **_: Any
    ) -> None:
        """A request begins."""
        name = (metadata or {}).get("ls_model_name") or (serialized or {}).get("name") or "unknown"
        self._begun[run_id] = (str(name), time.perf_counter())

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """A request was answered."""
        begun = self._begun.pop(run_id, None)
        generation = response.generations[0][0] if response.generations and response.generations[0] else None
        reply = getattr(generation, "message", None)
        if begun is None or not isinstance(reply, AIMessage):
            return
        name, started = begun
        self._note(
            str(reply.response_metadata.get("model_name") or name),
            time.perf_counter() - started,
            finish=finish_of(reply)[0],
            **tokens_of(reply),
        )

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A request failed."""
        if (begun := self._begun.pop(run_id, None)) is not None:
            failure = failure_of(error)
            self._note(begun[0], time.perf_counter() - begun[1], failure=failure.kind, error=failure.reason)

    def _note(self, model: str, seconds: float, **how: Any) -> None:
        self._calls.append(ModelCall(model=model, milliseconds=round(seconds * 1000, 1), **how))
