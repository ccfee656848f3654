"""`TokenCounter`: how the tokens of a prompt are counted for one chat model.

By the model's own tokenizer where it is at hand without a network: the one inside a GGUF file, tiktoken's where its
file is cached, a loaded one of Hugging Face, or the function `custom_get_token_ids` of a LangChain model. Else by the
estimate of `tokens`, with a margin for providers whose tokenizers are known to count more.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from ..state.errors import ModelError, first_line
from ..state.messages import clean_text
from ..text.shorten import ELLIPSIS, truncate_to_tokens
from ..text.tokens import MESSAGE_OVERHEAD, Count, count_json_tokens, count_message_tokens, estimate_tokens
from .gguf import GGUFChatModel
from .gguf_tokenizer import gguf_counter

logger = logging.getLogger(__name__)

ESTIMATE: Final = "estimate"
"""How a counter without a tokenizer is called."""

_TOOL_OVERHEAD: Final = 12
_TEMPLATE_OVERHEAD: Final = 6
"""Tokens around a message in the chat templates of small models."""

_REPLY_OPENING: Final = 4
"""Tokens with which a template opens the reply."""

_MARGINS: Final = {
    "anthropic-chat": 1.25, "chat-ollama": 1.25, "ollama-chat": 1.25, "everthread-gguf": 1.3, "mistralai-chat": 1.15,
}  # fmt: skip
"""By which the estimate is raised before a provider has reported a count."""

_OPENAI: Final = frozenset({"openai-chat", "azure-openai-chat"})
_ENCODINGS: Final = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
_CACHED_CHARACTERS: Final = 8_000_000


class _CountCache:
    """Remembers the counts of texts, the newest used ones, up to a sum of characters.

    It is asked a thousand times a turn. What was asked since half of the characters were full is in one dict, what was
    before in another, which is dropped when that is full.
    """

    def __init__(self, count: Count) -> None:
        self._count = count
        self._new: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._characters = 0
        self._lock = threading.Lock()

    def __call__(self, text: str) -> int:
        """The tokens of a text."""
        if (count := self._new.get(text)) is not None:
            return count
        if (count := self._old.get(text)) is None:
            count = self._count(text)
        if len(text) <= _CACHED_CHARACTERS // 2:
            with self._lock:
                self._note(text, count)
        return count

    def _note(self, text: str, count: int) -> None:
        if self._characters + len(text) > _CACHED_CHARACTERS // 2:
            self._old, self._new, self._characters = self._new, {}, 0
        self._new[text] = count
        self._characters += len(text)


_estimate: Final = _CountCache(estimate_tokens)


class TokenCounter:
    """Counts texts, messages and tools in tokens of one model.

    Args:
        name: what counts: "estimate", or the tokenizer's name.
        count: what counts a text.
        factor: by which each count is raised; see `Calibration`.
        overhead: tokens around each message.
        opening: tokens with which the template opens the reply.
    """

    def __init__(
        self,
        name: str = ESTIMATE,
        count: Count = _estimate,
        *,
        factor: float = 1.0,
        overhead: int = MESSAGE_OVERHEAD,
        opening: int = 0,
    ) -> None:
        self.name = name
        self.factor = factor
        self._count = count
        self._overhead = overhead
        self._opening = opening

    def raised(self, factor: float) -> TokenCounter:
        """The same counter with its factor raised to `factor`, if that is more."""
        if factor <= self.factor:
            return self
        return TokenCounter(self.name, self._count, factor=factor, overhead=self._overhead, opening=self._opening)

    def text(self, text: str) -> int:
        """The tokens of a text; 0 only for an empty one."""
        return self._raise(self._count(text)) if text else 0

    def messages(self, messages: Sequence[BaseMessage]) -> int:
        """The tokens of messages, with what the template adds around each."""
        return self._raise(count_message_tokens(messages, self._count, overhead=self._overhead))

    def prompt(self, messages: Sequence[BaseMessage]) -> int:
        """The tokens of a whole prompt."""
        return self.messages(messages) + self._opening

    def tools(self, tools: Sequence[Any]) -> int:
        """The tokens that the definitions of tools take."""
        return self._raise(sum(count_json_tokens(_definition(tool), self._count) + _TOOL_OVERHEAD for tool in tools))

    def truncate(self, text: str, limit: int, keep: Literal["start", "end", "both"] = "start") -> str:
        """The text cut to at most `limit` tokens; see `truncate_to_tokens`."""
        mark = f" {ELLIPSIS} " if keep == "both" else ELLIPSIS
        return truncate_to_tokens(text, limit, keep, mark=mark, count=self.text)

    def _raise(self, count: int) -> int:
        return count if self.factor == 1.0 else ceil(count * self.factor)


def _definition(tool: Any) -> Any:
    try:
        return convert_to_openai_tool(tool)
    except (ValueError, TypeError, AttributeError):
        return tool if isinstance(tool, dict) else str(tool)


async def counter_for(model: BaseChatModel) -> TokenCounter:
    """What counts for this model; a tokenizer is loaded in a thread.

    Raises:
        ModelError: from a count, when the model's own `custom_get_token_ids` fails.
    """
    if model.custom_get_token_ids is None and model._llm_type not in {*_OPENAI, "everthread-gguf"}:
        return _counter(model)
    return await asyncio.to_thread(_counter, model)


def _counter(model: BaseChatModel) -> TokenCounter:
    if model.custom_get_token_ids is not None:
        return TokenCounter("custom_get_token_ids", _own_count(model.custom_get_token_ids))
    if isinstance(model, GGUFChatModel):
        own = _cached_gguf(model.path)
        if own is not None:
            return TokenCounter(model.path.name, own, overhead=_TEMPLATE_OVERHEAD, opening=_REPLY_OPENING)
    encode = getattr(getattr(model, "tokenizer", None), "encode", None)
    if callable(encode):
        count = _hugging_face(encode)
        return TokenCounter("tokenizer", count, overhead=_TEMPLATE_OVERHEAD, opening=_REPLY_OPENING)
    if model._llm_type in _OPENAI and (encoding := _tiktoken(str(getattr(model, "model_name", "")))) is not None:
        return TokenCounter(encoding[0], encoding[1], opening=_REPLY_OPENING)
    return TokenCounter(factor=_MARGINS.get(model._llm_type, 1.0))


def _own_count(token_ids: Callable[[str], list[int]]) -> Count:
    """An error of the user's own counter is raised, for a prompt that is not counted may be any size."""

    def count(text: str) -> int:
        try:
            return len(token_ids(text))
        except Exception as error:
            reason = first_line(error)
            raise ModelError(
                f"The chat model's custom_get_token_ids failed: {reason}. Mend it, or leave it out: then tokens are "
                "estimated."
            ) from error

    return count


def _hugging_face(encode: Callable[..., Any]) -> Count:
    return lambda text: len(encode(clean_text(text), add_special_tokens=False))


@lru_cache(maxsize=8)
def _cached_gguf(path: Path) -> _CountCache | None:
    count = gguf_counter(path)
    return _CountCache(lambda text: count(clean_text(text))) if count is not None else None


@lru_cache(maxsize=32)
def _tiktoken(model: str) -> tuple[str, _CountCache] | None:
    """The encoding of an OpenAI model, if its file lies in tiktoken's cache: it would be downloaded otherwise."""
    try:
        import tiktoken

        name = tiktoken.encoding_name_for_model(model)
    except (ImportError, KeyError):
        return None
    default = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", default))
    file = hashlib.sha1(_ENCODINGS.format(name=name).encode(), usedforsecurity=False).hexdigest()
    if not folder or not (Path(folder) / file).is_file():
        return None
    try:
        encoding = tiktoken.get_encoding(name)
    except Exception as error:
        logger.warning("The encoding %s cannot be read, tokens are estimated: %s", name, first_line(error))
        return None
    return name, _CountCache(lambda text: len(encoding.encode_ordinary(clean_text(text))))
