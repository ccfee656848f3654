"""Marks for a provider's prompt cache, where the part of a prompt ends that the next turn begins with again.

| asked by | mark |
|---|---|
| Claude at Anthropic, on Vertex AI, on Bedrock (`ChatAnthropic...`, `ChatBedrock`) | `cache_control` on the block |
| Claude and Nova on Bedrock (`ChatBedrockConverse`) | a block `cachePoint` behind it |
| OpenAI, Azure, Gemini, DeepSeek and others | none: they cache what begins alike by themselves |

What is unknown gets no mark: a provider may refuse a block that it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, SystemMessage

from ..state.messages import question_at
from .chat import model_name

_ON_BLOCK: Final = frozenset(
    {"anthropic-chat", "anthropic-chat-vertexai", "anthropic-bedrock-chat", "anthropic-mantle-chat"}
)
"""Kinds of LangChain's chat models (`_llm_type`) that ask Claude, and take `cache_control` on any block of text."""

_BEDROCK: Final = "amazon_bedrock_chat"
_CONVERSE: Final = "amazon_bedrock_converse_chat"
_CLAUDE: Final = ("claude",)
_CACHING: Final = ("claude", "amazon.nova")
"""In the ids of models on Bedrock that have a cache; the others refuse a mark."""

_CONTROL: Final = {"cache_control": {"type": "ephemeral"}}
_POINT: Final = {"cachePoint": {"type": "default"}}


def with_cache_marks(
    messages: Sequence[AnyMessage], model: BaseChatModel | None, stable: int | None = None
) -> list[AnyMessage]:
    """The messages with a mark at the end of the instructions and of the stable part, of this turn and the one before.

    Three of the four marks that Anthropic and Bedrock allow. That of the turn before is where the cache was written
    last: a provider looks back by itself at 20 blocks at most, fewer than a turn with tools has, or not at all. What is
    shorter than their least (1,024 tokens and more) is not cached, and not refused.

    Args:
        messages: the prompt.
        model: whom it goes to; None, or one that takes no marks, leaves it as it is.
        stable: the index of the last message that the next turn's prompt begins with as well; by default that of the
            last one before the question, -1 where there is none.
    """
    marked = list(messages)
    if model is None or not (mark := _mark_of(model)):
        return marked
    end = (question_at(messages) or 0) - 1 if stable is None else stable
    before = (question_at(messages[: max(end + 1, 0)]) or 0) - 1
    instructions = 0 if messages and isinstance(messages[0], SystemMessage) else -1
    for at in {instructions, before, end}:
        if 0 <= at < len(marked):
            marked[at] = _marked(marked[at], mark)
    return marked


def _mark_of(model: BaseChatModel) -> Mapping[str, Any] | None:
    kind, name = model._llm_type, model_name(model).lower()
    if kind in _ON_BLOCK or (kind == _BEDROCK and any(known in name for known in _CLAUDE)):
        return _CONTROL
    return _POINT if kind == _CONVERSE and any(known in name for known in _CACHING) else None


def _marked(message: AnyMessage, mark: Mapping[str, Any]) -> AnyMessage:
    """The message with the mark on its last text, or behind it; unchanged where it ends in something else."""
    content: Any = message.content
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    last = {"type": "text", "text": blocks[-1]} if blocks and isinstance(blocks[-1], str) else blocks[-1:]
    last = last[0] if isinstance(last, list) and last else last
    if not isinstance(last, dict) or last.get("type") != "text" or not str(last.get("text", "")).strip():
        return message
    tail = [last, dict(mark)] if mark is _POINT else [{**last, **mark}]
    marked: AnyMessage = message.model_copy(update={"content": [*blocks[:-1], *tail]})
    return marked
