"""Assembly to a budget: pure functions that make the prompt out of chain, memories and search results.

The stable part comes first, so that a provider's prompt cache serves it: one system message, then the recent messages,
with summaries where their sources stood. What was found for the question stands with the question (seed `000`,
"Unified Context Assembly"): search results, then memories, the most relevant nearest the question.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from ..models.tokens import count_message_tokens, estimate_tokens, truncate_to_tokens
from ..prompts import context as fence
from ..prompts.system import SUMMARY
from ..state.messages import is_empty, is_summary, message_text
from ..state.records import Memory
from ..state.search_records import SearchResult
from ..state.turn_records import ContextReport, Section

T = TypeVar("T")

_QUESTION_SHARE: Final = 0.6
"""The share of the budget that one over-long user message may take."""

_INSTRUCTIONS_SHARE: Final = 0.25
"""The share of the budget that instructions may take."""

_LABEL: Final = 12
"""Tokens of the words that mark a summary as one."""

_OVERHEAD: Final = 60
"""Tokens kept for the fence, the headings and the joints between parts."""


class Parts(NamedTuple):
    """The live chain taken apart; `earlier` holds messages and summaries in their order."""

    instructions: str
    earlier: Sequence[AnyMessage]
    question: AnyMessage | None
    tail: Sequence[AnyMessage]


def assemble(
    chain: Sequence[AnyMessage],
    memories: Sequence[Memory],
    results: Sequence[SearchResult],
    *,
    system_prompt: str,
    budget: int,
) -> tuple[list[AnyMessage], ContextReport]:
    """The messages for the model, and what they cost.

    What does not fit is left out in this order: memories and results (the least relevant first), recent messages (the
    oldest first), summaries (the oldest first). Question and instructions stay; one that is larger than its share of
    the budget is cut.

    Args:
        chain: the live chain; its last user message is the question.
        memories: the most relevant first.
        results: the most relevant first.
        system_prompt: instructions.
        budget: tokens, at most.
    """
    parts = take_apart(chain, system_prompt, budget)
    left = budget - _OVERHEAD - estimate_tokens(parts.instructions) - count_message_tokens(parts.tail)
    left -= count_message_tokens([parts.question]) if parts.question is not None else 0
    all_summaries = [message for message in parts.earlier if is_summary(message)]
    all_recent = [message for message in parts.earlier if not is_summary(message)]
    summaries, left = _newest_that_fit(all_summaries, left, lambda summary: count_message_tokens([summary]) + _LABEL)
    recent, left = _newest_that_fit(all_recent, left, lambda message: count_message_tokens([message]))
    recent = _without_orphans(recent)
    result_texts = [_result_text(number, result) for number, result in enumerate(results, start=1)]
    kept_results, left = _first_that_fit(result_texts, left)
    kept_memories, left = _first_that_fit([_memory_text(memory) for memory in memories], left)

    kept = {message.id for message in (*summaries, *recent)}
    earlier = _with_summaries_told([message for message in parts.earlier if message.id in kept])
    final = _with_context(parts.question, kept_results, kept_memories)
    assembled = _alternating([SystemMessage(parts.instructions), *earlier, *final, *parts.tail])
    report = ContextReport(
        budget=budget,
        tokens=count_message_tokens(assembled),
        sections=(
            Section(name="system", tokens=estimate_tokens(parts.instructions), items=1),
            _section("summaries", [message_text(summary) for summary in summaries], of=len(all_summaries)),
            _section("recent", [message_text(message) for message in recent], of=len(all_recent)),
            _section("results", kept_results, of=len(results)),
            _section("memories", kept_memories, of=len(memories)),
            _section("question", [message_text(message) for message in [parts.question] if message], of=len(final)),
        ),
    )
    return assembled, report


def take_apart(chain: Sequence[AnyMessage], system_prompt: str, budget: int) -> Parts:
    """The chain as instructions, what was said earlier, the question, and what came after it (tool results)."""
    said = [m for m in chain if is_summary(m) or not (isinstance(m, SystemMessage) or is_empty(m))]
    asked = max((place for place, m in enumerate(said) if isinstance(m, HumanMessage)), default=None)
    written = [message_text(m) for m in chain if isinstance(m, SystemMessage) and not is_summary(m)]
    instructions = "\n\n".join(text for text in [system_prompt, *written] if text.strip())
    return Parts(
        instructions=truncate_to_tokens(instructions, int(budget * _INSTRUCTIONS_SHARE)),
        earlier=_without_refused_media(said[:asked] if asked is not None else said),
        question=_fit_question(said[asked], int(budget * _QUESTION_SHARE)) if asked is not None else None,
        tail=said[asked + 1 :] if asked is not None else [],
    )


def _without_refused_media(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages with images named instead of sent where no reply followed: the model failed on them before."""
    following = [*messages, None][1:]
    return [
        message.model_copy(update={"content": message_text(message)})
        if isinstance(message, HumanMessage)
        and not isinstance(message.content, str)
        and (after is None or isinstance(after, HumanMessage))
        else message
        for message, after in zip(messages, following, strict=True)
    ]


def _fit_question(question: AnyMessage, limit: int) -> AnyMessage:
    """The question; of an over-long text the head and the end stay, where the request mostly stands."""
    if not isinstance(question.content, str) or estimate_tokens(question.content) <= limit:
        return question
    return question.model_copy(update={"content": truncate_to_tokens(question.content, limit, keep="both")})


def _with_summaries_told(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages with each summary as a message that a provider takes, where its sources stood.

    After something the user said it is the assistant's, so that no question is left open; else it is the user's.
    Neighbouring summaries become one message.
    """
    told: list[AnyMessage] = []
    for place, message in enumerate(messages):
        if not is_summary(message):
            told.append(message)
            continue
        text = SUMMARY.format(text=message_text(message))
        if place and is_summary(messages[place - 1]):
            told[-1] = told[-1].model_copy(update={"content": f"{told[-1].content}\n{text}"})
        elif told and isinstance(told[-1], HumanMessage):
            told.append(AIMessage(text, id=message.id))
        else:
            told.append(HumanMessage(text, id=message.id))
    return told


def _newest_that_fit(items: Sequence[T], left: int, cost: Callable[[T], int]) -> tuple[list[T], int]:
    """The longest unbroken end of the items that fits into `left` tokens, and what is left then."""
    kept: list[T] = []
    for item in reversed(items):
        if cost(item) > left:
            break
        left -= cost(item)
        kept.append(item)
    return kept[::-1], left


def _first_that_fit(texts: Sequence[str], left: int) -> tuple[list[str], int]:
    """The texts, in their order, that fit into `left` tokens; a longer one is passed over for a shorter."""
    kept = []
    for text in texts:
        cost = estimate_tokens(text) + 1
        if cost <= left:
            left -= cost
            kept.append(text)
    return kept, left


def _without_orphans(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages without tool results whose call is gone, and without calls that have no result."""
    results = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    calls: set[str | None] = set()
    kept: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, AIMessage) and message.tool_calls:
            wanted = {call["id"] for call in message.tool_calls}
            if not wanted <= results:
                continue
            calls |= wanted
        if isinstance(message, ToolMessage) and message.tool_call_id not in calls:
            continue
        kept.append(message)
    return kept


def _with_context(question: AnyMessage | None, results: Sequence[str], memories: Sequence[str]) -> list[AnyMessage]:
    """The question with the fenced material before it; memories are turned round: the best stands last."""
    if question is None:
        return []
    if not results and not memories:
        return [question]
    nonce = secrets.token_hex(4)
    blocks = [fence.OPEN.format(nonce=nonce)]
    if results:
        blocks += [fence.RESULTS, *results]
    if memories:
        blocks += [fence.MEMORIES, *reversed(memories)]
    material = "\n".join([*blocks, fence.CLOSE.format(nonce=nonce)])
    return [question.model_copy(update={"content": _prepended(material, question.content)})]


def _prepended(text: str, content: str | list[str | dict[str, object]]) -> str | list[str | dict[str, object]]:
    if isinstance(content, str):
        return f"{text}\n\n{content}"
    return [{"type": "text", "text": text}, *content]


def _alternating(messages: Iterable[AnyMessage]) -> list[AnyMessage]:
    """Neighbouring messages of the user become one, for providers that demand alternating roles."""
    merged: list[AnyMessage] = []
    for message in messages:
        last = merged[-1] if merged else None
        if isinstance(last, HumanMessage) and isinstance(message, HumanMessage):
            merged[-1] = message.model_copy(update={"content": _joined(last.content, message.content)})
        else:
            merged.append(message)
    return merged


def _joined(
    first: str | list[str | dict[str, object]], second: str | list[str | dict[str, object]]
) -> str | list[str | dict[str, object]]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    as_blocks = [[{"type": "text", "text": part}] if isinstance(part, str) else part for part in (first, second)]
    return [*as_blocks[0], *as_blocks[1]]


def _result_text(number: int, result: SearchResult) -> str:
    date = f", {result.published}" if result.published else ""
    return fence.RESULT.format(number=number, title=result.title, url=result.url, date=date, content=result.content)


def _memory_text(memory: Memory) -> str:
    return "\n".join(
        fence.MEMORY.format(
            date=f"{fragment.created_at or memory.created_at:%Y-%m-%d}",
            speaker=fragment.name or fragment.role,
            content=fragment.content,
        )
        for fragment in memory.fragments
    )


def _section(name: str, texts: Sequence[str], *, of: int) -> Section:
    tokens = sum(estimate_tokens(text) for text in texts)
    return Section(name=name, tokens=tokens, items=len(texts), dropped=max(0, of - len(texts)))
