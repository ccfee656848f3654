"""Figures: tokens by section, from cache, against whole history; how near memories were; times, storage, backlog."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from statistics import median
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ..maintenance.explain import nodes_in_order, turn_cost
from ..settings.operator import Prices
from ..state.records import now
from ..state.report_records import TurnReport
from ..storage.overview import Overview
from .charts import columns, lines
from .threads import thread_name
from .visit import Visit

TURNS: Final = (50, 200, 1000)
"""How many of the newest turns are looked at, as the page offers."""

TABLE: Final = 20
"""Turns of the table of numbers."""


class _Figures(NamedTuple):
    """The numbers of one turn.

    Attributes:
        thread: where it was.
        turn: its number.
        prompt: tokens of the prompt.
        whole: tokens of a prompt with the whole conversation: instructions, tools, all that was said, the question.
        before: those of them that had been sent before.
        cached: the share of its input that a provider's cache served; None where no tokens were counted.
        similarity: of the nearest memory; None where nothing was compared.
        used: the highest share of the reply that a memory says too; None where none was told.
        cost: at the prices that are set; None where it is not known.
        milliseconds: of all of it.
    """

    thread: str
    turn: int
    prompt: int | None
    whole: int
    before: int
    cached: float | None
    similarity: float | None
    used: float | None
    cost: float | None
    milliseconds: float


async def plots(visit: Visit) -> Response:
    """The page with its pictures, of all conversations or of one."""
    thread, limit = visit.asked("thread"), visit.number("turns", TURNS[1], TURNS[-1])
    if thread:
        await visit.thread(thread)
    overview = Overview(visit.user.rows)
    reports = await visit.user.reports.newest(thread or None, limit=max(1, limit))
    first = min((report.started_at for _, report in reports), default=now())
    said = await overview.said_tokens({id_ for id_, _ in reports}, first)
    prices = visit.site.graph.resources.settings.prices
    rows = [_figures(id_, report, said.get(id_, []), prices) for id_, report in reports]
    return await visit.show(
        "plots.html",
        thread=thread,
        name=await thread_name(visit, thread) if thread else "",
        choices=TURNS,
        limit=limit,
        rows=rows[-TABLE:][::-1],
        number=len(rows),
        prompt=sum(row.prompt or 0 for row in rows),
        whole=sum(row.whole for row in rows if row.prompt is not None),
        ends=[f"turn {report.turn}, {report.started_at:%Y-%m-%d}" for _, report in (*reports[:1], *reports[-1:])],
        cost=_sum(row.cost for row in rows),
        costs=_whole_costs([report for _, report in reports], rows, prices),
        medians={"prompt": _median(row.prompt for row in rows), "time": _median(row.milliseconds for row in rows),
                 "cached": _median(row.cached for row in rows), "similarity": _median(row.similarity for row in rows)},
        sizes=await overview.sizes(),
        backlog=await overview.backlog(),
        **_pictures([report for _, report in reports], rows),
    )  # fmt: skip


def _figures(thread: str, report: TurnReport, said: Sequence[tuple[datetime, int]], prices: Prices) -> _Figures:
    at = bisect_left(said, report.started_at, key=lambda one: one[0])
    before, new, steady = said[at - 1][1] if at else 0, 0, 0
    if report.context is not None:
        tokens_of = {section.name: section.tokens for section in report.context.sections}
        new, steady = tokens_of.get("question", 0), tokens_of.get("system", 0) + report.context.tools
    tokens = [(call.input_tokens, call.cached_tokens or 0) for call in report.calls if call.input_tokens]
    similarity = max((m.similarity for m in report.memories if m.similarity is not None), default=None)
    if similarity is None and report.recall is not None:
        similarity = report.recall.nearest
    return _Figures(
        thread,
        report.turn,
        report.context.tokens if report.context else None,
        steady + before + new,
        steady + before if before else 0,
        sum(cached for _, cached in tokens) / sum(given for given, _ in tokens) if tokens else None,
        similarity,
        max((memory.used for memory in report.memories if memory.used is not None), default=None),
        turn_cost(report, prices),
        report.milliseconds,
    )


def _whole_costs(reports: Sequence[TurnReport], rows: Sequence[_Figures], prices: Prices) -> dict[str, float]:
    """What the turns whose cost is known would have cost with the whole conversation, without and with a cache."""
    if prices.input is None or prices.output is None:
        return {}
    of_cached = prices.input if prices.cached is None else prices.cached
    full, cached = 0.0, 0.0
    for report, row in zip(reports, rows, strict=True):
        if row.cost is not None and report.reply is not None:
            out = (report.reply.output_tokens or 0) * prices.output
            full += row.whole * prices.input + out
            cached += (row.whole - row.before) * prices.input + row.before * of_cached + out
    return {"full": full / 1_000_000, "cached": cached / 1_000_000}


def _pictures(reports: Sequence[TurnReport], rows: Sequence[_Figures]) -> dict[str, Any]:
    sections = _names((section.name, section.tokens) for r in reports if r.context for section in r.context.sections)
    nodes = _names(node for report in reports for node in nodes_in_order(report))
    by_section = [
        {section.name: section.tokens for section in report.context.sections} if report.context else {}
        for report in reports
    ]
    label = [f"turn {report.turn}" for report in reports]
    return {
        "sections": columns(_stacked(label, by_section, sections), sections),
        "nodes": columns(_stacked(label, [report.nodes for report in reports], nodes), nodes),
        "against": lines([
            ("the prompt that was sent", [row.prompt for row in rows]),
            ("the whole conversation", [row.whole for row in rows]),
        ]),
        "cached": lines([("from the provider’s cache", [row.cached for row in rows])], top=1.0),
        "near": lines([
            ("similarity of the nearest", [row.similarity for row in rows]),
            ("used in the reply", [row.used for row in rows]),
        ], top=1.0),
    }  # fmt: skip


def _names(found: Iterable[tuple[str, float]]) -> list[str]:
    """The names that have a value anywhere, in their order."""
    return list(dict.fromkeys(name for name, value in found if value))


def _stacked(
    labels: Sequence[str], values: Sequence[Mapping[str, float]], names: Sequence[str]
) -> list[tuple[str, Sequence[float]]]:
    return [(label, [of.get(name, 0.0) for name in names]) for label, of in zip(labels, values, strict=True)]


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
