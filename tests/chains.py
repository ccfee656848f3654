"""What tests of compression share: chains of messages, summaries by number, and what a summary stands for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from bench.compressed import Compressed
from everthread.compression.engine import Batch
from everthread.settings.settings import Settings
from everthread.state.chain import is_summary, summary_of, taken_in
from everthread.state.records import Fragment, Memory, Summary


def chat(count: int, start: int = 1) -> list[AnyMessage]:
    """M1, M2, ...: the user and the assistant in turn."""
    return [(HumanMessage if n % 2 else AIMessage)(f"message {n}", id=f"M{n}") for n in range(start, start + count)]


def memory(text: str, rank: int, id_: str, thread: str) -> Memory:
    """A message of the user that was recalled."""
    said_at = datetime(2026, 5, 1, tzinfo=UTC)
    fragment = Fragment(id=id_, role="user", content=text, created_at=said_at)
    return Memory(
        fragments=(fragment,), source_type="message", source_ids=(id_,), thread_id=thread, similarity=0.8, rank=rank,
        created_at=said_at,
    )  # fmt: skip


def replies(count: int, start: int = 1) -> list[AnyMessage]:
    """M1, M2, ..., each of which may be summarized as soon as it stands there."""
    return [AIMessage(f"message {n}", id=f"M{n}") for n in range(start, start + count)]


def call(id_: str, *names: str) -> AIMessage:
    """A message that calls tools, one for each name."""
    return AIMessage("", id=id_, tool_calls=[{"name": "look", "args": {}, "id": name} for name in names])


def result(id_: str, name: str) -> ToolMessage:
    """The result of the call of that name."""
    return ToolMessage("found", id=id_, tool_call_id=name)


class Thread(Compressed):
    """A chain that is compressed as the graph does it, with summaries that say how many messages they cover."""

    def __init__(self, settings: Settings | None = None, messages: Iterable[AnyMessage] = ()) -> None:
        super().__init__(settings or Settings())
        self.batches: list[Batch] = []
        self.say(*messages)

    def say(self, *messages: AnyMessage) -> Thread:
        """Add messages, drop what is outdated, and summarize until nothing is due."""
        self.take(*messages)
        self.drop_outdated()
        for _ in range(1000):
            batch = self.due()
            if batch is None:
                return self
            self.summarize(batch)
        raise AssertionError("compression does not end")

    def take(self, *messages: AnyMessage) -> None:
        """Add messages to the chain, and leave it at that."""
        self.said += messages
        self.chain = taken_in(self.chain, self.said)
        self.chain["known"] = {str(message.id): 0 for message in self.said}

    def summarize(self, batch: Batch) -> Summary:
        """Put a summary of the batch into the chain."""
        summary = Summary(
            id=Summary.id_for("t", batch.level, batch.source_ids), content=f"of {batch.covers}: {len(self.made)}",
            level=batch.level, source_ids=batch.source_ids, covers=batch.covers,
        )  # fmt: skip
        self.batches.append(batch)
        self.put(batch, summary)
        return summary

    def one_by_one(self, messages: Iterable[AnyMessage]) -> Thread:
        """Say message after message."""
        for message in messages:
            self.say(message)
        return self

    @property
    def shape(self) -> list[str]:
        """Ids of messages; S1, S2, ... for a summary of that level, and "master"."""
        return [f"S{summary_of(m).level}".replace("S0", "master") if is_summary(m) else str(m.id) for m in self.view]

    @property
    def summaries(self) -> list[Summary]:
        """The summaries that stand."""
        return [summary_of(message) for message in self.view if is_summary(message)]


def parted_calls(messages: Sequence[AnyMessage]) -> list[str]:
    """Ids of results without their call in the chain, and of calls without their results."""
    calls: set[str] = set()
    parted: set[str] = set()
    for message in messages:
        if isinstance(message, AIMessage):
            parted |= calls & {str(c["id"]) for c in message.tool_calls}
            calls |= {str(c["id"]) for c in message.tool_calls}
        elif isinstance(message, ToolMessage):
            parted |= {message.tool_call_id} - calls
            calls.discard(message.tool_call_id)
    return sorted(calls | parted)


def span(first: int, last: int) -> list[str]:
    """M5, M6, ...: the ids from one number to another."""
    return [f"M{n}" for n in itertools.chain(range(first, last + 1))]
