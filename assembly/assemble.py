"""`assemble`: the messages for the model, and what they cost.

The stable part comes first, so that a provider's prompt cache serves it: one system message; the long-lived part, which
is summaries and what is known about the user; then the conversation as it was said. What is there for this turn alone
stands with the question (seed `000`, "Unified Context Assembly"): news about the user, search results, then memories,
the most relevant nearest the question.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from ..models.counting import TokenCounter
from ..prompts.context import BEGINS, GO_ON, LEFT_OUT
from ..state.chain import is_summary
from ..state.errors import SettingsError
from ..state.messages import clean_text, message_text
from ..state.records import Memory
from ..state.search_records import SearchResult
from ..state.turn_records import ContextReport, Section
from ..text.shorten import ELLIPSIS
from .chain import in_turn, joined, opening, take_apart
from .days import dated
from .draft import PromptDraft, PromptSources, draft
from .fence import fenced
from .fit import fit_message
from .layout import Layout
from .material import Material, fact_entries
from .sections import NO_ROOM
from .summary_messages import with_summary_messages

_ATTEMPTS: Final = 5
_SLACK: Final = 8
_TOOLS_SHARE: Final = 0.75
"""The share of the budget above which the definitions of tools leave no room to talk."""

_BARE_SYSTEM_SHARE: Final = 0.25


class Assembled(NamedTuple):
    """A prompt.

    Attributes:
        messages: for the model.
        report: what they cost, and what is not among them.
        memories: those that stand in the prompt, as they stand there.
    """

    messages: list[AnyMessage]
    report: ContextReport
    memories: tuple[Memory, ...] = ()


def assemble(
    chain: Sequence[AnyMessage],
    memories: Sequence[Memory],
    results: Sequence[SearchResult],
    *,
    system_prompt: str,
    budget: int,
    facts: Sequence[str] = (),
    news: Sequence[str] = (),
    tools: Sequence[Any] = (),
    counter: TokenCounter | None = None,
    layout: Layout | None = None,
    thread_id: str = "",
    turn_before: str | None = None,
    light: Collection[str] = (),
    unfolded: Collection[str] = (),
    importance: Mapping[str, float] = MappingProxyType({}),
    days: Mapping[str, date] = MappingProxyType({}),
    found: Sequence[str] = (),
) -> Assembled:
    """The messages for the model, and what they cost; on one day the same for the same arguments.

    What does not fit is left out in the order of `layout.trim`: by default memories and results (the least relevant
    first), then recent messages, then summaries (the oldest first), then facts. The question and the instructions
    stay; one that is larger than its share is cut. The report tells what is not in the prompt.

    Args:
        chain: the live chain; its last user message is the question.
        memories: the most relevant first; those that stand in the prompt already are passed over.
        results: the most relevant first.
        system_prompt: instructions.
        budget: tokens, at most, the definitions of tools included.
        facts: what is known about the user for longer, the most important first.
        news: what else is known, for this turn alone, the most important first.
        tools: what the model may call; their definitions are counted.
        counter: what counts; by default the estimate.
        layout: order, limits, and what gives way; by default those of the profile `multi_strategy`.
        thread_id: the thread of the chain, for memories of other threads.
        turn_before: the id of the message that began the turn before.
        light: ids of messages of the chain of which only a part is shown.
        unfolded: ids of summaries in whose place their messages stand in the chain.
        importance: of messages of the chain, by their ids: which of the recent ones stay where not all fit; without it
            the newest.
        days: of messages of the chain that begin another day, by their ids: it is told before them.
        found: ids of what the search found, the best first: what stands beside it in a memory has less room.

    Raises:
        SettingsError: the definitions of the tools take most of the budget.
        ModelError: the model's own token counter fails.
    """
    counter, layout = counter or TokenCounter(), layout or Layout()
    for_tools = counter.tools(tools)
    room = budget - for_tools
    if for_tools > _TOOLS_SHARE * budget:
        raise SettingsError(
            f"The definitions of {len(tools)} tools take {for_tools} of {budget} tokens of the prompt: bind fewer "
            "tools, or raise EVERTHREAD_MAX_CONTEXT_TOKENS."
        )
    parts = take_apart(chain, turn_before)
    instructions = "\n\n".join(text for text in (clean_text(system_prompt).strip(), parts.written) if text)
    asked = message_text(parts.question) if parts.question is not None else ""
    material = Material(results, memories, asked, layout, counter, thread_id, unfolded, found)
    known = fact_entries(facts, counter), fact_entries(news, counter)
    sources = PromptSources(instructions, parts, *known, material, frozenset(light), importance, days)
    made, prompt, tokens = _within(sources, layout, room, counter, thread_id)
    report = ContextReport(
        budget=budget,
        tokens=tokens + for_tools,
        sections=made.sections,
        tools=for_tools,
        counted_by=counter.name,
        factor=counter.factor,
    )
    return Assembled(prompt, report, made.memories)


def _within(
    sources: PromptSources, layout: Layout, room: int, counter: TokenCounter, key: str
) -> tuple[PromptDraft, list[AnyMessage], int]:
    """A prompt and its tokens, counted whole; made again smaller where its parts added up to more than the room."""
    target = room
    for attempt in range(_ATTEMPTS):
        made = draft(sources, layout, target, counter)
        prompt = _laid_out(made, layout, key, sources.days)
        tokens = counter.prompt(prompt)
        if tokens <= room:
            return made, prompt, tokens
        # What is cut by sentences may take less than it was given, and gets no smaller at first.
        target -= (tokens - room + _SLACK) * 2**attempt
    made, prompt = _bare(sources, room, counter)
    return made, prompt, counter.prompt(prompt)


def _laid_out(made: PromptDraft, layout: Layout, key: str, days: Mapping[str, date]) -> list[AnyMessage]:
    """The parts in the layout's order as messages whose roles alternate."""
    before, after = layout.before, layout.after
    if made.question is None:
        before, after = (*before, *(name for name in after if name in made.blocks)), ()
    leading = fenced([made.blocks[name] for name in before if name in made.blocks], key)
    found = fenced([made.blocks[name] for name in after if name in made.blocks], key)
    # What changes with the next cut stands behind what may outlast it.
    at = max((n for n, message in enumerate(made.earlier, start=1) if is_summary(message)), default=0)
    body: list[AnyMessage] = [dated(message, days) for message in made.earlier]
    told = ([leading] if leading else []) + ([LEFT_OUT] if made.left_out else [])
    body[at:at] = [HumanMessage(text) for text in told]
    if made.question is not None:
        question = dated(made.question, days)
        content = joined(found, question.content)
        body.append(question.model_copy(update={"content": content}) if found else question)
    body = with_summary_messages([*body, *made.tail])
    if body and isinstance(body[-1], AIMessage):
        # Some providers refuse to go on with what the assistant has begun.
        body.append(HumanMessage(GO_ON))
    system: list[AnyMessage] = [SystemMessage(made.instructions)] if made.instructions else []
    return in_turn([*system, *opening(body), *body])


def _bare(sources: PromptSources, room: int, counter: TokenCounter) -> tuple[PromptDraft, list[AnyMessage]]:
    """Instructions and question alone, both cut: for budgets in which nothing else can stand."""
    parts, material = sources.parts, sources.material
    system = SystemMessage(counter.truncate(sources.instructions, int(room * _BARE_SYSTEM_SHARE)) or ELLIPSIS)
    limit = room - counter.prompt([system]) - _SLACK
    said = parts.question if parts.question is not None else HumanMessage(BEGINS)
    question = fit_message(said, limit, counter)
    results, memories = material.compared([question], ())
    others = {
        "recent": sum(len(unit) for unit in (*parts.earlier, *parts.tail)),
        "results": len(results.entries),
        "memories": len(memories.entries),
        "facts": len(sources.facts.entries) + len(sources.news.entries),
    }
    cut = int(system.text != sources.instructions)
    sections = (
        Section(name="system", tokens=counter.text(system.text), items=1, cut=cut),
        Section(name="question", tokens=counter.messages([question]), items=1, cut=int(question is not said)),
        *(
            Section(name=name, tokens=0, items=0, dropped=count, reasons=(f"{count} {NO_ROOM}",))
            for name, count in others.items()
            if count or name == "recent"
        ),
    )
    return PromptDraft(system.text, question=question, sections=sections), [system, question]
