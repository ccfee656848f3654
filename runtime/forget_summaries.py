"""Summaries above what is forgotten: those with other sources are rewritten from these at once, without a model.

The text that a model wrote held what is forgotten. Until a model has written another, an extractive one stands in its
place: in the archive, in the chain and in recall.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from ..compression.writing import NO_WORDS
from ..settings.settings import Settings
from ..state.records import covered
from ..storage.user_rows import Exchange
from ..text.extractive import extract_summary
from ..text.shorten import beginning
from ..text.tokens import estimate_tokens

FORGOTTEN: Final = "a message that it was made from was forgotten"
"""Why a summary is to be made again of which a part was forgotten."""


class Above(NamedTuple):
    """Summaries above messages of one thread, the lower ones first: those that go, and those that are rewritten."""

    gone: tuple[str, ...]
    kept: tuple[dict[str, Any], ...]


async def summaries_above(rows: Exchange, thread_id: str, ids: Sequence[str]) -> Above:
    """All summaries that were made from these messages, directly or through others, or may have been."""
    unknown = {row["id"]: row for row in await rows.fetch("deletion.of_unknown", thread_id=thread_id)}
    found: dict[str, dict[str, Any]] = dict(unknown)
    above = [*ids, *unknown]
    while above:
        new = await rows.fetch("summaries.above", thread_id=thread_id, ids=above)
        above = [row["id"] for row in new if row["id"] not in found]
        found |= {row["id"]: row for row in new if row["id"] not in unknown}
    gone = set(ids)
    kept: list[dict[str, Any]] = []
    for row in sorted(found.values(), key=_in_order):
        sources = [source for source in row["source_ids"] if source not in gone]
        if sources:
            kept.append({**row, "source_ids": sources})
        else:
            gone.add(row["id"])
    return Above(tuple(gone.difference(ids)), tuple(kept))


def _in_order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The lower ones first: they were made before. One whose time is damaged goes by its level alone."""
    made = row["created_at"] or datetime.min.replace(tzinfo=UTC)
    return made, row["level"] == 0, row["level"] or 0, row["id"]


async def rewrite(rows: Exchange, thread_id: str, summaries: Sequence[Mapping[str, Any]], settings: Settings) -> None:
    """Give summaries, the lower ones first, an extractive text of their sources; a model's is to be made again."""
    wanted = list({source for row in summaries for source in row["source_ids"]})
    messages = await rows.fetch("deletion.texts", thread_id=thread_id, ids=wanted)
    turns = {row["id"]: (row["name"] or row["role"], row["text"]) for row in messages}
    covers = dict.fromkeys(turns, 1)
    for row in await rows.fetch("summaries.some", thread_id=thread_id, ids=wanted):
        turns[row["id"]], covers[row["id"]] = ("", row["content"]), row["covers"]
    for summary in summaries:
        sources = [turns[id_] for id_ in summary["source_ids"] if id_ in turns]
        text = await asyncio.to_thread(extract_summary, sources, settings.summary_length)
        text = beginning(text, settings.max_summary_chars) or NO_WORDS
        turns[summary["id"]] = "", text
        covers[summary["id"]] = covered(covers.get(id_, 0) for id_ in summary["source_ids"])
        await rows.fetch(
            "deletion.rewrite",
            thread_id=thread_id,
            id=summary["id"],
            content=text,
            source_ids=list(summary["source_ids"]),
            tokens=estimate_tokens(text),
            covers=covers[summary["id"]],
            rejected=FORGOTTEN if summary["method"] != "extractive" or summary["rejected"] else None,
        )
