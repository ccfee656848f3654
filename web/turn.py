"""A turn explained: what was searched, remembered and shown to the model, what it took and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage
from starlette.responses import Response

from ..maintenance.explain import nodes_in_order, turn_cost
from ..state.messages import message_text, role_of
from ..state.report_records import TurnReport
from .charts import bar
from .threads import thread_name
from .visit import Visit


async def turn(visit: Visit) -> Response:
    """The report of a turn, as a page, or as the part of a page that htmx asks for."""
    thread_id = await visit.thread(visit.asked("thread"))
    report = await visit.memory.aexplain(thread_id, visit.number("turn", -1, 10_000_000))
    template = "turn_part.html" if visit.is_part else "turn.html"
    name = "" if visit.is_part else await thread_name(visit, thread_id)
    last = 0 if visit.is_part else await visit.user.reports.last_turn(thread_id)
    return await visit.show(template, thread=thread_id, name=name, last=last, **_explained(visit, report))


def _explained(visit: Visit, report: TurnReport) -> dict[str, Any]:
    prices = visit.site.graph.resources.settings.prices
    context = report.context
    parts = [(section.name, float(section.tokens)) for section in context.sections] if context else []
    if context and context.tools:
        parts.append(("tools", float(context.tools)))
    calls, after = report.calls, report.after_reply
    return {
        "report": report,
        "sections": bar([part for part in parts if part[1]], max(context.budget, context.tokens) if context else None),
        "nodes": nodes_in_order(report),
        "slowest": max(report.nodes.values(), default=1.0) or 1.0,
        "cost": turn_cost(report, prices),
        "has_prices": prices.input is not None and prices.output is not None,
        "tokens_in": sum(call.input_tokens or 0 for call in calls),
        "tokens_cached": sum(call.cached_tokens or 0 for call in calls),
        "tokens_out": sum(call.output_tokens or 0 for call in calls),
        "coherence": {made.summary_id: made.score for made in (after.coherence if after else ())},
    }


async def prompt(visit: Visit) -> Response:
    """What a model would be shown for a question now: its parts, and the text itself."""
    thread_id, question = await visit.thread(visit.asked("thread")), visit.asked("q").strip()
    values: dict[str, Any] = {"thread": thread_id, "name": await thread_name(visit, thread_id), "question": question}
    if not question:
        return await visit.show("prompt.html", **values, built=None, sections=[], parts=[])
    built = await visit.memory.abuild_context(question, thread_id=thread_id)
    parts = [(section.name, float(section.tokens)) for section in built.report.sections if section.tokens]
    return await visit.show(
        "prompt.html",
        **values,
        built=built,
        sections=bar(parts, max(built.report.budget, built.report.tokens)),
        parts=_texts(built.messages),
    )


def _texts(messages: Sequence[AnyMessage]) -> list[tuple[str, str]]:
    return [(role_of(message), message_text(message)) for message in messages]
