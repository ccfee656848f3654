"""Ends of turns: what is due is decided as of the end of each, however late its summaries are made.

So the same messages become the same summaries whether these are made at once or later. Pure functions.
"""

from __future__ import annotations

from typing import Final

from langchain_core.messages import AnyMessage

from ..settings.run import RunSettings
from ..state.chain import Chain, ChainView, SummaryMessage
from ..state.records import Summary
from .chain import Batch
from .engine import compress, next_batch

MOST_BEHIND: Final = 24
"""Ends of turns that may wait for their summaries where none was written beside the turns of this process yet, as in
one that ends after each turn: in a thread that is further behind, the turn waits for them."""

BOUND: Final = 100
"""Ends of turns that may wait for their summaries in any thread."""


def ended(chain: Chain, view: ChainView, settings: RunSettings) -> Chain:
    """The chain at the end of a turn: with this end, if summaries are due, and without those that are done.

    Args:
        chain: as the turn leaves it.
        view: the same with its texts.
        settings: those of the thread.
    """
    ends = _waiting(chain, view, settings)
    if view and (ends or next_batch(view, settings) is not None):
        ends = list(dict.fromkeys([*ends, str(view[-1].id)]))
    left: Chain = {"links": chain["links"], "known": chain["known"], "last": chain["last"]}
    return {**left, "ends": ends} if ends else left


def behind(chain: Chain, view: ChainView, settings: RunSettings) -> int:
    """How many ends of turns wait for their summaries."""
    return len(_waiting(chain, view, settings))


def first_due(chain: Chain, view: ChainView, settings: RunSettings) -> Batch | None:
    """What is to be summarized next, as of the first end at which something is due; None where nothing is."""
    for end in chain.get("ends", ()):
        if (batch := next_batch(_up_to(view, end), settings)) is not None:
            return batch._replace(end=end)
    return None


def planned(chain: Chain, view: ChainView, settings: RunSettings, *, thread_id: str, most: int) -> list[Batch]:
    """What is due, one after the other, up to `most`; among the sources of one may be the summary of one before it.

    Such a summary has no text yet.
    """
    batches: list[Batch] = []
    while len(batches) < most and (batch := first_due(chain, view, settings)) is not None:
        batches.append(batch)
        summary = outline(batch, thread_id)
        chain, view = compress(chain, batch, summary), _with(view, batch, summary)
    return batches


def outline(batch: Batch, thread_id: str) -> Summary:
    """The summary of a batch without its text."""
    id_ = Summary.id_for(thread_id, batch.level, batch.source_ids)
    return Summary(id=id_, content="", level=batch.level, source_ids=batch.source_ids, covers=batch.covers)


def _waiting(chain: Chain, view: ChainView, settings: RunSettings) -> list[str]:
    ends = chain.get("ends", [])
    first = next((at for at, end in enumerate(ends) if next_batch(_up_to(view, end), settings)), len(ends))
    return ends[first:]


def _up_to(view: ChainView, end: str) -> ChainView:
    """The view as it was at the end of a turn; nothing of it where that is not known any longer."""
    return view[: next((at + 1 for at, message in enumerate(view) if message.id == end), 0)]


def _with(view: ChainView, batch: Batch, summary: Summary) -> ChainView:
    """What `compress` does to the chain, done to its view."""
    sources = set(batch.source_ids)
    messages: list[AnyMessage] = []
    for message in view:
        if message.id == batch.source_ids[0]:
            messages.append(SummaryMessage.of(summary))
        if message.id not in sources or message.id in batch.kept_ids:
            messages.append(message)
    return ChainView(messages, view.kept | batch.kept_ids)
