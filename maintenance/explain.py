"""`find_report`: the report of any turn of a thread, that of a turn included that broke off."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from ..graph.build import build_graph
from ..runtime.resources import Resources
from ..state.conversation import ConversationState
from ..state.errors import InputError, StorageError
from ..state.report_records import Progress, TurnReport
from ..state.turn_report import turn_report
from ..storage.open import checkpointer_of

_SHOWN: Final = re.compile(r"[A-Za-z_]\w*\((.*?),?\)", re.DOTALL)


async def find_report(resources: Resources, user_id: str, thread_id: str, turn: int = -1) -> TurnReport:
    """The report of a turn.

    Args:
        resources: those of the open graph: `graph.resources`.
        user_id: whose thread.
        thread_id: the id of the thread.
        turn: 1 is the first, 2 the second, -1 the last, -2 the one before.

    Raises:
        InputError: the user has no such thread, or there is no report of this turn in it.
        StorageError: the database cannot be reached, or the report is of another version of everthread.
    """
    user = resources.of_user(user_id)
    if not any(row["thread_id"] == thread_id for row in await user.archive.threads()):
        raise InputError(f"There is no thread {thread_id!r}: `everthread threads` lists yours.")
    broken = await _broken_off(resources, thread_id)
    last = max(await user.reports.last_turn(thread_id), broken.turn if broken else 0)
    number = turn if turn > 0 else last + 1 + turn
    if broken is not None and number == broken.turn:
        return broken
    kept = await user.reports.find(thread_id, number) if number > 0 else None
    if kept is None:
        turns = f"its turns are 1 to {last}, or -{last} to -1 from the end" if last else "no turn of it has one"
        raise InputError(f"There is no report of turn {turn} in thread {thread_id!r}: {turns}.")
    try:
        return TurnReport.model_validate(kept)
    except ValidationError:
        raise StorageError(
            f"The report of turn {number} cannot be read: it is of another version of everthread. Use that version."
        ) from None


async def _broken_off(resources: Resources, thread_id: str) -> TurnReport | None:
    """What there is of the thread's newest turn, if that one did not come to its end."""
    graph = build_graph(resources=resources).compile(checkpointer=checkpointer_of(resources.database))
    snapshot = await graph.aget_state({"configurable": {"thread_id": thread_id}})
    state: ConversationState = snapshot.values  # type: ignore[assignment]  # LangGraph gives the state as a plain dict
    progress, report = Progress.read(state.get("progress")), TurnReport.read(state.get("report"))
    if progress is None or (report is not None and report.turn >= progress.turn):
        return None
    waiting = [task.name for task in snapshot.tasks]
    where = f"at {', '.join(waiting)}" if waiting else "before its end"
    spent = sum(progress.milliseconds.values())
    unfinished = f"The turn has not come to its end: it is {where}. It still runs, or it broke off and can be resumed."
    if failed := next((task.error for task in snapshot.tasks if task.error), None):
        unfinished = f"The turn broke off {where} and can be resumed: {_sentence(failed)}"
    return turn_report(state, progress).model_copy(update={"unfinished": unfinished, "milliseconds": round(spent, 1)})


def _sentence(error: Any) -> str:
    """What an error says; a checkpoint keeps ours as JSON, and others as Python shows them, with their kind around."""
    if isinstance(error, Mapping):
        return str(error.get("message") or error.get("error"))
    shown = str(error)
    found = _SHOWN.fullmatch(shown.strip())
    try:
        return str(ast.literal_eval(found[1])) if found else shown
    except (ValueError, SyntaxError):
        return shown
