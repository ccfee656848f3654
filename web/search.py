"""Search in memory: what the graph would find for a question, and why each was found."""

from __future__ import annotations

from datetime import datetime
from typing import Final, get_args

from starlette.responses import Response

from ..state.errors import InputError
from ..state.records import Memory, Role
from ..state.report_records import Recalled
from .visit import Visit

SHOWN: Final = 20
"""Memories of a page."""

_FOUND: Final = 100
"""Memories that are found, among which filters choose."""

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
        found = await visit.memory.arecall(query, thread_id=thread or None, limit=_FOUND, as_of=until)
    kept = [memory for memory in found if _is_wanted(memory, since, until, role)]
    return await visit.show(
        "search.html",
        query=query,
        thread=thread,
        thread_name="",
        role=role,
        roles=_CHOSEN,
        since=visit.asked("since"),
        until=visit.asked("until"),
        threads=await visit.memory.athreads(),
        found=[(memory, Recalled.of(memory).arms) for memory in kept[:SHOWN]],
        left_out=len(found) - len(kept),
    )


def _is_wanted(memory: Memory, since: datetime | None, until: datetime | None, role: str) -> bool:
    """Whether a memory was said in the span, and by whom it is asked for; a summary is nobody's word."""
    found = [part for part in memory.fragments if part.id in memory.source_ids]
    if role and (memory.source_type == "summary" or not any(part.role == role for part in found)):
        return False
    return not (since and memory.created_at < since) and not (until and memory.created_at >= until)
