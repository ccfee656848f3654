"""Reports of turns without what is forgotten: those of its own thread, and those that quote it as a memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ..storage.archive_rows import as_jsonb
from ..storage.readable import UNREADABLE
from ..storage.user_rows import Exchange
from .forget_traces import Traces

Place = tuple[str, int]
"""Thread and turn."""


async def quoting_reports(rows: Exchange, traces: Traces) -> Mapping[Place, dict[str, Any]]:
    """The reports that quote what is forgotten, but for those of threads that go as a whole."""
    found: dict[Place, dict[str, Any]] = {}
    asked = {"questions": traces.questions, "words": traces.words}
    scopes: list[dict[str, Any]] = [
        {"threads": [], "thread_id": thread, "ids": [*ids, *traces.rewritten], **asked}
        for thread, ids in traces.ids.items()
    ]
    if traces.threads:
        scopes.append({"threads": sorted(traces.threads), "thread_id": "", "ids": [], "questions": [], "words": []})
    for scope in scopes:
        for row in await rows.fetch("deletion.reports_quoting", **scope):
            if row["thread_id"] in traces.threads:
                continue
            # A sealed one is read here: the database cannot tell what it quotes.
            if not row["is_sealed"] or _without(row["report"], row["thread_id"], traces) is not row["report"]:
                found[row["thread_id"], row["turn"]] = row["report"]
    return found


async def scrub_reports(rows: Exchange, traces: Traces, found: Mapping[Place, dict[str, Any]]) -> int:
    """Rewrite the reports that quote what is forgotten; of a turn that asked it, the report goes. Returns how many."""
    for (thread, turn), report in found.items():
        kept = await asyncio.to_thread(_without, report, thread, traces)
        place = {"thread_id": thread, "turn": turn}
        if kept is None:
            await rows.fetch("deletion.report", **place)
        else:
            await rows.fetch("deletion.keep_report", **place, report=as_jsonb(kept))
    return len(found)


def _without(report: dict[str, Any], thread_id: str, traces: Traces) -> dict[str, Any] | None:
    """A report without what is forgotten; None where it is about that, or is damaged: then nobody can tell."""
    try:
        return _kept(report, thread_id, traces)
    except UNREADABLE:
        return None


def _kept(report: dict[str, Any], thread_id: str, traces: Traces) -> dict[str, Any] | None:
    if thread_id in traces.ids and report.get("question") in traces.questions:
        return None
    kept: dict[str, Any] = traces.removed_from(report, thread_id)
    search = report.get("search") or {}
    asked = f"{search.get('query')} {search.get('sent')}".lower()
    return {**kept, "search": None} if any(word in asked for word in traces.words) else kept
