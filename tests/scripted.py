"""A chat model that plays a script: replies, errors, and streams that break off; and tools for it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable


class BreaksOff(Exception):  # noqa: N818
    """Raised by a scripted model after it has said some words."""

    def __init__(self, said: str, error: Exception) -> None:
        super().__init__(said)
        self.said, self.error = said, error


class ScriptedModel(BaseChatModel):
    """Plays its script, one entry a request: a text, a message, an error to raise, or seconds to wait before the next.

    The last entry is played again for ever. It remembers all prompts, and what was bound to it.
    """

    script: list[Any]
    name_: str = "scripted"
    prompts: list[list[BaseMessage]] = []  # noqa: RUF012  # a pydantic field
    bound: list[Any] = []  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def model_name(self) -> str:
        return self.name_

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, Any]:  # type: ignore[override]
        self.bound = list(tools)
        return self

    def _next(self) -> Any:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def _chunks(self, entry: Any) -> Iterator[ChatGenerationChunk]:
        if isinstance(entry, BreaksOff):
            yield from self._chunks(AIMessage(entry.said))
            raise entry.error
        if isinstance(entry, BaseException):
            raise entry
        message = entry if isinstance(entry, AIMessage) else AIMessage(entry)
        words = re.findall(r"\S+\s*", message.content) if isinstance(message.content, str) else [message.content]
        for word in words:
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))
        calls = [
            tool_call_chunk(
                name=call["name"],
                args=call["args"] if isinstance(call["args"], str) else json.dumps(call["args"]),
                id=call["id"],
                index=position,
            )
            for position, call in enumerate([*message.tool_calls, *message.invalid_tool_calls])
        ]
        last = AIMessageChunk(
            content="" if isinstance(message.content, str) else [],
            tool_call_chunks=calls,
            additional_kwargs=message.additional_kwargs,
            response_metadata=message.response_metadata,
            usage_metadata=message.usage_metadata,
            chunk_position="last",
        )
        yield ChatGenerationChunk(message=last)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        self.prompts.append(messages)
        return generate_from_stream(self._chunks(self._next()))

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> ChatResult:
        self.prompts.append(messages)
        while isinstance(entry := self._next(), (int, float)):
            await asyncio.sleep(entry)
        return generate_from_stream(self._chunks(entry))

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.prompts.append(messages)
        while isinstance(entry := self._next(), (int, float)):
            await asyncio.sleep(entry)
        for chunk in self._chunks(entry):
            await asyncio.sleep(0)
            yield chunk


def scripted(*script: Any, name: str = "scripted") -> ScriptedModel:
    """A model that plays this script."""
    return ScriptedModel(script=list(script), name_=name, prompts=[], bound=[])


def calls(*wanted: tuple[str, Any], text: str = "", ids: Sequence[str | None] | None = None) -> AIMessage:
    """A reply that calls tools; arguments that are a string are no JSON."""
    made: list[Any] = [
        {"name": name, "args": args, "id": ids[position] if ids else f"c{position}"}
        for position, (name, args) in enumerate(wanted)
    ]
    return AIMessage(
        text,
        tool_calls=[{**call, "type": "tool_call"} for call in made if isinstance(call["args"], dict)],
        invalid_tool_calls=[
            {**call, "error": None, "type": "invalid_tool_call"} for call in made if isinstance(call["args"], str)
        ],
    )
