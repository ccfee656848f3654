"""`SummaryRows`: summaries that are made again. One keeps its id; its earlier texts are kept as versions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from langchain_core.messages import AnyMessage

from ..state.chain import SummaryMessage
from ..state.compression_records import SummaryVersion
from ..state.records import Summary, now
from .archive_rows import message_of
from .readable import readable
from .sources import summaries_of
from .user_rows import UserRows


class SummarySources(NamedTuple):
    """What a summary was made from, in its order: messages, and summaries as a chain holds them; and what is gone."""

    messages: tuple[AnyMessage, ...]
    missing: tuple[str, ...]


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

    async def sources(self, thread_id: str, summary: Summary) -> SummarySources:
        """The direct sources of a summary, in their newest texts."""
        ids = list(summary.source_ids)
        rows = await self._rows.fetch("summaries.messages", thread_id=thread_id, ids=ids)
        found = dict(readable(self._rows, "messages", rows, lambda row: (row["id"], message_of(row))))
        for id_, source in (await self.some(thread_id, ids)).items():
            found[id_] = SummaryMessage.of(source)
        return SummarySources(tuple(found[id_] for id_ in ids if id_ in found), tuple(i for i in ids if i not in found))

    async def rejected(self, thread_id: str, limit: int = 10_000) -> list[Summary]:
        """The thread's summaries whose model's text was rejected: those first that were tried least, the oldest first.

        A summary is older than those that were made from it.
        """
        rows = await self._rows.fetch("summaries.rejected", thread_id=thread_id, limit=limit)
        return summaries_of(self._rows, rows)

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
