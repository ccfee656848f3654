"""Load: many conversations at once, each asking again as soon as it is answered: `python -m bench.load`.

A closed loop: as many conversations as are said, each of a user of its own, take turns for so many seconds, in one
worker process or several on one storage: through the Python API, or (`--through server`) each on a LangGraph server of
its own (`langgraph dev`, in memory) that clients of its SDK ask. The chat model answers after `--model-seconds`, and
vectors are drawn from a hash: what is measured is everthread, LangGraph and the storage. Turns before all conversations
have had one are not counted; turns a second are those that ended within the time.

Reply time is that of the whole run, summaries included. A conversation that is refused (`OverloadError`) waits as long
as it is told, and tries again. Memory is the resident size of a worker at its end, and its growth since its first turn;
what recall holds of the messages of each user is a part of it. Connections are those that Postgres sees.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import multiprocessing
import os
import random
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult

sys.path.insert(0, str(Path(__file__).parent))
from server_folder import server_folder
from turn import FORMS, NAMES, PLACES, THINGS, HashEmbeddings

from everthread import OverloadError, Settings, open_graph
from everthread.storage.embedded.server import ensure_server

_OTHERS: Final = (
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
MODEL_SECONDS: Final = "LOAD_MODEL_SECONDS"
_EVERY: Final = 0.05
"""Seconds between two looks at the connections."""


class Load(NamedTuple):
    """What is asked of the workers.

    Attributes:
        conversations: at once, over all workers.
        workers: processes.
        seconds: measured, after each conversation has had a turn.
        model_seconds: how long the chat model takes.
        storage: "postgres" or "sqlite".
        turns: the setting of that name, as text.
    """

    conversations: int
    workers: int
    seconds: float
    model_seconds: float
    storage: str
    turns: str
    through: str = "python"


class Answers(GenericFakeChatModel):
    """A chat model that answers after a while."""

    seconds: float = 0.0

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **more: Any,
    ) -> ChatResult:
        await asyncio.sleep(self.seconds)
        return self._generate(messages, stop, **more)


class Worker:
    """One process: its conversations, and what became of their turns."""

    def __init__(self, load: Load, folder: Path, number: int) -> None:
        self._load = load
        self._names = [f"c{n}" for n in range(load.conversations) if n % load.workers == number]
        self._folder = folder
        self._end = float("inf")
        self._times: list[float] = []
        self._errors: Counter[str] = Counter()
        self._wanted = 0
        self._taken = 0
        self._in_time = 0
        self._started: set[str] = set()

    async def run(self) -> dict[str, Any]:
        """Take turns until the time is over."""
        load = self._load
        settings = Settings(
            data_dir=self._folder,
            database_url=load.storage,
            web_search="off",
            summary_model="extractive",
            turns=load.turns,
        )
        replies = (AIMessage(f"Noted, remark {n}.") for n in itertools.count(1))
        model = Answers(messages=replies, seconds=load.model_seconds)
        async with open_graph(settings, model=model, embeddings=HashEmbeddings()) as graph:
            await self._turn(graph, f"first of {self._names[0]}", 0)
            self._taken = 0
            before, cpu = resident(), time.process_time()
            watching = asyncio.create_task(self._watch(graph.resources.database))
            await self._converse_all(graph)
            used = time.process_time() - cpu
            watching.cancel()
            await graph.asettled()
            size = resident()
        return self._figures(used, size, size - before)

    async def _converse_all(self, graph: Any) -> None:
        await asyncio.gather(*(self._converse(graph, name) for name in self._names))

    def _figures(self, cpu: float, resident: int, grown: int) -> dict[str, Any]:
        return {
            "times": self._times,
            "cpu": cpu,
            "taken": self._taken,
            "in_time": self._in_time,
            "errors": dict(self._errors),
            "wanted": self._wanted,
            "resident": resident,
            "grown": grown,
        }

    async def _converse(self, graph: Any, name: str) -> None:
        for turn in itertools.count():
            if time.perf_counter() > self._end:
                return
            started = time.perf_counter()
            if await self._turn(graph, name, turn) and len(self._started) == len(self._names):
                self._times.append(time.perf_counter() - started)
                self._in_time += time.perf_counter() <= self._end < float("inf")
            self._started.add(name)
            if len(self._started) == len(self._names) and self._end == float("inf"):
                self._end = time.perf_counter() + self._load.seconds

    async def _turn(self, graph: Any, name: str, turn: int) -> bool:
        try:
            await self._ask(graph, name, remark(turn))
        except OverloadError as refused:
            self._errors["refused"] += 1
            await asyncio.sleep(refused.retry_after)
            return False
        except Exception as error:  # what fails is counted, and the load goes on
            self._errors[type(error).__name__] += 1
            return False
        self._taken += 1
        return True

    async def _ask(self, graph: Any, name: str, text: str) -> None:
        question: Any = {"messages": [("user", text)]}
        config: Any = {"configurable": {"thread_id": f"thread of {name}"}}
        await graph.ainvoke(question, config, context={"user_id": f"user of {name}"}, output_keys=["report"])

    async def _watch(self, database: Any) -> None:
        while True:
            self._wanted = max(self._wanted, database.connections().get("wanted", 0))
            await asyncio.sleep(_EVERY)


def remark(n: int) -> str:
    """What a user says in turn n."""
    draw = random.Random(n)
    words = {"name": draw.choice(NAMES), "place": draw.choice(PLACES), "thing": draw.choice(THINGS)}
    return draw.choice(FORMS).format(**words, n=n)


def resident(pid: int | str = "self") -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def _work(load: Load, folder: Path, number: int) -> dict[str, Any]:
    if load.through == "server":
        from load_server import ServedWorker

        return asyncio.run(ServedWorker(load, folder, number).run())
    return asyncio.run(Worker(load, folder, number).run())


class Connections:
    """The most connections that Postgres has seen of others, while it is asked."""

    most = 0

    def __init__(self, folder: Path) -> None:
        self._url = ensure_server(folder)
        self._is_over = threading.Event()

    def __enter__(self) -> Connections:
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            while not self._is_over.wait(_EVERY * 10):
                row = connection.execute(_OTHERS).fetchone()
                self.most = max(self.most, row[0] if row else 0)


def measure(load: Load) -> dict[str, Any]:
    """The figures of one load, on a storage of its own."""
    with (
        server_folder() as folder,
        multiprocessing.get_context("spawn").Pool(load.workers) as pool,
        Connections(folder) if load.storage == "postgres" else contextlib.nullcontext() as seen,
    ):
        done = pool.starmap(_work, [(load, folder, number) for number in range(load.workers)])
    times = sorted(itertools.chain.from_iterable(of["times"] for of in done))
    errors = sum((Counter(of["errors"]) for of in done), Counter())
    turns = len(times)
    return {
        **load._asdict(),
        "measured": turns,
        "turns_per_second": round(sum(of["in_time"] for of in done) / load.seconds, 1),
        "p50_ms": round(statistics.median(times) * 1000) if times else None,
        "p95_ms": round(times[int(turns * 0.95)] * 1000) if times else None,
        "cpu_ms": round(sum(of["cpu"] for of in done) / max(1, sum(of["taken"] for of in done)) * 1000, 1),
        "resident_mb": round(max(of["resident"] for of in done) / 1e6),
        "grown_mb": round(sum(of["grown"] for of in done) / 1e6),
        "connections": seen.most if seen is not None else None,
        "waiting_for_a_connection": max(of["wanted"] for of in done),
        "errors": dict(errors),
    }


_COLUMNS: Final = {
    "through": "through",
    "conversations": "conversations",
    "workers": "workers",
    "turns_per_second": "turns/s",
    "p50_ms": "p50, ms",
    "p95_ms": "p95, ms",
    "cpu_ms": "processor ms a turn",
    "resident_mb": "MB a worker",
    "connections": "connections",
    "waiting_for_a_connection": "waiting for one",
    "errors": "errors",
}


def show(rows: Sequence[dict[str, Any]]) -> None:
    """The table."""
    print(f"| {' | '.join(_COLUMNS.values())} |\n|{'---|' * len(_COLUMNS)}")
    for row in rows:
        cells = {**row, "errors": ", ".join(f"{n} {name}" for name, n in row["errors"].items()) or "0"}
        print(f"| {' | '.join(str(cells[name]) for name in _COLUMNS)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", default="1,10,50,200", help="at once; several, separated by commas")
    parser.add_argument("--workers", default="1", help="processes; several, separated by commas")
    parser.add_argument("--seconds", type=float, default=20.0, help="measured for each load")
    parser.add_argument("--model-seconds", type=float, default=0.0, help="that the chat model takes")
    parser.add_argument("--storage", default="postgres", choices=["postgres", "sqlite"])
    parser.add_argument("--through", default="python", help="python, server or both, separated by commas")
    parser.add_argument("--turns", default="", help="the setting `turns`, as at_once=100,wait=30")
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    rows = []
    for through, workers, conversations in itertools.product(
        options.through.split(","), map(int, options.workers.split(",")), map(int, options.conversations.split(","))
    ):
        more = (options.seconds, options.model_seconds, options.storage, options.turns, through)
        rows.append(measure(Load(conversations, workers, *more)))
        show(rows[-1:])
    show(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
