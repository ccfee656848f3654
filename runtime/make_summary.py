"""Making the summary of a batch: the summarizer that the settings name, and the checks."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.messages import AnyMessage

from ..compression.acceptance import text_hash
from ..compression.chain import Batch
from ..compression.writing import Summarizer, Written, write_summary
from ..settings.settings import Settings
from ..state.errors import EverthreadError, ModelError
from ..state.messages import message_text
from .turn import Turn

logger = logging.getLogger(__name__)


async def make_summary(batch: Batch, settings: Settings, turn: Turn, *, standing: Sequence[AnyMessage] = ()) -> Written:
    """The summary of a batch: the model's if one is set and its text can be accepted, else the extractive one.

    Raises:
        ModelError: the summary model failed, and the settings want no fallback.
    """
    hashes = frozenset(text_hash(message_text(message)) for message in standing)
    summarizer, missing = await _summarizer(settings, turn)
    written = await write_summary(batch, settings, thread_id=turn.thread_id, summarizer=summarizer, standing=hashes)
    return written._replace(instead=missing or written.instead)


async def _summarizer(settings: Settings, turn: Turn) -> tuple[Summarizer | None, str | None]:
    """The summarizer, or why there is none though the settings name one."""
    try:
        model = await turn.resources.models.summarizer(settings)
    except EverthreadError as error:
        if not settings.summary_fallback:
            raise ModelError(str(error)) from error
        logger.warning("The summary model cannot be loaded, the extractive summarizer serves: %s", error)
        return None, str(error)
    return (None if model is None else Summarizer(model, turn.quiet(), settings.timeouts.model)), None
