"""The decision on a web search where the words do not decide and no small model is set."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ..models.embeddings import Embedder
from ..search.router.keywords import KeywordReading, read_question
from ..search.router.model import LocalRouter, local_router
from ..search.router.standalone import standalone_query
from ..settings.settings import Settings
from ..state.errors import EmbeddingError
from ..state.messages import earlier_questions, newest_question
from ..state.search_records import SearchOutcome
from .spoken import without_requests

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

_log = logging.getLogger(__name__)

_MAX_SECONDS: Final = 2.0
"""How long the decision waits for the embedding; then the signs decide."""


async def judge_locally(state: ConversationState, settings: Settings, embedder: Embedder | None) -> SearchOutcome:
    """The outcome of `keyword_check`, decided by the local router.

    Without an embedding, or where it takes longer than 2 s, the signs of the message decide. Where the router itself
    fails, no search is made and `error` says why. Never raises.
    """
    before = state.get("search") or SearchOutcome(decided_by="keywords", needed=None, reason="")
    text = newest_question(state["messages"])
    try:
        router, reading = await asyncio.to_thread(_read, text)
        vector, missing = await _vector(text, reading, router, settings, embedder)
        judgement = await asyncio.to_thread(router.judge, text, reading, vector)
        query = (
            await asyncio.to_thread(lambda: standalone_query(text, earlier_questions(without_requests(state))))
            if judgement.needed
            else ""
        )
    except Exception as error:
        _log.warning("The local router failed to decide on a web search: %s.", type(error).__name__)
        sentence = f"The local router failed to decide ({type(error).__name__})"
        update = {"needed": False, "reason": f"{sentence}, so the web is not searched.", "error": f"{sentence}."}
        return before.model_copy(update={"decided_by": "router", "query": None, **update})
    reason = (
        f"The local router sees {'a' if judgement.needed else 'no'} need for the web: probability "
        f"{judgement.probability:.2f} by {judgement.basis}, threshold {router.threshold:g}{missing}."
    )
    return before.model_copy(
        update={
            "decided_by": "router",
            "needed": judgement.needed,
            "probability": round(judgement.probability, 4),
            "reason": reason,
            "query": query or None,
        }
    )


def _read(text: str) -> tuple[LocalRouter, KeywordReading]:
    """The router and the signs of the message. Blocking: the first call reads both from disk."""
    return local_router(), read_question(text, datetime.now(UTC).year)


async def _vector(
    text: str, reading: KeywordReading, router: LocalRouter, settings: Settings, embedder: Embedder | None
) -> tuple[Sequence[float] | None, str]:
    """The embedding of the message, or None and why it is missing. Memory retrieval waits for the same call."""
    if embedder is None or not router.wants_vector(reading, embedder.name):
        return None, ""
    try:
        # The embedder's own timeout would mark its model as hanging; giving up here must not.
        async with asyncio.timeout(min(settings.timeouts.embedding, _MAX_SECONDS)):
            seconds, user_id = settings.timeouts.embedding, settings.user_id
            return await embedder.query(text, timeout=seconds, user_id=user_id), ""
    except TimeoutError:
        return None, "; the embedding took too long"
    except EmbeddingError:
        return None, "; there is no embedding"
