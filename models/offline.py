"""The model that is always there: it quotes what was said before, and says that it is no language model."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from ..state.messages import message_text
from .extractive import best_sentences
from .tokens import count_message_tokens, estimate_tokens

DISCLAIMER: Final = "I am not a language model: no model is configured (set EVERTHREAD_MODEL)."
"""How every answer begins."""

_FOUND: Final = "What was said before that fits best:"
_NOTHING: Final = "Nothing said before fits your message."
_QUOTES: Final = 3
_WORD: Final = re.compile(r"\s*\S+|\s+\Z")


class OfflineChatModel(BaseChatModel):
    """Answers with the sentences of the messages before that match the last user message best. Never fails."""

    @property
    def _llm_type(self) -> str:
        return "everthread-offline"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": "offline"}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(messages, stop):
            if run_manager and chunk.text:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(messages, stop):
            if run_manager and chunk.text:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


def _chunks(messages: Sequence[BaseMessage], stop: Sequence[str] | None) -> Iterator[ChatGenerationChunk]:
    answer = _answer(messages)
    for ending in stop or ():
        answer = answer.split(ending, 1)[0] if ending else answer
    for word in _WORD.findall(answer):
        yield ChatGenerationChunk(message=AIMessageChunk(content=word))
    read, written = count_message_tokens(messages), estimate_tokens(answer)
    info = {"finish_reason": "stop", "model_name": "offline"}
    usage = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
    last = AIMessageChunk(content="", response_metadata=info, usage_metadata=usage, chunk_position="last")
    yield ChatGenerationChunk(message=last, generation_info=info)


def _answer(messages: Sequence[BaseMessage]) -> str:
    asked = max((at for at, message in enumerate(messages) if isinstance(message, HumanMessage)), default=-1)
    question = message_text(messages[asked]) if asked >= 0 else ""
    texts = [message_text(message) for message in messages[: max(asked, 0)] if not _is_own(message)]
    quotes = best_sentences(question, texts, _QUOTES)
    if not quotes:
        return f"{DISCLAIMER} {_NOTHING}"
    return "\n".join([f"{DISCLAIMER} {_FOUND}", *(f"- {' '.join(quote.split())}" for quote in quotes)])


def _is_own(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and message_text(message).lstrip().startswith(DISCLAIMER)
