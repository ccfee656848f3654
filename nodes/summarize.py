"""Summarize: a part of the live chain becomes a summary that stands where it stood (seed `000`, strategy 3).

Archive first, then the summary, and only then the chain shrinks. One run of the node makes one summary; the edge
behind it leads back while more is due, level by level, up to the master summary.
"""

from __future__ import annotations

import logging

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.types import Overwrite

from ..models.chat import model_name
from ..models.extractive import summarize as extract
from ..models.tokens import estimate_tokens
from ..prompts.summarize import EXCERPT, INSTRUCTIONS, MERGE
from ..state.compression import Batch, compress, next_batch
from ..state.conversation import ConversationState, Update
from ..state.errors import EverthreadError, StorageError
from ..state.messages import clean_text, content_text, is_summary, message_text, role_of
from ..state.records import Summary
from ..state.turn_records import Upkeep
from .turn import Turn

logger = logging.getLogger(__name__)


async def summarize(state: ConversationState, turn: Turn) -> Update:
    """Make the summary that is due, store it, and put it into the chain.

    Where it cannot be stored, the chain stays as it is, `upkeep.error` says why, and the next turn tries again.
    """
    batch = next_batch(state["messages"], turn.settings)
    upkeep = state.get("upkeep", Upkeep())
    if batch is None:
        return {}
    try:
        summary = await make_summary(batch, turn)
        await turn.resources.archive.add_summary(turn.user_id, turn.thread_id, summary)
    except StorageError as error:
        logger.warning("The summary was not stored, the chain stays as it is: %s", error)
        return {"upkeep": upkeep.model_copy(update={"error": str(error)})}
    chain = compress(state["messages"], batch, summary)
    return {
        "messages": Overwrite(chain),
        "upkeep": upkeep.model_copy(update={"summaries": (*upkeep.summaries, summary.id)}),
    }


async def make_summary(batch: Batch, turn: Turn) -> Summary:
    """The summary of a batch: the model's if one is set and its text can be accepted, else the extractive one."""
    content, written_by = await _ask_model(batch, turn)
    if content is None:
        content = _extract(batch, turn.settings.summary_length)
    return Summary(
        id=Summary.id_for(turn.thread_id, batch.level, batch.source_ids),
        content=content,
        level=batch.level,
        source_ids=batch.source_ids,
        method="model" if written_by else "extractive",
        model=written_by,
        tokens=estimate_tokens(content),
    )


def is_acceptable(summary: str, source: str) -> bool:
    """Whether a model's text can stand for its source: there is some, and it is shorter."""
    return bool(summary.strip()) and len(summary) < max(len(source), 80)


async def _ask_model(batch: Batch, turn: Turn) -> tuple[str | None, str | None]:
    """The model's summary and its name; nothing where none is set, it failed, or its text cannot be accepted."""
    source = _source_text(batch)
    words = round(turn.settings.summary_length * 0.7)
    instructions = (INSTRUCTIONS if batch.level == 1 else MERGE).format(words=words)
    try:
        model = await turn.resources.summary_model(turn.settings)
        if model is None:
            return None, None
        prompt = [SystemMessage(instructions), HumanMessage(EXCERPT.format(text=source))]
        reply = await model.ainvoke(prompt, turn.quiet())
    except EverthreadError as error:
        logger.warning("The summary model failed, the extractive summarizer serves: %s", error)
        return None, None
    except Exception as error:  # a provider may raise anything; the turn must go on
        logger.warning("The summary model failed (%s), the extractive summarizer serves.", type(error).__name__)
        return None, None
    text = clean_text(content_text(reply.content)).strip()
    if is_acceptable(text, source):
        return text, model_name(model)
    logger.warning("A summary of %d characters was not accepted, the extractive summarizer serves.", len(text))
    return None, None


def _extract(batch: Batch, max_tokens: int) -> str:
    turns = [(_speaker(batch, place), message_text(message)) for place, message in enumerate(batch.sources)]
    return extract(turns, max_tokens) or "(nothing was said in words)"


def _source_text(batch: Batch) -> str:
    return "\n".join(
        f"{speaker}: {message_text(message)}" if (speaker := _speaker(batch, place)) else message_text(message)
        for place, message in enumerate(batch.sources)
    )


def _speaker(batch: Batch, place: int) -> str:
    message = batch.sources[place]
    return "" if is_summary(message) else message.name or role_of(message)
