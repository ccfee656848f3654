"""The node `slm_router`: where words do not decide, a small language model says whether to search the web.

Seed `000`, strategy 1, "LLM-Based Decision Making". With no small model set, the local router decides.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import MutableMapping, Sequence
from datetime import UTC, datetime
from typing import Final

from cachetools import LRUCache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage

from ..prompts.router import router_messages
from ..runtime.local_router import judge_locally
from ..runtime.turn import Turn
from ..search.cleaning import search_query
from ..search.router.answer import Answer
from ..search.router.call import ask, is_about
from ..search.router.standalone import standalone_query
from ..settings.settings import Settings
from ..state.conversation import ConversationState, Update
from ..state.errors import EverthreadError
from ..state.messages import earlier_questions, message_text, newest_question, role_of
from ..state.search_records import SearchOutcome
from ..text.shorten import beginning

_log = logging.getLogger(__name__)

_MAX_SECONDS: Final = 10.0
_TURNS: Final = 4
_LOOKED_AT: Final = 12
"""Messages before the question among which these turns are looked for."""

_TURN_CHARS: Final = 500
_QUESTION_CHARS: Final = 2000
_KEPT: Final = 512


Answers = MutableMapping[str, Answer]
"""Answers of small models by `answer_key`."""

_process_answers: Final[Answers] = LRUCache(_KEPT)


_begun: Final[OrderedDict[tuple[str, str, str], asyncio.Task[SearchOutcome]]] = OrderedDict()
"""Decisions that were begun before their node ran."""


def begin(state: ConversationState, turn: Turn) -> None:
    """Ask the small model, if one is set, while memory is searched; the node waits for what is left of it.

    LangGraph runs a node only when all nodes of the step before have ended, and memory retrieval is in that step.
    """
    if turn.settings.slm_model is None:
        return
    _begun[_key(state, turn)] = asyncio.create_task(_by_model(state, turn))
    while len(_begun) > _KEPT:
        _begun.popitem(last=False)[1].cancel()


async def slm_router(state: ConversationState, turn: Turn) -> Update:
    """Let the small model, or without one the local router, decide whether to search the web. Never raises."""
    if turn.settings.slm_model is None:
        return {"search": await judge_locally(state, turn.settings, turn.resources.embedder)}
    task = _begun.pop(_key(state, turn), None)
    if task is None or task.cancelled() or task.get_loop() is not asyncio.get_running_loop():
        return {"search": await _by_model(state, turn)}
    return {"search": await task}


def _key(state: ConversationState, turn: Turn) -> tuple[str, str, str]:
    """What tells the turn from others."""
    run = str((turn.config.get("metadata") or {}).get("run_id") or "")
    return turn.thread_id, run, str(state["messages"][-1].id if state["messages"] else "")


async def _by_model(state: ConversationState, turn: Turn) -> SearchOutcome:
    try:
        model = await turn.resources.models.router(turn.settings)
    except EverthreadError as error:
        return _failed(state, str(error))
    return await ask_model(state, turn.settings, model, _process_answers)


def answer_key(settings: Settings, prompt: Sequence[BaseMessage]) -> str:
    """What identifies a question to a small model: model, user, and all that it is shown, which holds the date."""
    parts = [settings.slm_model or "", settings.user_id, *(message_text(message) for message in prompt)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


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
    key = answer_key(settings, prompt) if answers is not None else ""
    if answers is not None and (known := answers.get(key)) is not None:
        return await _outcome(state, known, question)
    try:
        async with asyncio.timeout(seconds):
            answer = await ask(model, prompt, plain)
        if answers is not None and answer is not None:
            answers[key] = answer
        return await _outcome(state, answer, question)
    except TimeoutError:
        return _failed(state, f"The small model did not decide within {seconds:g} s.")
    except Exception as error:
        _log.warning("The small model failed to decide on a web search: %s.", type(error).__name__)
        return _failed(state, f"The small model failed to decide ({type(error).__name__}).")


def prompts(messages: Sequence[AnyMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """What asks the small model for the fields of a schema, and what asks it for a line of text."""
    question, turns, today = (
        beginning(newest_question(messages), _QUESTION_CHARS),
        _turns(messages),
        datetime.now(UTC).date(),
    )
    return router_messages(question, turns, today, structured=True), router_messages(question, turns, today)


async def _outcome(state: ConversationState, answer: Answer | None, question: str) -> SearchOutcome:
    if answer is None:
        return _failed(state, "The small model answered neither yes nor no.")
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
    asked = [place for place, message in enumerate(messages) if role_of(message) == "user"]
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


def _failed(state: ConversationState, error: str) -> SearchOutcome:
    return _decided(state, False, f"{error.rstrip('.')}, so the web is not searched.", error=error)
