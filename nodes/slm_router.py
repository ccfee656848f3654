"""The node `slm_router`: where words do not decide, a small language model says whether to search the web.

Seed `000`, strategy 1, "LLM-Based Decision Making". With no small model set, the local router decides.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.constants import TAG_NOSTREAM

from ..prompts.router import router_messages
from ..search.cleaning import cut, search_query
from ..state.conversation import ConversationState, Update
from ..state.errors import EverthreadError
from ..state.messages import is_summary, live_chain, message_text, newest_question, role_of
from ..state.search_records import SearchOutcome
from ..state.settings import Settings
from .local_router import judge_locally
from .turn import Turn

_log = logging.getLogger(__name__)

_MAX_SECONDS: Final = 10.0
_TURNS: Final = 4
_TURN_CHARS: Final = 500
_QUESTION_CHARS: Final = 2000
_KEPT: Final = 512
_YES: Final = frozenset({
    "yes", "y", "yeah", "yep", "true", "ja", "oui", "si", "sí", "sì", "sim", "da", "да", "так", "tak",
    "evet", "ano", "igen", "kyllä", "نعم", "हाँ", "是", "是的", "需要", "要", "对", "はい", "예", "네",
})  # fmt: skip
_NO: Final = frozenset({
    "no", "n", "nope", "false", "nein", "non", "não", "nao", "nee", "nej", "nie", "ne", "нет", "ні",
    "hayır", "nem", "ei", "لا", "नहीं", "否", "不", "不是", "不需要", "不用", "いいえ", "아니요", "아니오",
})  # fmt: skip
_ASIDE: Final = re.compile(r"(?s)<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)")
_LABEL: Final = re.compile(r"(?i)^\W*(?:answer|output|response|reply|decision|search needed|needs? search)\s*[:=]\s*")
_QUERY_LABEL: Final = re.compile(r"(?im)\b(?:search )?query\W{0,3}[:=]\s*(.+)$")
_QUOTES: Final = " \t\"'`“”„«»‘’*<>"


class Answer(NamedTuple):
    """What the small model decided."""

    needed: bool
    query: str | None


class Answers:
    """Answers of small models that are kept: the newest 512, by model, user, and all that the model was shown.

    The prompt holds the date, so that no answer outlives its day.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Answer] = OrderedDict()

    def key(self, settings: Settings, prompt: Sequence[BaseMessage]) -> str:
        """What identifies a question to the model."""
        parts = [settings.slm_model or "", settings.user_id, *(message_text(message) for message in prompt)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def get(self, key: str) -> Answer | None:
        """The answer to this question, if it is kept."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer; the one not asked for longest goes."""
        self._kept[key] = answer
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


_process_answers: Final = Answers()


async def slm_router(state: ConversationState, turn: Turn) -> Update:
    """Let the small model, or without one the local router, decide whether to search the web. Never raises."""
    if turn.settings.slm_model is None:
        return {"search": await judge_locally(state, turn.settings, turn.resources.embedder)}
    try:
        model = await turn.resources.router_model(turn.settings)
    except EverthreadError as error:
        return {"search": _failed(state, str(error))}
    return {"search": await ask_model(state, turn.settings, model, _process_answers)}


async def ask_model(
    state: ConversationState, settings: Settings, model: BaseChatModel | None, answers: Answers | None = None
) -> SearchOutcome:
    """The outcome of `keyword_check`, decided by the small model.

    No search is made without a model, where it fails or takes longer than 10 s or `settings.model_timeout`, or
    where its answer is neither yes nor no; `reason` and `error` say why. An answer in `answers` is not asked for again.
    Never raises.
    """
    if model is None:
        return _decided(state, False, "No small model is configured to decide, so the web is not searched.")
    question = newest_question(state["messages"])
    if not question.strip():
        return _decided(state, False, "There is no user text to search for.")
    seconds = min(settings.model_timeout, _MAX_SECONDS)
    prompt = router_messages(cut(question, _QUESTION_CHARS), _turns(state["messages"]), datetime.now(UTC).date())
    key = answers.key(settings, prompt) if answers is not None else ""
    if answers is not None and (known := answers.get(key)) is not None:
        return _outcome(state, known, question)
    try:
        async with asyncio.timeout(seconds):
            # Without the tag its tokens would show up in the stream that the user sees.
            reply = await model.ainvoke(prompt, config={"tags": [TAG_NOSTREAM]})
        answer = parse_answer(message_text(reply))
        if answers is not None and answer is not None:
            answers.put(key, answer)
        return _outcome(state, answer, question)
    except TimeoutError:
        return _failed(state, f"The small model did not decide within {seconds:g} s.")
    except Exception as error:
        _log.warning("The small model failed to decide on a web search: %s.", type(error).__name__)
        return _failed(state, f"The small model failed to decide ({type(error).__name__}).")


def _outcome(state: ConversationState, answer: Answer | None, question: str) -> SearchOutcome:
    if answer is None:
        return _failed(state, "The small model answered neither yes nor no.")
    if not answer.needed:
        return _decided(state, False, "The small model sees no need for a web search.")
    query = search_query(answer.query or "") or search_query(question)
    return _decided(state, True, "The small model asks for a web search.", query)


def parse_answer(text: str) -> Answer | None:
    """A model's yes or no and its query, from a line, JSON or prose in one of several languages; or None."""
    text = _ASIDE.sub("", text).replace("```json", "").replace("```", "").strip()
    if (parsed := _from_json(text)) is not None:
        return parsed
    text = _LABEL.sub("", text)
    words = re.findall(r"\w+", text.split("\n", 1)[0].casefold())[:8]
    verdict = next((word for word in words if word in _YES or word in _NO), None)
    if verdict is None:
        return None
    return Answer(True, _query_in(text)) if verdict in _YES else Answer(False, None)


def _from_json(text: str) -> Answer | None:
    match = re.search(r"(?s)\{.*\}", text)
    try:
        value = json.loads(match.group()) if match else None
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    fields = {str(name).casefold(): field for name, field in value.items()}
    query = next((field for name, field in fields.items() if "query" in name and isinstance(field, str)), None)
    for name, field in fields.items():
        if name in _YES and (isinstance(field, str) or field is True):
            return Answer(True, field if isinstance(field, str) else query)
        if isinstance(field, bool) or str(field).strip().casefold() in _YES | _NO:
            needed = field if isinstance(field, bool) else str(field).strip().casefold() in _YES
            return Answer(needed, query if needed else None)
    return None


def _query_in(text: str) -> str | None:
    """The query after "yes:", on the line below it, or after a label; nothing where prose follows the yes."""
    if labelled := _QUERY_LABEL.search(text):
        return labelled.group(1).strip(_QUOTES) or None
    first, _, rest = text.partition("\n")
    after = re.match(r"^\W*\w+\W{0,3}?\s*[:：–—-]\s*(.+)$", first.strip())
    if after:
        return after.group(1).strip(_QUOTES) or None
    bare = not re.search(r"\w\W+\w", first.strip())
    return (rest.strip().split("\n", 1)[0].strip(_QUOTES) or None) if bare and rest.strip() else None


def _turns(messages: Sequence[AnyMessage]) -> list[tuple[str, str]]:
    """Role and text of the last messages before the newest user message, shortened."""
    chain = live_chain(messages)
    newest = next(
        (
            place
            for place in reversed(range(len(chain)))
            if role_of(chain[place]) == "user" and not is_summary(chain[place])
        ),
        len(chain),
    )
    before: list[tuple[str, str]] = [
        ("summary" if is_summary(message) else role_of(message), " ".join(message_text(message).split()))
        for message in chain[:newest]
        if is_summary(message) or role_of(message) in {"user", "assistant"}
    ]
    return [(role, cut(text, _TURN_CHARS)) for role, text in before if text][-_TURNS:]


def _decided(
    state: ConversationState, needed: bool, reason: str, query: str | None = None, error: str | None = None
) -> SearchOutcome:
    before = state.get("search") or SearchOutcome(decided_by="keywords", needed=None, reason="")
    return before.model_copy(
        update={"decided_by": "slm", "needed": needed, "reason": reason, "query": query, "error": error}
    )


def _failed(state: ConversationState, error: str) -> SearchOutcome:
    return _decided(state, False, f"{error.rstrip('.')}, so the web is not searched.", error=error)
