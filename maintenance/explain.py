"""`find_report`: the report of any turn of a thread, that of one included that broke off; `turn_cost`: its price."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from pydantic import ValidationError

from ..settings.operator import Prices
from ..state.errors import InputError, StorageError
from ..state.report_records import Progress, TurnReport, advanced
from ..state.turn_report import turn_report
from ..storage.archive import Archive
from ..storage.open import checkpointer_of
from ..storage.reports import TurnReports
from ..storage.sparse_checkpoints import TASKS, waiting_nodes
from ..storage.storage import Storage
from ..storage.user_rows import UserRows

if TYPE_CHECKING:
    from langgraph.checkpoint.base import CheckpointTuple

    from ..runtime.resources import Resources

_NODES: Final = (
    "command", "keyword_check", "slm_router", "web_search", "memory_retrieval", "pairing", "context_assembly",
    "llm_call", "tools", "remember", "summarize",
)  # fmt: skip
"""As the diagram has them; the database keeps no order."""

_SHOWN: Final = re.compile(r"[A-Za-z_]\w*\((.*?),?\)", re.DOTALL)


class Opened(Protocol):
    """A graph or a memory that is open."""

    @property
    def resources(self) -> Resources:
        """What it works with."""


async def find_report(source: Opened | Storage, user_id: str, thread_id: str, turn: int = -1) -> TurnReport:
    """The report of a turn.

    Args:
        source: the open graph, an open memory, or their storage.
        user_id: whose thread.
        thread_id: the id of the thread.
        turn: 1 is the first, 2 the second, -1 the last, -2 the one before.

    Raises:
        InputError: the user has no such thread, or there is no report of this turn in it.
        StorageError: the database cannot be reached, or the report is of another version of everthread.
    """
    storage = cast("Opened", source).resources.database if hasattr(source, "resources") else source
    rows = UserRows(storage, user_id)
    if not await Archive(rows).has_thread(thread_id):
        raise InputError(f"There is no thread {thread_id!r}: `everthread threads` lists yours.")
    reports = TurnReports(rows)
    newest = await checkpointer_of(storage).aget_tuple({"configurable": {"thread_id": thread_id}})
    broken = None if newest is None else _broken_off(newest)
    last = max(await reports.last_turn(thread_id), broken.turn if broken else 0)
    number = turn if turn > 0 else last + 1 + turn
    if broken is not None and number == broken.turn:
        return broken
    kept = await reports.find(thread_id, number) if number > 0 else None
    if kept is None:
        turns = f"its turns are 1 to {last}, or -{last} to -1 from the end" if last else "no turn of it has one"
        raise InputError(f"There is no report of turn {turn} in this thread: {turns}.")
    try:
        return TurnReport.model_validate(kept)
    except ValidationError:
        raise StorageError(
            f"The report of turn {number} cannot be read: it is of another version of everthread. Use that version."
        ) from None


def turn_cost(report: TurnReport, prices: Prices) -> float | None:
    """What a turn cost, its tools' rounds and summaries included, in the currency of the prices.

    None where prices of input and output are not set, or a provider did not say how many tokens it counted.
    Of a request that failed nothing is known, and nothing is counted.
    """
    answered = [call for call in report.calls if getattr(call, "failure", None) is None]
    if prices.input is None or prices.output is None or not answered:
        return None
    total = 0.0
    for call in answered:
        if call.input_tokens is None or call.output_tokens is None:
            return None
        cached = call.cached_tokens or 0
        of_cached = prices.input if prices.cached is None else prices.cached
        total += (call.input_tokens - cached) * prices.input + cached * of_cached + call.output_tokens * prices.output
    return total / 1_000_000


def nodes_in_order(report: TurnReport) -> list[tuple[str, float]]:
    """The nodes of a turn in the order of the diagram, each with its milliseconds."""
    return sorted(report.nodes.items(), key=lambda node: _NODES.index(node[0]) if node[0] in _NODES else len(_NODES))


def _broken_off(newest: CheckpointTuple) -> TurnReport | None:
    """What there is of the turn of a thread's newest checkpoint, if it did not come to its end."""
    state, writes = newest.checkpoint["channel_values"], newest.pending_writes or []
    done = state.get("progress")
    for value in (value for _, channel, value in writes if channel == "progress"):
        done = advanced(done, value)
    progress, report = Progress.read(done), TurnReport.read(state.get("report"))
    if progress is None or (report is not None and report.turn >= progress.turn):
        return None
    from langgraph.checkpoint.serde.types import ERROR

    waiting = sorted("tools" if name == TASKS else name for name in waiting_nodes(newest.checkpoint))
    where = f"at {', '.join(waiting)}" if waiting else "before its end"
    spent = sum(progress.milliseconds.values())
    unfinished = f"The turn has not come to its end: it is {where}. It still runs, or it broke off and can be resumed."
    if failed := next((value for _, channel, value in writes if channel == ERROR), None):
        unfinished = f"The turn broke off {where} and can be resumed: {_sentence(failed)}"
    return turn_report(state, progress).model_copy(update={"unfinished": unfinished, "milliseconds": round(spent, 1)})


def _sentence(error: Any) -> str:
    """What an error says; a checkpoint keeps it as Python shows it, with its kind around."""
    shown = str(error)
    found = _SHOWN.fullmatch(shown.strip())
    try:
        return str(ast.literal_eval(found[1])) if found else shown
    except (ValueError, SyntaxError):
        return shown
