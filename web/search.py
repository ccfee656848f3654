"""Search in memory: what the graph would find for a question, and why each was found."""

from __future__ import annotations

from datetime import datetime
from typing import Final, get_args

from starlette.responses import Response

from ..memory.pairing import with_fragments
from ..state.errors import InputError
from ..state.records import Memory, Role
from ..state.report_records import Recalled
from .threads import named_threads
from .visit import Visit

SHOWN: Final = 20
"""Memories of a page."""

_DEPTH: Final = 2_000
"""Memories among which filters choose: more than recall ranks for a question."""

_CHOSEN: Final = ("user", "assistant", "tool")


async def search(visit: Visit) -> Response:
    """The page with its form, and what was found."""
    query, thread, role = visit.asked("q").strip(), visit.asked("thread"), visit.asked("role")
    if role and role not in get_args(Role):
        raise InputError("There is no such role: expected user, assistant or tool.")
    since, until = visit.moment("since"), visit.moment("until", end=True)
    found: list[Memory] = []
    if query:
        if thread:
            await visit.thread(thread)
        limit = _DEPTH if since or until or role else SHOWN
        found = await visit.memory.arecall(query, thread_id=thread or None, limit=limit)
    threads = await named_threads(visit, thread)
    kept = [wanted for memory in found if (wanted := _wanted(memory, since, until, role)) is not None]
    return await visit.show(
        "search.html",
        query=query,
        thread=thread,
        role=role,
        roles=_CHOSEN,
        since=visit.asked("since"),
        until=visit.asked("until"),
        threads=threads,
        names={one.id: one.name for one in threads},
        found=[(memory, Recalled.of(memory).arms) for memory in kept[:SHOWN]],
        ranked=len(found) if since or until or role else 0,
        fitting=len(kept),
    )


def _wanted(memory: Memory, since: datetime | None, until: datetime | None, role: str) -> Memory | None:
    """Of a memory what was said in the span, and by whom it is asked for; a summary is nobody's word."""
    if (since and memory.created_at < since) or (until and memory.created_at >= until):
        return None
    if not role:
        return memory
    parts = [part for part in memory.fragments if part.role == role and memory.source_type == "message"]
    return with_fragments(memory, parts) if parts else None
