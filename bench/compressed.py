"""A conversation that is compressed as the graph does it, without a storage: what benchmarks of compression share."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import AnyMessage

from everthread.compression.engine import compress, next_batch, outdated_ids
from everthread.compression.writing import Summarizer, Written, write_summary
from everthread.settings.settings import Settings
from everthread.state.chain import Chain, ChainView, empty_chain, taken_in, view_of, without
from everthread.state.records import Summary


class Compressed:
    """One conversation.

    Args:
        settings: the profile and its thresholds.
        summarizer: what writes the summaries; None for the extractive summarizer.
    """

    def __init__(self, settings: Settings, summarizer: Summarizer | None = None) -> None:
        self.settings, self.summarizer = settings, summarizer
        self.chain: Chain = empty_chain()
        self.said: dict[str, AnyMessage] = {}
        self.made: dict[str, Summary] = {}

    @property
    def view(self) -> ChainView:
        """What goes to the model."""
        return view_of(self.chain, self.said, self.made)

    def take(self, *messages: AnyMessage) -> None:
        """Say messages; nothing is summarized yet."""
        self.said.update({str(message.id): message for message in messages})
        self.chain = taken_in(self.chain, messages)

    async def settle(self) -> list[Written]:
        """What a turn does at its end: drop what is outdated, and summarize until nothing is due."""
        self.chain = without(self.chain, outdated_ids(self.view, self.settings))
        done: list[Written] = []
        while batch := next_batch(self.view, self.settings):
            written = await write_summary(batch, self.settings, thread_id="t", summarizer=self.summarizer)
            self.made[written.summary.id] = written.summary
            self.chain = compress(self.chain, batch, written.summary)
            done.append(written)
        return done

    def reached(self) -> set[str]:
        """Ids of all that is in the chain, or below a summary in it."""
        return below([link["id"] for link in self.chain["links"]], self.made.values())


def below(ids: Iterable[str], summaries: Iterable[Summary]) -> set[str]:
    """These ids and those of all that the summaries among them were made from."""
    sources = {summary.id: summary.source_ids for summary in summaries}
    found: set[str] = set()
    waiting = list(ids)
    while waiting:
        if (id_ := waiting.pop()) not in found:
            found.add(id_)
            waiting.extend(sources.get(id_, ()))
    return found
