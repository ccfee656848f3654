"""The one call by which the small model decides on a web search: with a schema where the model takes one, else as text.

What does not keep to the schema is read leniently, and so is text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from ...prompts.router import SearchDecision
from ...state.messages import message_text
from ...text.terms import search_terms
from .answer import RouterAnswer, parse_answer

_REFUSED: Final = re.compile(r"(?i)\b(?:tools?|functions?|tool_choice|response_format|json_schema|structured)\b")
"""What is in the error of a model that takes no schema, though its class says so: many hosts serve such models."""


_ABOUT: Final = 3
"""A query is taken if one in this many of its terms was said."""


def _takes_schema(model: BaseChatModel) -> bool:
    """Whether the model answers by a schema: its profile says so, or else it takes tools."""
    profile: dict[str, Any] = dict(model.profile or {})
    known = profile.get("structured_output", profile.get("tool_calling"))
    if type(model).with_structured_output is not BaseChatModel.with_structured_output:
        return known is not False
    return bool(known is not False and type(model).bind_tools is not BaseChatModel.bind_tools)


def is_about(query: str, said: str) -> bool:
    """Whether a query is about what was said: at least a third of its terms are there.

    A very small model makes up queries about something else (`bench/query_rewrite.py` measures it).
    """
    asked = set(search_terms(query))
    return bool(asked) and _ABOUT * len(asked & set(search_terms(said))) >= len(asked)


async def ask(model: BaseChatModel, prompt: Sequence[BaseMessage], plain: Sequence[BaseMessage]) -> RouterAnswer | None:
    """The model's yes or no and its query; None where its answer is neither. Raises what the model raises.

    Args:
        model: the small model.
        prompt: what asks for the fields of `SearchDecision`.
        plain: what asks for a line of text: for a model that takes no schema, or that refuses one.
    """
    # Without LangGraph's tag its tokens would show up in the stream that the user sees.
    config: Any = {"tags": ["nostream"]}
    if _takes_schema(model):
        try:
            asked = model.with_structured_output(SearchDecision, include_raw=True)
            return _structured(await asked.ainvoke(list(prompt), config=config))
        except Exception as error:
            if not isinstance(error, NotImplementedError) and not _REFUSED.search(str(error)):
                raise
    return parse_answer(message_text(await model.ainvoke(list(plain), config=config)))


def _structured(reply: Any) -> RouterAnswer | None:
    """The answer in what `with_structured_output(include_raw=True)` gave."""
    if not isinstance(reply, dict):
        return None
    if isinstance(parsed := reply.get("parsed"), SearchDecision):
        return RouterAnswer(parsed.needs_search, (parsed.query.strip() or None) if parsed.needs_search else None)
    raw = reply.get("raw")
    if not isinstance(raw, BaseMessage):
        return None
    for call in getattr(raw, "tool_calls", None) or getattr(raw, "invalid_tool_calls", None) or ():
        if (answer := parse_answer(_arguments(call.get("args")))) is not None:
            return answer
    return parse_answer(message_text(raw))


def _arguments(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
