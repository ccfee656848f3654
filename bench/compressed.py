"""A conversation that is compressed as the graph does it, without a storage: for benchmarks and tests."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import AnyMessage

from everthread.compression.acceptance import text_hash
from everthread.compression.chain import summaries_of
from everthread.compression.ends import ended, planned
from everthread.compression.engine import Batch, compress, next_batch, outdated_ids
from everthread.compression.summarizer import Summarizer
from everthread.compression.together import is_worth_a_call, write_due
from everthread.compression.writing import Written, write_summary
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
        self.said: list[AnyMessage] = []
        self.made: dict[str, Summary] = {}

    @property
    def view(self) -> ChainView:
        """What goes to the model."""
        return view_of(self.chain, {str(message.id): message for message in self.said}, self.made)

    def take(self, *messages: AnyMessage) -> None:
        """Say messages; nothing is summarized yet."""
        self.said += messages
        self.chain = taken_in(self.chain, messages)

    def drop_outdated(self) -> None:
        """Drop what a profile no longer shows."""
        self.chain = without(self.chain, outdated_ids(self.view, self.settings))

    def due(self) -> Batch | None:
        """What is to be summarized next."""
        return next_batch(self.view, self.settings)

    def put(self, batch: Batch, summary: Summary) -> None:
        """Let a summary stand for its batch."""
        self.made[summary.id] = summary
        self.chain = compress(self.chain, batch, summary)

    async def settle(self) -> list[Written]:
        """What a turn does at its end: drop what is outdated, and summarize until nothing is due."""
        self.drop_outdated()
        done: list[Written] = []
        while batch := self.due():
            written = await write_summary(batch, self.settings, thread_id="t", summarizer=self.summarizer)
            self.put(batch, written.summary)
            done.append(written)
        return done

    async def settle_later(self) -> list[Written]:
        """What a model is asked for beside the turns, once it is worth a call; all of it stands when this returns."""
        self.drop_outdated()
        self.chain = ended(self.chain, self.view, self.settings)
        done: list[Written] = []
        while is_worth_a_call(plan := self._plan(), self.settings):
            hashes = [text_hash(message.text) for message in summaries_of(self.view)]
            written = await write_due(plan, self.settings, thread_id="t", summarizer=self.summarizer, standing=hashes)
            for batch, one in zip(plan, written, strict=False):
                self.put(batch, one.summary)
            done += written
        return done

    def _plan(self) -> list[Batch]:
        return planned(self.chain, self.view, self.settings, thread_id="t", most=16)

    def reached(self) -> set[str]:
        """Ids of all that is in the chain, or below a summary in it."""
        return below([link["id"] for link in self.chain["links"]], self.made.values())


def below(ids: Iterable[str], summaries: Iterable[Summary]) -> set[str]:
    """These ids and those of all that the summaries among them were made from, down to the messages."""
    sources = {summary.id: summary.source_ids for summary in summaries}
    found: set[str] = set()
    waiting = list(ids)
    while waiting:
        if (id_ := waiting.pop()) not in found:
            found.add(id_)
            waiting.extend(sources.get(id_, ()))
    return found
