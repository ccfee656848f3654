"""`SummaryRows`: summaries that are made again. One keeps its id; its earlier texts are kept as versions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple

from langchain_core.messages import AnyMessage

from ..state.chain import SummaryMessage
from ..state.compression_records import SummaryVersion
from ..state.records import Summary, now
from .archive_rows import messages_by_id
from .readable import readable
from .sources import summaries_of, summary_row
from .user_rows import Exchange, UserRows
from .values import Row

Fetch = Callable[..., Awaitable[list[Row]]]
"""Runs a query by its name, with its values, and returns its rows."""


class SummarySources(NamedTuple):
    """What a summary was made from, in its order: messages, and summaries as a chain holds them.

    Attributes:
        messages: those that are there.
        missing: ids of those that are gone.
        left: ids of those that have left the conversation.
    """

    messages: tuple[AnyMessage, ...]
    missing: tuple[str, ...]
    left: frozenset[str] = frozenset()


class SummaryRows:
    """The summaries of one user, to be made again.

    Args:
        rows: the user's.
    """

    def __init__(self, rows: UserRows) -> None:
        self._rows = rows

    async def named(self, beginning: str) -> list[tuple[str, str]]:
        """Thread and id of the user's summaries whose id begins so."""
        rows = await self._rows.fetch("summaries.names")
        return [(row["thread_id"], row["id"]) for row in rows if row["id"].startswith(beginning)]

    async def some(self, thread_id: str, ids: Collection[str]) -> dict[str, Summary]:
        """By id, those of these summaries that the archive holds."""
        if not ids:
            return {}
        rows = await self._rows.fetch("summaries.some", thread_id=thread_id, ids=list(ids))
        return {summary.id: summary for summary in summaries_of(self._rows, rows)}

    async def sources(self, thread_id: str, ids: Sequence[str]) -> SummarySources:
        """The direct sources of a summary, which has their ids, in their newest texts."""
        return await self._sources(self._rows.fetch, thread_id, ids)

    async def _sources(self, fetch: Fetch, thread_id: str, ids: Sequence[str]) -> SummarySources:
        messages = await fetch("summaries.messages", thread_id=thread_id, ids=list(ids))
        summaries = await fetch("summaries.some", thread_id=thread_id, ids=list(ids))
        found = messages_by_id(self._rows, messages)
        found |= {summary.id: SummaryMessage.of(summary) for summary in summaries_of(self._rows, summaries)}
        left = frozenset(row["id"] for row in (*messages, *summaries) if row["left_at"] is not None)
        missing = tuple(id_ for id_ in ids if id_ not in found)
        return SummarySources(tuple(found[id_] for id_ in ids if id_ in found), missing, left)

    async def rejected(self, thread_id: str, limit: int = 10_000) -> list[Summary]:
        """The thread's summaries whose model's text was rejected: those first that were tried least, the oldest first.

        A summary is older than those that were made from it.
        """
        rows = await self._rows.fetch("summaries.rejected", thread_id=thread_id, limit=limit)
        return summaries_of(self._rows, rows)

    async def add(self, thread_id: str, summaries: Sequence[Summary], sources: SummarySources) -> bool:
        """Store summaries that took their time, if their sources are still as they were; whether they are there.

        Args:
            thread_id: which.
            summaries: the new ones. One that is there already, perhaps in other words, stays as it is.
            sources: what they were made from, as it was read before.
        """
        ids = [str(message.id) for message in sources.messages]

        async def work(rows: Exchange) -> bool:
            if await self._sources(rows.fetch, thread_id, ids) != sources:
                return False
            for summary in summaries:
                await rows.fetch("archive.add_summary", **summary_row(thread_id, summary))
            return True

        return await self._rows.exclusive(work)

    async def above(self, thread_id: str, summary_id: str) -> list[Summary]:
        """The summaries that were made from this one, and from these, and so on; the lower ones first."""
        found: dict[str, Summary] = {}
        ids: Sequence[str] = [summary_id]
        while ids:
            rows = await self._rows.fetch("summaries.above", thread_id=thread_id, ids=list(ids))
            new = summaries_of(self._rows, [row for row in rows if row["id"] not in found])
            found.update((summary.id, summary) for summary in new)
            ids = [summary.id for summary in new]
        return sorted(found.values(), key=lambda summary: summary.created_at)

    async def replace(self, thread_id: str, summary: Summary) -> None:
        """Give a summary its new text, and keep the one it had; in one transaction.

        It counts as not embedded; until that is done, its earlier vector serves. A version that is there already, or a
        newer one, is left as it is.
        """
        values = {**summary.model_dump(), "thread_id": thread_id, "replaced_at": now()}
        await self._rows.transaction(("summaries.keep_old", values), ("summaries.replace", values))

    async def count_try(self, thread_id: str, summary_id: str) -> None:
        """Note that a rejected summary was to be made again, and was not."""
        await self._rows.fetch("summaries.tried", thread_id=thread_id, id=summary_id)

    async def versions(self, thread_id: str, summary_id: str) -> list[SummaryVersion]:
        """The earlier texts of a summary, the first one first."""
        rows = await self._rows.fetch("summaries.versions", thread_id=thread_id, id=summary_id)
        return readable(self._rows, "summary_versions", rows, lambda row: SummaryVersion(**row))
