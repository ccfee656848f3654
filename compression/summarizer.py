"""`Summarizer`: a model that writes summaries, how it is called, and what becomes of a call that fails."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from ..models.chat import input_window, model_name
from ..models.locality import is_local_model
from ..models.sampling import refuses_temperature, sampled
from ..settings.run import RunSettings
from ..state.errors import ModelError, first_line

logger = logging.getLogger(__name__)

FAILED: Final = "the model failed"
"""How the reason begins where a model gave no text."""

TEMPERATURE: Final = 0.1
"""Of the summary model (seed `002`, "generateAISummary"), whatever that of the conversation is."""

_OVERHEAD: Final = 400
"""Tokens kept for the instructions."""

_REPLY: Final = 512
"""Tokens kept for the reply, at least."""

_LEAST_ROOM: Final = 300


@dataclass(frozen=True)
class Summarizer:
    """A model that writes summaries, and how it is called.

    Attributes:
        timeout: seconds for one call.
        tries: how often it is asked for one summary, at most.
        down: why it is not asked, and the extractive summarizer serves in its place.
        alone: whether it is asked for one summary a call.
    """

    model: BaseChatModel
    config: RunnableConfig
    timeout: float
    tries: int = 2
    down: str | None = None
    alone: bool = False

    @property
    def local(self) -> bool:
        """Whether it runs on this machine: then it gets the strict prompt, and is not asked for JSON."""
        return is_local_model(self.model)

    def room(self, settings: RunSettings) -> int:
        """Tokens of source that it can be given in one call."""
        window = input_window(self.model) or getattr(self.model, "n_ctx", None) or settings.max_context_tokens
        return max(_LEAST_ROOM, int(window) - max(settings.summary_length, _REPLY) - _OVERHEAD)


def failed(error: Exception, summarizer: Summarizer, settings: RunSettings) -> str:
    """Why the extractive summarizer serves in the place of a model that failed.

    Raises:
        ModelError: the settings want no fallback.
    """
    if not settings.summary_fallback:
        raise ModelError(
            f"The summary model {model_name(summarizer.model)!r} failed: {_kind(error)}. The messages stay as they "
            "are, and the next turn tries again."
        ) from error
    logger.warning("The summary model failed (%s), the extractive summarizer serves.", type(error).__name__)
    return f"{FAILED} ({type(error).__name__})"


async def reply_to(prompt: list[SystemMessage | HumanMessage], summarizer: Summarizer, most: int | None) -> AIMessage:
    """What the model replies, in so many tokens at most.

    Raises:
        Exception: whatever a provider raises; TimeoutError where it takes too long.
    """
    async with asyncio.timeout(summarizer.timeout):
        model = sampled(summarizer.model, temperature=TEMPERATURE, max_tokens=most)
        try:
            return await model.ainvoke(prompt, summarizer.config)
        except Exception as error:
            if not refuses_temperature(model, error):
                raise
            model = sampled(summarizer.model, temperature=TEMPERATURE, max_tokens=most)
            return await model.ainvoke(prompt, summarizer.config)


def _kind(error: BaseException) -> str:
    return "it took too long" if isinstance(error, TimeoutError) else first_line(error)
