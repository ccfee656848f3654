"""Processes that are killed at named points, and what is left: `python -m bench.crash [--kills 200] [--seed 7]`.

A process on one storage after the other does what users do, and is killed (SIGKILL) at a point that a seed draws: as a
statement of that point is sent for the n-th time, or some milliseconds later, before or behind its commit. The next
process looks at what is there, sends again what was not answered, as a client does that lost its connection, does again
what was not done to its end, and goes on to be killed itself.

Lost: what was acknowledged, and is not there. Doubled: what is there twice. Misordered: what stands elsewhere than it
was said. Refused: a start that failed. Findings are the doctor's after what was interrupted has been done again; before
that, of a turn that is not over, they are counted apart.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import re
import signal
import tempfile
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from bench.server_folder import server_folder
from everthread import Settings, open_graph
from everthread.maintenance.doctor import examine
from everthread.maintenance.reindex import Reindex
from everthread.maintenance.transfer import export_rows, import_rows
from everthread.maintenance.transfer_format import check_file
from everthread.models.embeddings import Embedder
from everthread.storage.embedded.server import ensure_server
from everthread.storage.loop_checkpointer import LoopCheckpointer
from everthread.storage.user_rows import UserRows

POINTS: Final = {
    "archive": ("archive.add_messages",),
    "checkpoint": (),
    "summary": ("archive.add_summary",),
    "embedding": ("vectors.add", "vectors.done_messages"),
    "import": ("transfer.add_",),
    "reindex": ("reindex.", "vectors.add"),
    "delete": ("deletion.",),
}
"""What is sent at each: beginnings of the names of statements; a checkpoint is no statement of ours."""

_THREAD_OF: Final = 12
"""Kills for which a thread is gone on with, before another is begun."""
_SOURCE: Final = "thread-to-export"
_MESSAGES: Final = 40
"""Of the file that is imported."""
_SECONDS: Final = 120.0
"""That a process may take, at most."""
_MOST_TURNS: Final = 8


class Kill(NamedTuple):
    """One process: where it is killed.

    Attributes:
        number: of the process.
        point: of `POINTS`; empty for one that is not killed.
        times: how often the point is passed before.
        after: milliseconds between the point and the kill.
    """

    number: int
    point: str
    times: int
    after: float

    @classmethod
    def drawn(cls, number: int, points: Sequence[str], seed: int) -> Kill:
        """The kill of a number."""
        draw = random.Random(f"{seed}/{number}")
        return cls(number, points[number % len(points)], draw.randint(1, 4), draw.choice([0.0, draw.uniform(0.1, 12)]))

    @property
    def thread(self) -> str:
        """The thread of its turns."""
        return f"{self.point}-{self.number // (_THREAD_OF * len(POINTS))}"

    @property
    def user(self) -> str:
        """Whose data it imports, embeds anew or deletes."""
        return f"{self.point}-user-{self.number}"


_QUESTION: Final = re.compile(r"\(([\w.-]+)\)$")


class Answers(BaseChatModel):
    """A chat model that answers each question with its number."""

    @property
    def _llm_type(self) -> str:
        return "answers"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply_to(messages[-1].text)))])


def reply_to(asked: str) -> str:
    """What is answered: each of the questions at the end of what is asked."""
    questions = takewhile(bool, (_QUESTION.search(part.strip()) for part in reversed(asked.split("\n\n"))))
    return f"Reply to {' and '.join([found[1] for found in questions if found][::-1])}."


class Log:
    """What was begun and acknowledged, in a file that outlives each process."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def write(self, **entry: Any) -> None:
        """Note something; a kill right after does not undo it."""
        with self._file.open("ab", buffering=0) as output:
            output.write(json.dumps(entry).encode() + b"\n")

    def read(self) -> list[dict[str, Any]]:
        """All that was noted."""
        return [json.loads(line) for line in self._file.read_bytes().splitlines()] if self._file.exists() else []


def arm(kill: Kill) -> None:
    """Have this process killed at its point."""
    left = [kill.times]

    def passed() -> None:
        left[0] -= 1
        if left[0] == 0:
            if kill.after:
                threading.Timer(kill.after / 1000, os.kill, (os.getpid(), signal.SIGKILL)).start()
            else:
                os.kill(os.getpid(), signal.SIGKILL)

    statement, store = UserRows._query, LoopCheckpointer._store

    def sent(self: UserRows, name: str, **rights: Any) -> Any:
        if name.startswith(POINTS[kill.point]):
            passed()
        return statement(self, name, **rights)

    async def stored(self: LoopCheckpointer, *values: Any) -> None:
        passed()
        await store(self, *values)

    if POINTS[kill.point]:
        UserRows._query = sent  # type: ignore[method-assign]
    else:
        LoopCheckpointer._store = stored  # type: ignore[method-assign]


class Work:
    """What one process does: what the one before it left to its end, and then its own until it is killed."""

    def __init__(self, settings: Settings, folder: Path, log: Log) -> None:
        self._folder, self._log = folder, log
        self._file = folder / "export.jsonl"
        self._opened = open_graph(settings, model=Answers(), embeddings=DeterministicFakeEmbedding(size=16))

    async def run(self, kill: Kill, before: Kill | None) -> None:
        """One process."""
        async with self._opened as graph:
            self._graph = graph
            self._log.write(did="start", number=kill.number)
            if before is not None:
                self._log.write(did="looked", point=before.point, faults=await self._after(before))
            if kill.point:
                arm(kill)
                await self._own(kill)
                self._log.write(did="missed", point=kill.point)

    async def prepare(self) -> None:
        """The file that is imported."""
        async with self._opened as graph:
            for n in range(_MESSAGES // 2):
                await self._ask(graph, "source", _SOURCE, f"o{n}")
            await graph.asettled()
            await export_rows(UserRows(graph.resources.database, "source"), self._file, written=lambda *_: None)

    async def _ask(self, graph: Any, user: str, thread: str, name: str) -> Any:
        question: Any = {"messages": [HumanMessage(f"What about the garden, the dog and the boat? ({name})", id=name)]}
        config: Any = {"configurable": {"thread_id": thread}}
        return await graph.ainvoke(question, config, context={"user_id": user})

    async def _own(self, kill: Kill) -> None:
        if kill.point == "import":
            await self._import(kill.user)
        elif kill.point == "reindex":
            await self._import(kill.user)
            await self._embed_anew(kill.user, "another")
        elif kill.point == "delete":
            await self._import(kill.user)
            await self._delete(kill)
        else:
            for n in range(_MOST_TURNS):
                name = f"{kill.thread}.{kill.number}.{n}"
                self._log.write(did="asked", thread=kill.thread, name=name)
                await self._ask(self._graph, "ada", kill.thread, name)
                self._log.write(did="answered", thread=kill.thread, name=name)
                if kill.point == "embedding":
                    await self._graph.asettled()

    async def _import(self, user: str) -> None:
        own = self._folder / f"{user}.jsonl"
        await asyncio.to_thread(own.write_text, self._file.read_text().replace(_SOURCE, f"of {user}"))
        await import_rows(self._rows(user), own, await asyncio.to_thread(check_file, own), added=lambda _: None)
        self._log.write(did="imported", user=user)

    async def _embed_anew(self, user: str, model: str) -> None:
        embedder = Embedder(model, DeterministicFakeEmbedding(size=16))
        embedder.load()
        work = Reindex(self._rows(user), embedder, timeout=60)
        await work.start()
        await work.run()
        self._log.write(did="embedded", user=user)

    async def _delete(self, kill: Kill) -> None:
        if kill.times % 2:
            await self._graph.adelete(kill.user)
        else:
            rows = await self._graph.resources.of_user(kill.user).archive.threads()
            await self._graph.adelete(kill.user, rows[0]["thread_id"])
        self._log.write(did="deleted", user=kill.user)

    def _rows(self, user: str) -> UserRows:
        return UserRows(self._graph.resources.database, user)

    async def _count(self, user: str) -> int:
        user_of = self._graph.resources.of_user(user)
        return sum([await user_of.archive.known_count(row["thread_id"]) for row in await user_of.archive.threads()])

    async def _after(self, kill: Kill) -> dict[str, int]:
        """What is wrong after a kill, by its kind; then what it interrupted is done to its end."""
        faults: Counter[str] = Counter()
        done = {entry["did"] for entry in self._log.read() if entry.get("user") == kill.user}
        if kill.point in {"import", "reindex"}:
            faults["lost"] += "imported" in done and await self._count(kill.user) < _MESSAGES
            await self._import(kill.user)
            await self._embed_anew(
                kill.user, "another" if kill.point == "reindex" else self._graph.resources.embedder.name
            )
            faults += await self._examined(kill.user, "finding")
            there = await self._count(kill.user)
            faults["lost"] += there < _MESSAGES
            faults["doubled"] += there > _MESSAGES
        elif kill.point == "delete":
            there = await self._count(kill.user)
            faults["came back"] += "deleted" in done and there > 0
            faults["half deleted"] += "imported" in done and there not in {0, _MESSAGES}
            if there:
                faults += await self._examined(kill.user, "finding")
                await self._graph.adelete(kill.user)
            faults["came back"] += await self._count(kill.user) > 0
        else:
            faults += await self._talk(kill)
        return dict(+faults)

    async def _talk(self, kill: Kill) -> Counter[str]:
        entries = [entry for entry in self._log.read() if entry.get("thread") == kill.thread]
        answered = [entry["name"] for entry in entries if entry["did"] == "answered"]
        asked = list(dict.fromkeys(entry["name"] for entry in entries if entry["did"] == "asked"))
        faults = await self._said(kill.thread, answered, "before")
        faults += await self._examined("ada", "finding of an unfinished turn", kill.thread)
        for name in asked:
            if name not in answered:
                await self._ask(self._graph, "ada", kill.thread, name)
                self._log.write(did="answered", thread=kill.thread, name=name)
        await self._graph.asettled()
        faults += await self._said(kill.thread, asked, "after")
        return faults + await self._examined("ada", "finding", kill.thread)

    async def _said(self, thread: str, names: Sequence[str], when: str) -> Counter[str]:
        """What of a conversation is lost, doubled, or out of its order."""
        faults: Counter[str] = Counter()
        said = [row.text for row in await self._graph.resources.of_user("ada").archive.messages(thread)]
        config: Any = {"configurable": {"thread_id": thread}}
        shown = [message.text for message in (await self._graph.aget_state(config)).values.get("messages", [])]
        wanted = [text for name in names for text in (f"({name})", f"Reply to {name}.")]
        for place in (said, shown):
            found = [text if text.startswith("Reply") else f"({text.rsplit('(', 1)[-1]}" for text in place]
            counts = Counter(found)
            there = [text for text in found if text in set(wanted)]
            faults["lost"] += sum(counts[text] == 0 for text in wanted)
            faults["doubled"] += sum(counts[text] > 1 for text in wanted)
            faults["misordered"] += not faults["lost"] and not faults["doubled"] and there != wanted
        if when == "after":
            faults["state and archive differ"] += said != shown
        return faults

    async def _examined(self, user: str, kind: str, thread: str | None = None) -> Counter[str]:
        if not await self._graph.resources.of_user(user).archive.threads():
            return Counter()
        if thread is not None and not await self._graph.resources.of_user(user).archive.has_thread(thread):
            return Counter()
        checkups = await examine(self._graph, user, thread)
        return Counter(f"{kind}: {f.kind}" for one in checkups for f in one.findings if not f.harmless)


def _in_child(work: Callable[[], Any]) -> int:
    """Do work in a process of its own, which is forked, so that nothing is imported anew; the signal or the code."""
    if (child := os.fork()) == 0:
        code = 1
        try:
            signal.alarm(int(_SECONDS))
            asyncio.run(work())
            code = 0
        except BaseException:  # told, whatever it is: the parent counts it as a refused start
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def campaign(storage: str, kills: int, seed: int, points: Sequence[str]) -> dict[str, Any]:
    """Kill processes on one storage; returns the figures."""
    with server_folder() if storage == "postgres" else tempfile.TemporaryDirectory(prefix="crash-") as name:
        folder = Path(name)
        url = ensure_server(folder) if storage == "postgres" else storage
        settings = Settings(
            database_url=url, data_dir=folder, web_search="off", summary_model="extractive", n_sum=4, sum_window=2,
        )  # fmt: skip
        log, started = Log(folder / "log.jsonl"), time.monotonic()
        killed: Counter[str] = Counter()
        failed = 0
        if _in_child(lambda: Work(settings, folder, log).prepare()):
            raise SystemExit("The file to import could not be made.")
        before: Kill | None = None
        for number in range(kills + 1):
            last = number == kills
            kill = Kill(number, "", 0, 0) if last else Kill.drawn(number, points, seed)
            code = _in_child(lambda kill=kill, before=before: Work(settings, folder, log).run(kill, before))
            killed[kill.point] += code == -signal.SIGKILL
            failed += code not in {0, -signal.SIGKILL}
            before = kill
        entries = log.read()
    by_point: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        if entry["did"] == "looked":
            by_point[entry["point"]] += Counter(entry["faults"])
    faults = sum(by_point.values(), Counter())
    return {
        "storage": storage,
        "kills": sum(killed.values()),
        "acknowledged": sum(entry["did"] in {"answered", "imported", "embedded", "deleted"} for entry in entries),
        "refused": kills + 1 - sum(entry["did"] == "start" for entry in entries),
        "failed": failed,
        "faults": dict(faults),
        "by_point": {point: {"kills": killed[point], **by_point[point]} for point in points},
        "seconds": round(time.monotonic() - started),
    }


_LEAST: Final = ("lost", "doubled", "misordered", "came back", "half deleted", "state and archive differ")


def show(figures: Sequence[dict[str, Any]]) -> None:
    """The table of README."""
    print(f"| storage | kills | acknowledged | refused starts | failed | {' | '.join(_LEAST)} | findings |")
    print(f"|{'---|' * (len(_LEAST) + 6)}")
    for row in figures:
        faults = row["faults"]
        found = ", ".join(
            f"{n} {name.removeprefix('finding: ')}" for name, n in faults.items() if name.startswith("finding")
        )
        cells = [row["storage"], row["kills"], row["acknowledged"], row["refused"], row["failed"]]
        print(f"| {' | '.join(map(str, [*cells, *(faults.get(name, 0) for name in _LEAST), found or '0']))} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="for each storage")
    parser.add_argument("--storage", default="postgres,sqlite,json", help="several, separated by commas")
    parser.add_argument("--points", default=",".join(POINTS), help="several, separated by commas")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    figures = []
    for storage in options.storage.split(","):
        figures.append(campaign(storage, options.kills, options.seed, options.points.split(",")))
        print(json.dumps(figures[-1]["by_point"], indent=1))
        show(figures[-1:])
    show(figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
