"""The model that is always there: it quotes what was said before, and says that it is no language model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from ..prompts.context import CLOSE, OPEN
from ..prompts.system import SYSTEM_TINY
from ..state.messages import message_text
from ..text.extractive import best_sentences
from ..text.replies import DISCLAIMER
from ..text.tokens import count_message_tokens, estimate_tokens

_FOUND: Final = "What was said before that fits best:"
_NOTHING: Final = "Nothing said before fits your message."
_QUOTES: Final = 3
_FENCED: Final = re.compile(
    r"\A" + re.escape(OPEN).replace(r"\{nonce\}", r"(?P<nonce>\w+)") + r"\n(?P<material>.*?)\n"
    + re.escape(CLOSE).replace(r"\{nonce\}", r"(?P=nonce)") + r"\s*",
    re.DOTALL,
)  # fmt: skip
_LABELS: Final = re.compile(
    r"\A(?:- (?:[a-z]+(?:, [^:]{1,60})?: )?|\(\d{4}-\d\d-\d\d[^)]*\) )?(?:(?:user|assistant|tool|summary): )?"
    r"(?P<said>.*?)(?: \(since [^()]*\))?\Z"
)
"""What stands around a line of the material: its day and speaker, or the kind of a fact and since when it holds."""

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
        for chunk in await asyncio.to_thread(list, _chunks(messages, stop)):
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
    material, question = _fenced_apart(message_text(messages[asked])) if asked >= 0 else ("", "")
    before = [message_text(message).replace(SYSTEM_TINY, "") for message in messages[: max(asked, 0)]]
    texts = [_without_own(text) for text in (*before, _said_in(material))]
    quotes = best_sentences(question, texts, _QUOTES)
    if not quotes:
        return f"{DISCLAIMER} {_NOTHING}"
    return "\n".join([f"{DISCLAIMER} {_FOUND}", *(f"- {' '.join(quote.split())}" for quote in quotes)])


def _fenced_apart(text: str) -> tuple[str, str]:
    """What is fenced before a question, and the question; see `prompts.context`."""
    match = _FENCED.match(text)
    return (match["material"], text[match.end() :]) if match else ("", text)


def _said_in(material: str) -> str:
    """The lines of the material without their labels, and without the headings over them."""
    found = (_LABELS.match(line) for line in material.splitlines() if not line.endswith(":"))
    return "\n".join(match["said"] for match in found if match)


def _without_own(text: str) -> str:
    """A text without what this model said in it: a quote of its own answers says nothing new."""
    kept: list[str] = []
    own = False
    for line in text.splitlines():
        own = DISCLAIMER in line or (own and line.startswith("- "))
        if not own:
            kept.append(line)
    return "\n".join(kept)
