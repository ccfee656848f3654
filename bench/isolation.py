"""One user after what is another's, through every door: `python -m bench.isolation [--probes 10000] [--json FILE]`.

Users with ids that look alike have each told secrets in threads of theirs: they were summarized, became facts and pins,
were searched for on the web, and stand in states, reports and an exported file. Strangers then try one door after the
other, each time for another victim. A probe leaks where a secret stands in what it brought, error messages included, or
where a cache knew what only the victim had asked; all that a chat model was shown counts as brought. Afterwards the
victims must have what they had, in their team spaces too, and nothing that a stranger wrote; and each door that reads
must bring secrets to those whose they are, since else no probe of it could find a leak.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.tools import tool
from langgraph.prebuilt import ToolRuntime

from bench.isolation_doors import ASKED, MARK, Blab, Doors, Victim
from bench.isolation_memory_doors import MemoryDoors
from bench.isolation_spaces import READER, SpaceDoors
from bench.server_folder import server_folder
from everthread import Settings, open_graph
from everthread.maintenance.transfer import export_rows

VICTIMS = ("ada", "a", "a%", "a_", "ADA", "ada ", "用户", "default", "a'; --", "{user_id}")
STRANGERS = ("mallory", "ad", "adaa", "Ada", "%", "_", "a%' OR '1'='1", "guest", "用", "*")
ROUND = 460
"""Probes after which strangers delete all that is theirs."""

WRITE_ONLY = (
    "update_state", "delete", "thread_of_a_name", "import_a_file", "search_cache", "embedding_cache", "space_as_a_user",
    "thread_of_a_space", "reader_of_a_space",
)  # fmt: skip
"""Doors that bring nothing even to whose data it is, or whose stranger is always a new one."""

TRIES = 60
Door = Callable[[str, Victim], Awaitable[Any]]


class Bench(Doors):
    """The open graph with what is prepared in it, and the probes."""

    spaces: SpaceDoors

    def __init__(self, settings: Settings, folder: Path) -> None:
        super().__init__(folder)
        self.victims = [Victim(user_id, number, folder) for number, user_id in enumerate(VICTIMS)]

        @tool
        async def search_memory(query: str, runtime: ToolRuntime[Settings, Any]) -> str:
            """Searches what the user said."""
            user = self.user(str(runtime.context.user_id))
            found = await user.search.find("elsewhere", query, limit=20, threshold=0.0, timeout=60)
            self.model.shown += [str(found.hits), str(await user.archive.exchanges(found.hits))]
            return f"{len(found.hits)} hits."

        self.model = Blab()
        self.opened = open_graph(
            settings,
            model=self.model,
            embeddings=self.embeddings,
            engines={"bench": self.engine},
            tools=[search_memory],
        )

    async def prepare(self, spaces: SpaceDoors) -> None:
        self.spaces = spaces
        for victim in self.victims:
            for thread in victim.threads:
                for text in victim.said():
                    await self.say(text, thread, victim.id)
            self.engine.secret = victim.secrets[4]
            await self.say(victim.searched, "searches " + victim.threads[0], victim.id, web_search="always")
        await self.graph.asettled()
        self.engine.secret = "nothing"
        for victim in self.victims:
            await spaces.fill(victim)
        for victim in self.victims:
            victim.before = await self.state_of(victim)
            victim.facts = await self.user(victim.id).facts.all_facts()
            victim.ids = [message.id for message in await self.user(victim.id).archive.messages(victim.threads[0])]
            victim.summary = (await self.user(victim.id).archive.summaries(victim.threads[0]))[0].id
            await export_rows(self.user(victim.id).rows, victim.file, written=lambda _done, _all: None)

    async def state_of(self, victim: Victim) -> Any:
        user, found = self.user(victim.id), []
        for thread in victim.threads:
            state = await self.graph.aget_state({"configurable": {"thread_id": thread}})
            found.append([(m.id, m.text) for m in state.values["messages"]])
            found.append([link["id"] for link in state.values["chain"]["links"]])
            found.append([(m.id, m.text) for m in await user.archive.page(thread, limit=1000, with_left=True)])
            found.append([s.id for s in await user.archive.summaries(thread)])
        found.append(sorted(fact.text for fact in await user.facts.all_facts()))
        found.append(sorted(pin.text for pin in await user.facts.pins()))
        found.append(sorted(row["thread_id"] for row in await user.archive.threads()))
        found.append(await self.spaces.state_of(victim))
        return found

    async def run(self, probes: int) -> dict[str, Any]:
        """Probes of one door after the other, and what came of them."""
        leaks: dict[str, int] = defaultdict(int)
        refused: dict[str, int] = defaultdict(int)
        seconds: dict[str, float] = defaultdict(float)
        for number in range(probes):
            door, stranger = self.all[number % len(self.all)], random.choice(STRANGERS)
            began = time.process_time()
            brought, error = await self.probe(door, stranger, random.choice(self.victims))
            seconds[door.__name__] += time.process_time() - began
            leaks[door.__name__] += self.tells(brought)
            refused[f"{door.__name__}: {error}"] += error is not None
            if number % ROUND == ROUND - 1:  # their own data would make each turn longer than the one before
                for user_id in STRANGERS:
                    await self.graph.adelete(user_id)
                print(f"{number + 1} probes, {sum(leaks.values())} leaks", file=sys.stderr, flush=True)
        changed = [victim.id for victim in self.victims if await self.state_of(victim) != victim.before]
        each = {door.__name__: probes // len(self.all) for door in self.all}
        return {
            "probes": probes, "leaks": {name: count for name, count in leaks.items() if count},
            "victims changed": changed, "blind doors": await self.blind(), "probes by door": each,
            "processor ms a probe": {name: round(total * 1000 / max(each[name], 1)) for name, total in seconds.items()},
            "refused": {name: count for name, count in sorted(refused.items()) if count},
            "search, ms": {name: round(median(values) * 1000, 1) for name, values in self.milliseconds.items()},
        }  # fmt: skip

    async def probe(self, door: Door, stranger: str, victim: Victim) -> tuple[str, str | None]:
        """What a door brought, with all that models were shown meanwhile; and the kind of error, where it refused."""
        self.model.shown.clear()
        try:
            brought, error = str(await door(stranger, victim)), None
        except Exception as refusal:
            chained = f"{refusal!r} {refusal.__cause__!r} {refusal.__context__!r}"
            brought, error = chained, type(refusal).__name__
        return "\n".join([brought, *self.model.shown]), error

    def tells(self, brought: str) -> bool:
        return any(secret in brought for victim in self.victims for secret in victim.secrets)

    async def blind(self) -> list[str]:
        """The doors that read and tell a victim nothing of their own: through these no probe could find a leak."""
        found = []
        for door in self.all:
            if door.__name__ in WRITE_ONLY:
                continue
            for _ in range(TRIES):
                victim = random.choice(self.victims)
                brought, _ = await self.probe(door, victim.id, victim)
                if self.tells(brought):
                    break
            else:
                found.append(door.__name__)
        return found


async def measure(settings: Settings, probes: int, folder: Path) -> dict[str, Any]:
    bench = Bench(settings, folder)
    async with bench.opened as bench.graph:
        users = [*VICTIMS, *STRANGERS, READER]
        async with MemoryDoors(bench.graph, bench.model, users, ASKED, MARK) as beside:
            shared = SpaceDoors(bench.graph, beside.agent_door, beside.http, ASKED, MARK, folder)
            await bench.prepare(shared)
            bench.all += [*beside.all, *shared.all]
            return await bench.run(probes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probes", type=int, default=10_000)
    parser.add_argument("--storage", choices=("postgres", "sqlite", "json"), default="postgres")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    random.seed(options.seed)
    with TemporaryDirectory() as work, server_folder() if options.storage == "postgres" else nullcontext(None) as data:
        common: dict[str, Any] = {"search_engines": ("bench",), "web_search": "off", "summary_model": "extractive"}
        where = {} if options.storage == "postgres" else {"database_url": options.storage}
        settings = Settings(data_dir=data or Path(work), **where, **common)
        figures = asyncio.run(measure(settings, options.probes, Path(work)))
    print(json.dumps(figures, indent=2, ensure_ascii=False))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
