"""`Spoken`: what a chat model has said so far, as those hear it who watch its tokens."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs


class Spoken(AsyncCallbackHandler):
    """Counts what was streamed: characters of text, and each piece of a tool call as one.

    Thinking does not count: it is no part of the answer. Where nobody asks for tokens, nothing is streamed.
    """

    run_inline = True

    def __init__(self) -> None:
        self.characters = 0

    def heard_in(self, config: RunnableConfig) -> RunnableConfig:
        """The config of a call to which this listens, too."""
        return merge_configs(config, {"callbacks": [self]})

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
