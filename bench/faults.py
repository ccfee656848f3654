"""What goes wrong around a running process, and what comes of it: `python -m bench.faults [--only away,pool]`.

Each row is a fault on an embedded Postgres: conversations go on while it lasts, and afterwards it is counted what of
all that was acknowledged is lost or doubled, what failed, and how long the slowest turn took (of slow models: its first
token). Chat models are fakes that answer each question with its number, and vectors are drawn from a hash.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psycopg
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from bench.crash import Answers, reply_to
from bench.pgbouncer import pgbouncer
from bench.server_folder import server_folder, stop_server
from everthread import OverloadError, Settings, open_graph
from everthread.maintenance.doctor import examine
from everthread.storage.embedded.server import ensure_server

SCHEMA: Final = "everthread"


class SlowAnswers(Answers):
    """A chat model that takes its time, word by word; longer where it is asked for a summary."""

    seconds: float = 0.0
    summary_seconds: float = 0.0

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        await asyncio.sleep(self._wait(messages))
        return self._generate(messages)

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for word in reply_to(messages[-1].text).split(" "):
            await asyncio.sleep(self._wait(messages) / 3)
            yield ChatGenerationChunk(message=AIMessageChunk(word if word.endswith(".") else f"{word} "))

    def _wait(self, messages: Sequence[BaseMessage]) -> float:
        return self.seconds if messages[-1].text.rstrip().endswith(")") else self.summary_seconds


class Talk:
    """What was said to one graph or several, and what was acknowledged."""

    def __init__(self) -> None:
        self.answered: dict[str, list[str]] = {}
        self.failed: Counter[str] = Counter()
        self.slowest = 0.0

    async def ask(self, graph: Any, thread: str, name: str, *, tries: int = 1, stop_after: int | None = None) -> None:
        """One question; asked again where it failed, as a client does. `stop_after`: tokens, then it is left."""
        question: Any = {"messages": [HumanMessage(f"What about the garden? ({name})", id=name)]}
        started = time.perf_counter()
        for _ in range(tries):
            try:
                parts = graph.astream(question, _config(thread), context=_context(thread), stream_mode="messages")
                seen, first = 0, None
                async for _ in parts:
                    first = first or time.perf_counter() - started
                    seen += 1
                    if seen == stop_after:
                        break
                await parts.aclose()
            except OverloadError as error:
                self.failed["refused, with the time to retry"] += 1
                await asyncio.sleep(error.retry_after)
            except Exception as error:  # what fails is counted
                self.failed[type(error).__name__] += 1
                await asyncio.sleep(0.2)
            else:
                self.slowest = max(self.slowest, first or 0.0)
                self.answered.setdefault(thread, []).append(name)
                return

    async def check(self, graph: Any, *, complete: bool = True) -> dict[str, Any]:
        """What is lost or doubled of what was acknowledged; `complete`: each with its whole reply."""
        lost = doubled = findings = 0
        for thread, names in self.answered.items():
            user = graph.resources.of_user(f"user of {thread}")
            rows = [row.text for row in await user.archive.messages(thread)]
            shown = [m.text for m in (await graph.aget_state(_config(thread))).values.get("messages", [])]
            for place in (rows, shown):
                questions = Counter(text.rsplit("(", 1)[-1].rstrip(")") for text in place if not _is_reply(text))
                replies = Counter(name for text in place if _is_reply(text) for name in _answered_in(text))
                whole = Counter(text for text in place if _is_reply(text) and text.endswith("."))
                # A question that another stands behind is answered with that one.
                lost += sum(questions[name] == 0 or (complete and replies[name] == 0) for name in names)
                doubled += sum(count > 1 for count in (*questions.values(), *whole.values()))
            findings += rows != shown
            checked = await examine(graph, f"user of {thread}", thread)
            findings += sum(not finding.harmless for one in checked for finding in one.findings)
        return {
            "acknowledged": sum(map(len, self.answered.values())),
            "lost": lost,
            "doubled": doubled,
            "findings": findings,
            "failed": dict(self.failed),
            "slowest": round(self.slowest, 1),
        }


def _answered_in(reply: str) -> list[str]:
    return reply.removeprefix("Reply to ").rstrip(".").split(" and ")


def _is_reply(text: str) -> bool:
    return text.startswith("Reply")


def _config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def _context(thread: str) -> Any:
    return {"user_id": f"user of {thread}"}


class Bench:
    """One server, and how long each fault lasts.

    Args:
        folder: of the server.
        url: of the server.
        size: 1.0 for the figures of the README; less takes less time.
    """

    def __init__(self, folder: Path, url: str, size: float) -> None:
        self._folder, self._url, self._size = folder, url, size

    def _times(self, number: int) -> int:
        return max(2, round(number * self._size))

    @asynccontextmanager
    async def _graph(self, *, seconds: float = 0.0, summary_seconds: float = 0.0, **own: Any) -> AsyncIterator[Any]:
        values = {"database_url": self._url, "database_schema": SCHEMA, "web_search": "off", **own}
        values = {"summary_model": "extractive", **values}
        if summary_seconds:
            del values["summary_model"]
        model = SlowAnswers(seconds=seconds, summary_seconds=summary_seconds)
        async with open_graph(Settings(**values), model=model, embeddings=DeterministicFakeEmbedding(size=16)) as graph:
            yield graph

    async def pgbouncer(self) -> dict[str, Any]:
        """PgBouncer in transaction mode, two schemas behind it"""
        talk = Talk()
        with pgbouncer(self._url) as url:
            pooled = {"database_url": url, "prepare_statements": False}
            async with self._graph(**pooled) as one, self._graph(**pooled, database_schema="second") as other:

                async def turns(graph: Any, to: Talk, thread: str) -> None:
                    for n in range(self._times(8)):
                        await to.ask(graph, thread, f"{thread}.{n}")

                beside = Talk()
                first = [turns(one, talk, f"pooled-{n}") for n in range(4)]
                await asyncio.gather(*first, *(turns(other, beside, f"elsewhere-{n}") for n in range(4)))
                found, also = await talk.check(one), await beside.check(other)
                wrong = self._rows(f"SELECT count(*) FROM {SCHEMA}.messages WHERE thread_id LIKE 'elsewhere%'")
        sums = {name: found[name] + also[name] for name in ("acknowledged", "lost", "doubled", "findings")}
        return {**found, **sums, "findings": sums["findings"] + wrong[0][0]}

    async def lock(self) -> dict[str, Any]:
        """Claims of a thread that run out, and connections that are cut, under two workers in one thread"""
        talk = Talk()
        async with self._graph(seconds=0.2) as one, self._graph(seconds=0.2) as other:

            async def turns(graph: Any, who: str) -> None:
                for n in range(self._times(10)):
                    await talk.ask(graph, "contested", f"{who}.{n}", tries=20)

            async def lose() -> None:
                while True:
                    await asyncio.sleep(0.4)
                    self._rows(f"UPDATE {SCHEMA}.thread_claims SET expires_at = now() - interval '1 s' RETURNING 1")
                    cut = (
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle' AND random() < 0.2"
                    )
                    self._rows(f"{cut} AND pid <> pg_backend_pid()")

            losing = asyncio.create_task(lose())
            await asyncio.gather(turns(one, "a"), turns(other, "b"))
            losing.cancel()
            with suppress(asyncio.CancelledError):
                await losing
            await talk.ask(one, "contested", "last")
            return await talk.check(one)

    async def again(self) -> dict[str, Any]:
        """Each message sent twice, and the whole history without ids"""
        talk = Talk()
        async with self._graph() as graph:
            history: list[Any] = []
            for n in range(self._times(10)):
                for _ in range(2):
                    await talk.ask(graph, "twice", f"twice.{n}")
                history.append(("user", f"What about the garden? (whole.{n})"))
                whole: Any = {"messages": list(history)}
                state = await graph.ainvoke(whole, _config("whole"), context=_context("whole"))
                history.append(("assistant", state["messages"][-1].text))
            talk.answered = {
                "twice": list(dict.fromkeys(talk.answered["twice"])),
                "whole": [f"whole.{n}" for n in range(self._times(10))],
            }
            return await talk.check(graph)

    async def pool(self) -> dict[str, Any]:
        """A pool of two connections, 40 conversations at once"""
        talk = Talk()
        async with self._graph(pool_size=2) as graph:

            async def turns(thread: str) -> None:
                for n in range(2):
                    await talk.ask(graph, thread, f"{thread}.{n}")

            await asyncio.gather(*(turns(f"narrow-{n}") for n in range(self._times(40))))
            return await talk.check(graph)

    async def away(self) -> dict[str, Any]:
        """The server stopped under 8 conversations that go on, and started again"""
        talk = Talk()
        async with self._graph(seconds=0.1) as graph:

            async def turns(thread: str) -> None:
                for n in range(self._times(12)):
                    await talk.ask(graph, thread, f"{thread}.{n}", tries=50)
                    await asyncio.sleep(0.2)

            talking = asyncio.gather(*(turns(f"away-{n}") for n in range(8)))
            await asyncio.sleep(2)
            await asyncio.to_thread(stop_server, self._folder)
            await asyncio.sleep(3 * self._size)
            assert await asyncio.to_thread(ensure_server, self._folder) == self._url
            await talking
            async with asyncio.timeout(60):
                while graph.resources.away.count:  # noqa: ASYNC110  # another loop writes them
                    await asyncio.sleep(0.1)
            return await talk.check(graph)

    async def slow(self) -> dict[str, Any]:
        """A model that takes 6 s for a summary, messages a second apart"""
        talk = Talk()
        async with self._graph(summary_seconds=6.0) as graph:
            for n in range(self._times(20)):
                await talk.ask(graph, "slow", f"slow.{n}")
                await asyncio.sleep(1 * self._size)
            return await talk.check(graph)

    async def gone(self) -> dict[str, Any]:
        """A client that leaves after the second word of each other reply"""
        talk = Talk()
        async with self._graph(seconds=0.1) as graph:
            for n in range(self._times(20)):
                await talk.ask(graph, "gone", f"gone.{n}", stop_after=2 if n % 2 else None)
            return await talk.check(graph, complete=False)

    async def overload(self) -> dict[str, Any]:
        """200 conversations at once, of which none may wait for more than 5 s"""
        talk = Talk()
        async with self._graph(turns="at_once=20,wait=5") as graph:
            names = [f"many-{n}" for n in range(self._times(200))]
            await asyncio.gather(*(talk.ask(graph, name, f"{name}.0", tries=50) for name in names))
            return await talk.check(graph)

    def _rows(self, statement: str) -> list[Any]:
        with psycopg.connect(self._url, autocommit=True) as connection:
            return connection.execute(statement.encode()).fetchall()


FAULTS: Final[tuple[str, ...]] = ("pgbouncer", "lock", "again", "pool", "away", "slow", "gone", "overload")


async def measure(name: str, size: float = 1.0) -> dict[str, Any]:
    """The figures of one fault, on a server of its own.

    Raises:
        FileNotFoundError: there is no PgBouncer.
    """
    with server_folder() as folder:
        bench = Bench(folder, await asyncio.to_thread(ensure_server, folder), size)
        fault: Callable[[], Awaitable[dict[str, Any]]] = getattr(bench, name)
        return {"fault": name, "what": (fault.__doc__ or "").strip(), **await fault()}


def show(rows: Sequence[dict[str, Any]]) -> None:
    """The table of README."""
    print("| fault | acknowledged | lost | doubled | findings | failed on the way | slowest, s |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        failed = ", ".join(f"{n} {name}" for name, n in row["failed"].items()) or "0"
        cells = [row["what"], row["acknowledged"], row["lost"], row["doubled"], row["findings"], failed, row["slowest"]]
        print(f"| {' | '.join(map(str, cells))} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(FAULTS), help="names, separated by commas")
    parser.add_argument("--size", type=float, default=1.0, help="less takes less time")
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    rows = []
    for name in options.only.split(","):
        rows.append(asyncio.run(measure(name, options.size)))
        show(rows[-1:])
    show(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
