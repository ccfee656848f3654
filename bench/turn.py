"""One turn without any model, at several lengths of one thread: `python bench/turn.py [--lengths 10,100,1000,10000]`.

The chat model answers at once and, without `--embed`, vectors are drawn from the hash of a text: what is measured is
everthread, LangGraph and Postgres, on the embedded server with real checkpoints. A long thread is filled by writing its
earlier turns to the archive, with their vectors, and then taking a few turns.

Beside it, on the same server: a bare graph of as many supersteps that does nothing (the cost of that many checkpoint
commits), the simplest chat with its whole history in the state, LangMem's SummarizationNode, and mem0 (`infer=False`),
of which only add and search are measured, for it is no chat. A peer that is not installed is left out, and named.

All of them take turns one after the other, round by round, so that what else the machine does falls on all alike.
Bytes a turn are those of LangGraph's three checkpoint tables, before compression.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
import json
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph

sys.path.insert(0, str(Path(__file__).parent))
import turn_peers
from server_folder import server_folder

from everthread import Settings, open_graph
from everthread.cli.conversations import read_conversation
from everthread.facts.read_archive import read_batch
from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.models.embedding_models import load_embeddings
from everthread.state.records import MASTER_LEVEL, Summary
from everthread.storage.postgres.checkpointer import PostgresCheckpointer

WARM = 4
TOGETHER = 3
"""Messages, or summaries, of which one is made at default settings."""
SUPERSTEPS = 6
"""Of a turn without web search: 6 nodes one after the other, and 1.1 summaries a turn; two start side by side."""
NAMES = ["Clara", "Tom", "Ayşe", "Mehmet", "Sofia", "Jonas", "Priya", "Kenji", "Amara", "Luca"]
PLACES = ["Porto", "Lisbon", "Vienna", "Ankara", "Oslo", "Kyoto", "Lagos", "Lima", "Quebec", "Perth"]
THINGS = ["tomatoes", "train tickets", "a keyboard", "the recipe", "a kayak", "the contract", "old maps", "a violin"]
FORMS = [
    "{name} moved to {place} and works with {thing} since May {n}.",
    "We should look for {thing} before {name} comes back from {place}, number {n}.",
    "I gave {thing} to {name} in {place}, that was visit {n}.",
    "Which {thing} did {name} bring from {place} on trip {n}?",
]
_BYTES = """
SELECT (SELECT coalesce(sum(length(blob)), 0) FROM checkpoint_blobs WHERE thread_id = %(thread)s)
     + (SELECT coalesce(sum(length(blob)), 0) FROM checkpoint_writes WHERE thread_id = %(thread)s)
     + (SELECT coalesce(sum(length(checkpoint::text) + length(metadata::text)), 0) FROM checkpoints
        WHERE thread_id = %(thread)s) AS bytes,
       (SELECT count(*) FROM checkpoints WHERE thread_id = %(thread)s) AS commits
"""


class Contestant:
    """Takes turns in one thread of a certain length.

    Args:
        name: for the table.
        length: turns that the thread has already.
        thread: whose checkpoints are counted; empty where there are none.
        turn: takes the turn of that number; returns milliseconds by part, if it knows them.
        afterwards: waits for what goes on in the background after a turn, which is measured by itself.
    """

    def __init__(
        self,
        name: str,
        length: int,
        thread: str,
        turn: Callable[[int], Awaitable[Any]],
        afterwards: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.name, self.length, self.thread = name, length, thread
        self._turn = turn
        self._afterwards = afterwards
        self._taken = 0
        self.times: list[float] = []
        self.cpu: list[float] = []
        self.parts: dict[str, list[float]] = defaultdict(list)
        self.stored: list[tuple[float, float]] = []

    async def take_turn(self) -> None:
        started, cpu = time.perf_counter(), time.process_time()
        parts = await self._turn(self.length + self._taken)
        self.times.append((time.perf_counter() - started) * 1000)
        self.cpu.append((time.process_time() - cpu) * 1000)
        self._taken += 1
        for part, spent in (parts or {}).items():
            self.parts[part].append(spent)
        if self._afterwards is not None:
            started = time.perf_counter()
            await self._afterwards()
            self.parts["afterwards, in the background"].append((time.perf_counter() - started) * 1000)

    def begin(self) -> None:
        """Forget the turns that were taken to get warm."""
        for figures in (self.times, self.cpu, self.parts):
            figures.clear()

    def figures(self) -> dict[str, Any]:
        size, commits = ((new - old) / len(self.times) for old, new in zip(*self.stored, strict=True))
        return {
            "p50_ms": round(statistics.median(self.times), 1),
            "p90_ms": round(sorted(self.times)[int(len(self.times) * 0.9)], 1),
            "cpu_ms": round(statistics.median(self.cpu), 1),
            "bytes": round(size),
            "commits": round(commits, 1),
            "parts_ms": {name: round(statistics.median(values), 1) for name, values in self.parts.items()},
        }


def _summaries(thread: str, ids: list[str]) -> Iterator[Summary]:
    """Those that a thread has after so many messages: of three each, on three levels, and what merges the highest."""
    covers = 1
    for level in (1, 2, 3):
        covers, made = covers * TOGETHER, list[Summary]()
        for start in range(0, len(ids) - TOGETHER + 1, TOGETHER):
            made.append(_summary(thread, level, ids[start : start + TOGETHER], covers))
        yield from made
        ids = [summary.id for summary in made]
    for number, id_ in enumerate(ids[1:], start=2):
        yield (master := _summary(thread, MASTER_LEVEL, [ids[0], id_], covers * number))
        ids[0] = master.id


def _summary(thread: str, level: int, sources: list[str], covers: int) -> Summary:
    text = "The user made remarks about friends and places, and each was noted."
    id_ = Summary.id_for(thread, level, sources)
    return Summary(id=id_, content=text, level=level, source_ids=tuple(sources), covers=covers)


class HashEmbeddings(Embeddings):
    """Vectors from the hash of the text, or those of a real model once there is one."""

    real: Embeddings | None = None

    def embed_query(self, text: str) -> list[float]:
        if self.real is not None:
            return self.real.embed_query(text)
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        vector: list[float] = np.random.default_rng(seed).normal(size=384).tolist()
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.real.embed_documents(texts) if self.real else [self.embed_query(text) for text in texts]


class Bench:
    """One embedded server, and what each contestant needs."""

    def __init__(self, folder: Path, turns: int, remarks: list[str]) -> None:
        self.turns = turns
        self.embeddings = HashEmbeddings()
        self.opened = open_graph(
            Settings(data_dir=folder, web_search="off", summary_model="extractive"),
            model=chat_model(),
            embeddings=self.embeddings,
        )
        self._remarks = remarks

    def remark(self, n: int) -> str:
        """What the user says in turn n."""
        if self._remarks:
            return self._remarks[n % len(self._remarks)]
        draw = random.Random(n)
        return draw.choice(FORMS).format(
            name=draw.choice(NAMES), place=draw.choice(PLACES), thing=draw.choice(THINGS), n=n
        )

    def history(self, length: int) -> list[BaseMessage]:
        """The messages of the turns before."""
        begun = datetime.now(UTC) - timedelta(minutes=10 * length)
        messages: list[BaseMessage] = []
        for n in range(length):
            said_at = {"created_at": (begun + timedelta(minutes=10 * n)).isoformat()}
            messages.append(HumanMessage(self.remark(n), id=f"q{n}", additional_kwargs=said_at))
            messages.append(AIMessage(f"Noted, remark {n}.", id=f"a{n}", additional_kwargs=said_at))
        return messages

    async def everthread(self, length: int) -> Contestant:
        """everthread, in a thread of this length."""
        graph, thread = self.graph, f"everthread-{length}"
        resources = graph.resources
        history = self.history(max(0, length - 20))
        archive = resources.of_user(thread).archive
        for start in range(0, len(history), 500):
            await archive.add_messages(thread, history[start : start + 500])
        for summary in _summaries(thread, [str(message.id) for message in history]):
            await archive.add_summary(thread, summary)
        while await resources.of_user(thread).vectors.embed_pending(timeout=600, limit=500):
            pass
        while (await read_batch(resources.of_user(thread).facts, None))[1]:
            pass
        context: Any = {"user_id": thread}

        async def turn(n: int) -> dict[str, float]:
            question: Any = {"messages": [("user", self.remark(n))]}
            config: Any = {"configurable": {"thread_id": thread}}
            state = await graph.ainvoke(question, config, context=context, output_keys=["report"])
            spent: dict[str, float] = state["report"]["nodes"]
            return spent

        for n in range(max(0, length - 20), length):  # so that the live chain is as it is after many turns
            await turn(n)
            await resources.background.settled()
        return Contestant("everthread", length, thread, turn, resources.background.settled)

    async def commits(self, length: int) -> Contestant:
        """A graph of as many supersteps as everthread's turn has, whose nodes do nothing."""
        graph: Any = StateGraph(MessagesState)
        nodes = [f"n{index}" for index in range(SUPERSTEPS)]
        for before, node in itertools.pairwise([START, *nodes]):
            graph.add_node(node, lambda _: {})
            graph.add_edge(before, node)
        compiled, thread = graph.compile(checkpointer=self.checkpointer()), f"commits-{length}"

        async def turn(n: int) -> None:
            message = {"messages": [HumanMessage(self.remark(n), id="q")]}
            await compiled.ainvoke(message, {"configurable": {"thread_id": thread}})

        return Contestant("commits alone", length, thread, turn)

    async def whole_history(self, length: int) -> Contestant:
        """The simplest chat: one node, and all that was said in the state."""
        chat = chat_model()

        async def answer(state: MessagesState) -> dict[str, Any]:
            return {"messages": [await chat.ainvoke(state["messages"])]}

        graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
        return await self.chat("whole history", graph, length)

    async def chat(self, name: str, graph: Any, length: int, allowed: Sequence[tuple[str, str]] = ()) -> Contestant:
        """A graph that keeps its messages in the state; `allowed` are classes that its checkpoints hold."""
        compiled, thread = graph.compile(checkpointer=self.checkpointer(allowed)), f"{name}-{length}"
        config: Any = {"configurable": {"thread_id": thread}}
        await compiled.aupdate_state(config, {"messages": self.history(length)}, as_node="answer")

        async def turn(n: int) -> None:
            await compiled.ainvoke({"messages": [("user", self.remark(n))]}, config)

        return Contestant(name, length, thread, turn)

    def checkpointer(self, allowed: Sequence[tuple[str, str]] = ()) -> PostgresCheckpointer:
        serde = JsonPlusSerializer(allowed_msgpack_modules=list(allowed)) if allowed else None
        return PostgresCheckpointer(self.opened.resources.database, serde)

    async def run(self, contestants: Sequence[Contestant]) -> None:
        """Turns to get warm, then those that are measured, round by round."""
        for contestant in contestants:
            for _ in range(WARM):
                await contestant.take_turn()
            contestant.begin()
            contestant.stored.append(await self._stored(contestant.thread))
        for _ in range(self.turns):
            for contestant in contestants:
                await contestant.take_turn()
        for contestant in contestants:
            contestant.stored.append(await self._stored(contestant.thread))

    async def _stored(self, thread: str) -> tuple[float, float]:
        async def work(connection: Any) -> tuple[float, float]:
            row = await (await connection.execute(_BYTES, {"thread": thread})).fetchone()
            return float(row["bytes"]), float(row["commits"])

        return await self.opened.resources.database.run(work)


def chat_model() -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=(AIMessage(f"Noted, remark {n}.") for n in itertools.count(1)))


async def run(folder: Path, options: argparse.Namespace, remarks: list[str]) -> dict[str, Any]:
    bench = Bench(folder, options.turns, remarks)
    async with bench.opened as bench.graph:
        makers = [bench.everthread, bench.commits]
        if not options.no_peers:
            makers += [bench.whole_history, *turn_peers.peers(bench)]
        contestants = []
        for length in options.lengths:
            for maker in makers:
                contestants.append(await maker(length))
                print(f"ready: {contestants[-1].name}, {length} turns", file=sys.stderr)
        if options.embed:
            bench.embeddings.real = load_embeddings(BUNDLED_MODEL)
        await bench.run(contestants)
    results: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for contestant in contestants:
        results[contestant.name][contestant.length] = contestant.figures()
    return results


def show(results: dict[str, Any], lengths: list[int]) -> None:
    print(f"\n| p50 of a turn, ms | {' | '.join(f'turn {n:,}' for n in lengths)} |\n|---|{'---|' * len(lengths)}")
    for name, of in results.items():
        print(f"| {name} | {' | '.join(str(of[n]['p50_ms']) for n in lengths)} |")
    for name, of in results.items():
        print(f"| processor time of {name} | {' | '.join(str(of[n]['cpu_ms']) for n in lengths)} |")
    for node in next(iter(results["everthread"].values()))["parts_ms"]:
        cells = [str(results["everthread"][n]["parts_ms"].get(node, "")) for n in lengths]
        print(f"| of it `{node}` | {' | '.join(cells)} |")
    for name, of in results.items():
        if any(of[n]["bytes"] for n in lengths):
            cells = [f"{of[n]['bytes']:,} ({of[n]['commits']:g})" for n in lengths]
            print(f"| checkpoint bytes (commits) a turn, {name} | {' | '.join(cells)} |")


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=numbers, default=[10, 100, 1000, 10000])
    parser.add_argument("--turns", type=int, default=20, help="turns measured at each length")
    parser.add_argument("--embed", action="store_true", help="embed with the real model in the turns measured")
    parser.add_argument("--no-peers", action="store_true", help="everthread and the bare commits only")
    parser.add_argument("--data", type=Path, help="a conversation whose user messages are the remarks")
    parser.add_argument("--conversation", help="which one, if the file holds several")
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    remarks: list[str] = []
    if options.data:
        remarks = [m.text for m in read_conversation(options.data, "bench", options.conversation) if m.type == "human"]
    with server_folder() as folder:
        results = asyncio.run(run(folder, options, remarks))
    show(results, options.lengths)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
