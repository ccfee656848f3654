"""Where words do not decide, a small language model says whether to search the web."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from cachetools import LRUCache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage

from ...prompts.router import router_messages
from ...settings.settings import Settings
from ...state.messages import earlier_questions, message_text, newest_question, role_of
from ...state.search_records import SearchOutcome
from ...text.shorten import beginning
from ..cleaning import search_query
from .answer import RouterAnswer
from .call import ask, is_about
from .standalone import standalone_query

if TYPE_CHECKING:
    from ...state.conversation import ConversationState

_log = logging.getLogger(__name__)

_MAX_SECONDS: Final = 10.0
_TURNS: Final = 4
_LOOKED_AT: Final = 12
"""Messages before the question among which these turns are looked for."""

_TURN_CHARS: Final = 500
_QUESTION_CHARS: Final = 2000

Answers = LRUCache[str, RouterAnswer]
"""Answers of small models that are kept, by model, user, and all that the model was shown."""


async def ask_model(
    state: ConversationState, settings: Settings, model: BaseChatModel | None, answers: Answers | None = None
) -> SearchOutcome:
    """The outcome of `keyword_check`, decided by the small model.

    No search is made without a model, where it fails or takes longer than 10 s or `settings.timeouts.model`, or
    where its answer is neither yes nor no; `reason` and `error` say why. An answer in `answers` is not asked for again.
    Never raises.
    """
    if model is None:
        return _decided(state, False, "No small model is configured to decide, so the web is not searched.")
    question = newest_question(state["messages"])
    if not question.strip():
        return _decided(state, False, "There is no user text to search for.")
    seconds = min(settings.timeouts.model, _MAX_SECONDS)
    prompt, plain = prompts(state["messages"])
    answers, key = Answers(1) if answers is None else answers, _key(settings, prompt)
    if (known := answers.get(key)) is not None:
        return await _outcome(state, known, question)
    try:
        async with asyncio.timeout(seconds):
            answer = await ask(model, prompt, plain)
        if answer is not None:
            answers[key] = answer
        return await _outcome(state, answer, question)
    except TimeoutError:
        return undecided(state, f"The small model did not decide within {seconds:g} s.")
    except Exception as error:
        _log.warning("The small model failed to decide on a web search: %s.", type(error).__name__)
        return undecided(state, f"The small model failed to decide ({type(error).__name__}).")


def _key(settings: Settings, prompt: Sequence[BaseMessage]) -> str:
    """What identifies a question to the model. It holds the date, so that no answer outlives its day."""
    parts = [settings.slm_model or "", settings.user_id, *(message_text(message) for message in prompt)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def prompts(messages: Sequence[AnyMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """What asks the small model for the fields of a schema, and what asks it for a line of text."""
    question, turns, today = (
        beginning(newest_question(messages), _QUESTION_CHARS),
        _turns(messages),
        datetime.now(UTC).date(),
    )
    return router_messages(question, turns, today, structured=True), router_messages(question, turns, today)


async def _outcome(state: ConversationState, answer: RouterAnswer | None, question: str) -> SearchOutcome:
    if answer is None:
        return undecided(state, "The small model answered neither yes nor no.")
    if not answer.needed:
        return _decided(state, False, "The small model sees no need for a web search.")
    query, reason = search_query(answer.query or ""), "The small model asks for a web search."
    if query and not await asyncio.to_thread(is_about, query, _said(state, question)):
        query, reason = "", f"{reason} Its query was about something else, so the question itself is searched for."
    if not query:
        query = await asyncio.to_thread(standalone_query, question, earlier_questions(state["messages"]))
    return _decided(state, True, reason, query)


def _said(state: ConversationState, question: str) -> str:
    """What the model was shown of the talk, in one text."""
    return "\n".join([*(text for _, text in _turns(state["messages"])), question])


def _turns(messages: Sequence[AnyMessage]) -> list[tuple[str, str]]:
    """Role and text of the last messages before the newest user message, shortened."""
    asked = [index for index, message in enumerate(messages) if role_of(message) == "user"]
    newest = asked[-1] if asked else len(messages)
    before: list[tuple[str, str]] = [
        (role_of(message), " ".join(message_text(message).split()))
        for message in messages[max(0, newest - _LOOKED_AT) : newest]
        if role_of(message) in {"user", "assistant"}
    ]
    return [(role, beginning(text, _TURN_CHARS)) for role, text in before if text][-_TURNS:]


def _decided(
    state: ConversationState, needed: bool, reason: str, query: str | None = None, error: str | None = None
) -> SearchOutcome:
    before = state.get("search") or SearchOutcome(decided_by="keywords", needed=None, reason="")
    return before.model_copy(
        update={"decided_by": "slm", "needed": needed, "reason": reason, "query": query, "error": error}
    )


def undecided(state: ConversationState, error: str) -> SearchOutcome:
    """The outcome where the small model could not be asked, or did not answer: no search, and why."""
    return _decided(state, False, f"{error.rstrip('.')}, so the web is not searched.", error=error)
