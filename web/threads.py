"""Conversations: the list, and each of them as it was said, with its summaries and with what a turn was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from langchain_core.messages import AIMessage
from starlette.responses import Response

from ..state.errors import InputError
from ..state.records import Summary
from ..state.report_records import EXCERPT, TurnReport
from ..storage.archive import ArchivedMessage
from ..storage.overview import Overview
from ..text.shorten import beginning, one_line
from .visit import Visit

PAGE: Final = 40
"""Messages of a page."""

_THREADS: Final = 50
SHOWN: Final = 3_000
"""Characters of a message that a page shows; the rest is a click away."""

_OPENING: Final = 200
_OFFERED: Final = 200
"""Conversations that a form offers to choose from."""

_LONGEST_TURN: Final = timedelta(hours=1)


class NamedThread(NamedTuple):
    """A conversation to choose: its id, what it is called, and how many messages it has."""

    id: str
    name: str
    messages: int


class _Entry(NamedTuple):
    """A message of a page.

    Attributes:
        message: as the archive has it.
        text: of it, as far as it is shown.
        is_cut: whether there is more.
        calls: tools that it calls: name and arguments.
        turn: the number of the turn that it is the reply of; None where that has no report.
        summary: the summary that ends with it; None where none does.
    """

    message: ArchivedMessage
    text: str
    is_cut: bool
    calls: Sequence[tuple[str, str]]
    turn: int | None
    summary: Summary | None


async def threads(visit: Visit) -> Response:
    """The list of conversations, the latest first, or those whose name or beginning holds what is looked for."""
    wanted, page = visit.asked("q").strip().lower(), visit.number("page", 1, 100_000)
    rows = await visit.memory.athreads()
    overview = Overview(visit.user.rows)
    if wanted:
        openings = await overview.openings([row["thread_id"] for row in rows], characters=_OPENING)
        rows = [
            row
            for row in rows
            if wanted in f"{row['name'] or ''}\n{row['thread_id']}\n{openings.get(row['thread_id'], '')}".lower()
        ]
    shown = rows[(page - 1) * _THREADS : page * _THREADS]
    if not wanted:
        openings = await overview.openings([row["thread_id"] for row in shown], characters=_OPENING)
    more = page + 1 if len(rows) > page * _THREADS else None
    return await visit.show(
        "threads.html", rows=shown, openings=openings, wanted=visit.asked("q"), total=len(rows), more=more, page=page
    )


async def thread(visit: Visit) -> Response:
    """A page of a conversation as it was said: its newest or first messages, those before one, or those around one."""
    id_, with_left, at = await visit.thread(visit.asked("id")), bool(visit.asked("left")), visit.asked("at")
    overview = Overview(visit.user.rows)
    before = visit.asked("before") or None
    if at:
        later = await overview.after(id_, at, limit=PAGE // 2 + 1, with_left=with_left)
        before = later[PAGE // 2] if len(later) > PAGE // 2 else None
    elif visit.asked("first"):
        begun = await overview.after(id_, "", limit=PAGE + 1, with_left=with_left)
        before = begun[PAGE] if len(begun) > PAGE else None
    found = await overview.page(id_, before=before, limit=PAGE + 1, with_left=with_left)
    shown = found[-PAGE:]
    newer = await overview.after(id_, shown[-1].id, limit=PAGE + 1, with_left=with_left) if shown and before else []
    values: dict[str, Any] = {
        "id": id_,
        "name": await thread_name(visit, id_),
        "entries": await _entries(visit, id_, shown),
        "older": shown[0].id if len(found) > PAGE else None,
        "newer": newer[PAGE] if len(newer) > PAGE else None,
        "is_newest": not newer,
        "meant": at,
        "with_left": with_left,
        "last_turn": await visit.user.reports.last_turn(id_),
    }
    return await visit.show("thread.html", **values)


async def named_threads(visit: Visit, chosen: str = "") -> list[NamedThread]:
    """The user's newest conversations, to choose from, by name or beginning; with the chosen one, however old."""
    rows = await visit.memory.athreads()
    rows = [*rows[:_OFFERED], *(row for row in rows[_OFFERED:] if row["thread_id"] == chosen)]
    openings = await Overview(visit.user.rows).openings([row["thread_id"] for row in rows], characters=_OPENING)
    return [
        NamedThread(
            row["thread_id"], row["name"] or openings.get(row["thread_id"]) or row["thread_id"], row["messages"]
        )
        for row in rows
    ]


async def message(visit: Visit) -> Response:
    """The whole text of one message."""
    thread_id, id_ = await visit.thread(visit.asked("thread")), visit.asked("id")
    found = await Overview(visit.user.rows).messages(thread_id, [id_])
    if not found:
        raise InputError("There is no such message.")
    return await visit.show("message.html", text=found[0].text)


async def thread_name(visit: Visit, thread_id: str) -> str:
    """What a conversation is called: its name, or how it begins."""
    overview = Overview(visit.user.rows)
    if name := await overview.name(thread_id):
        return name
    openings = await overview.openings([thread_id], characters=_OPENING)
    return one_line(openings.get(thread_id, ""), 60) or thread_id


async def _entries(visit: Visit, thread_id: str, shown: Sequence[ArchivedMessage]) -> list[_Entry]:
    ids = [message.id for message in shown]
    ends = _ends(shown, await Overview(visit.user.rows).summaries_of(thread_id, ids))
    turns = await _turns(visit, thread_id, shown)
    return [
        _Entry(
            message,
            beginning(message.text, SHOWN),
            len(message.text) > SHOWN,
            _calls_of(message.message),
            turns.get(message.id),
            ends.get(message.id),
        )
        for message in shown
    ]


def _calls_of(message: Any) -> list[tuple[str, str]]:
    """The tools that a message calls, with the arguments as text."""
    if not isinstance(message, AIMessage):
        return []
    return [(call["name"], beginning(str(call["args"]), SHOWN)) for call in message.tool_calls]


def _ends(shown: Sequence[ArchivedMessage], summaries: Sequence[Summary]) -> dict[str, Summary]:
    """By the last message of a page that a summary was made from, the summary; of several the newest."""
    summary_of = {id_: summary for summary in summaries for id_ in summary.source_ids}
    last = {summary_of[message.id].id: message.id for message in shown if message.id in summary_of}
    return {message_id: summary_of[message_id] for message_id in last.values()}


async def _turns(visit: Visit, thread_id: str, shown: Sequence[ArchivedMessage]) -> dict[str, int]:
    """By the message that replies, the number of its turn.

    A report names no message: it is that of the question that begins as it says and was kept when the turn had ended.
    """
    if not shown:
        return {}
    times = [message.created_at for message in shown]
    reports = await visit.user.reports.between(thread_id, min(times) - _LONGEST_TURN, max(times), limit=2 * PAGE)
    waiting: dict[str, list[TurnReport]] = {}
    for report in reports:  # the newest first: the last of each list is the oldest
        waiting.setdefault(report.question, []).append(report)
    found: dict[str, int] = {}
    turn: int | None = None
    replies: dict[int, str] = {}
    for message in shown:
        if message.role == "user":
            turn = _turn_of(message, waiting)
        if turn is not None:
            replies[turn] = message.id
    found |= {message_id: number for number, message_id in replies.items()}
    return found


def _turn_of(question: ArchivedMessage, waiting: Mapping[str, list[TurnReport]]) -> int | None:
    reports = waiting.get(one_line(question.text.strip(), EXCERPT), [])
    return reports.pop().turn if reports and reports[-1].started_at <= question.created_at else None
