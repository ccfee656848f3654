"""`everthread explain`: a turn's report as a person reads it in a terminal, or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..maintenance.explain import find_report, nodes_in_order, turn_cost
from ..settings.operator import Prices
from ..state.report_records import TurnReport
from ..storage.storage import Storage
from ..text.count import counted
from .json_output import print_json
from .opening import Thread, thread_of


async def explain(
    storage: Storage,
    thread: Thread,
    turn: Annotated[int, typer.Argument(help="Which turn: 1 is the first, -1 the last.")] = -1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Print the report of a turn.

    Raises:
        InputError: there is no such thread or turn.
    """
    report = await find_report(storage, storage.settings.user_id, await thread_of(storage, thread), turn)
    if as_json:
        print_json(report)
    else:
        Console(highlight=False).print(as_text(report, storage.settings.prices))


def as_text(report: TurnReport, prices: Prices = Prices()) -> RenderableType:  # noqa: B008  # never changed
    """The report for a terminal: one paragraph a part of the turn; what it cost, where the prices are known."""
    head = f"Turn {report.turn}, {report.started_at:%Y-%m-%d %H:%M:%S %Z}, {report.milliseconds:g} ms"
    parts: list[RenderableType] = [Text(head, style="bold"), _line(report.question or "(no words)")]
    parts += [_line(report.unfinished, style="red")] if report.unfinished else []
    parts += [_line("The reply was stopped: what had been shown of it is kept.")] if report.stopped else []
    for title, lines in (
        ("Web search", _search(report)),
        ("Memories", _memories(report)),
        ("Context", _context(report)),
        ("Reply", _reply(report)),
        ("Afterwards", _after_reply(report)),
        ("Cost", _cost(report, prices)),
        ("Time", _times(report)),
        ("Degraded", [_line(sentence, style="red") for sentence in report.degraded] or [Text("nothing")]),
    ):
        parts += [Text(f"\n{title}", style="bold"), *(Padding(line, (0, 0, 0, 2)) for line in lines)]
    return Group(*parts)


def _search(report: TurnReport) -> Iterator[RenderableType]:
    if (search := report.search) is None:
        yield "not reached"
        return
    signs = ", ".join(f"{sign.found!r} ({sign.kind}, {sign.weight:+g})" for sign in search.signs)
    yield _line(f"{'yes' if search.needed else 'no'}, decided by {search.decided_by}: {search.reason}")
    if signs:
        yield _line(f"signs: {signs}, score {search.score:g}")
    if search.query:
        yield _line(f"query: {search.query}")
    if search.sent and search.sent != search.query:
        yield _line(f"sent: {search.sent}")
    for number, result in enumerate(search.results, start=1):
        yield _line(f"{number}. {result.title} <{result.url}> ({result.engine})")


def _memories(report: TurnReport) -> Iterator[RenderableType]:
    if report.recall is None:
        yield "not reached"
        return
    yield f"{len(report.memories)} from {counted(report.hits, 'hit')}"
    if not report.hits and (nearest := report.recall.nearest) is not None:
        yield _line(f"the nearest had a similarity of {nearest:.2f}, which is below similarity_threshold")
    if report.memories:
        table = _table("similarity", "score", "used", "found by", "said", "begins")
        for memory in report.memories:
            similarity = "" if memory.similarity is None else f"{memory.similarity:.2f}"
            said = f"{memory.created_at:%Y-%m-%d %H:%M}"
            used = "" if memory.used is None else f"{memory.used:.0%}"
            table.add_row(similarity, f"{memory.score:.2f}", used, memory.arms, said, _line(memory.excerpt))
        yield table


def _context(report: TurnReport) -> Iterator[RenderableType]:
    if (context := report.context) is None:
        yield "not reached"
        return
    yield f"{context.tokens} of {context.budget} tokens"
    table = _table("section", "tokens", "items", "left out")
    for section in context.sections:
        table.add_row(section.name, str(section.tokens), str(section.items), str(section.dropped or ""))
    yield table
    if context.left_out:
        yield _line(context.left_out)


def _reply(report: TurnReport) -> Iterator[RenderableType]:
    if (reply := report.reply) is None:
        yield "none"
        return
    used = [
        (reply.input_tokens, "tokens in"), (reply.cached_tokens or None, "of them cached"),
        (reply.output_tokens, "tokens out"),
    ]  # fmt: skip
    tokens = [f"{number} {what}" for number, what in used if number is not None]
    ended = [f"ended with {reply.finish}"] if reply.finish else []
    yield _line(", ".join([reply.model, *tokens, f"{reply.milliseconds:g} ms", *ended]))
    if reply.tool_rounds:
        yield f"after {counted(reply.tool_rounds, 'round')} of tool calls"
    for call in reply.calls if len(reply.calls) > 1 else ():
        yield _line(f"asked {call.model}: {call.failure or call.finish or 'answered'}, {call.milliseconds:g} ms")


def _after_reply(report: TurnReport) -> Iterator[RenderableType]:
    if (after_reply := report.after_reply) is None:
        yield "not reached"
        return
    messages, summaries = after_reply.archived, len(after_reply.summaries)
    yield f"{counted(messages, 'message')} archived, {counted(summaries, 'summary')} made"
    for summary in report.summaries:
        level = f"level {summary.level}" if summary.level else "master"
        agrees = next((made.score for made in after_reply.coherence if made.summary_id == summary.id), None)
        coherence = "" if agrees is None else f", coherence {agrees:.2f}"
        yield _line(f"{level} by {summary.model or summary.method}{coherence}: {summary.content}")
    if after_reply.regenerated:
        yield _line(f"made again, as it had been rejected: {', '.join(after_reply.regenerated)}")
    if after_reply.not_regenerated:
        yield _line(after_reply.not_regenerated)


def _cost(report: TurnReport, prices: Prices) -> Iterator[RenderableType]:
    kinds = ("input", "cached", "output")
    sums = {kind: sum(getattr(call, f"{kind}_tokens") or 0 for call in report.calls) for kind in kinds}
    if not sums["input"] and not sums["output"]:
        yield "no tokens were counted"
        return
    of_cache = f", {sums['cached']} of them from the provider's cache" if sums["cached"] else ""
    yield f"{sums['input']} tokens in{of_cache}, {sums['output']} out, in {counted(len(report.calls), 'request')}"
    if (cost := turn_cost(report, prices)) is not None:
        yield f"{cost:.6f} at the prices that are set"


def _times(report: TurnReport) -> Iterator[RenderableType]:
    table = _table("node", "ms")
    for node, spent in nodes_in_order(report):
        table.add_row(node, f"{spent:g}")
    yield table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(column, justify="right" if column in {"tokens", "items", "left out", "ms"} else "left")
    return table


def _line(text: str, style: str = "") -> Text:
    """Text as it is: no markup, and no control characters, which could steer the terminal."""
    return Text("".join(c for c in text if c >= " " and not "\x7f" <= c <= "\x9f"), style=style)
