"""One user after what is another's, through every door: `python -m bench.isolation [--probes 10000] [--json FILE]`.

Users with ids that look alike have each told secrets in threads of theirs: they were summarized, became facts and pins,
were searched for on the web, and stand in states, reports and an exported file. Strangers then try one door after the
other, each time for another victim. A probe leaks where a secret stands in what it brought, error messages included, or
where a cache knew what only the victim had asked. The chat model says all that it is shown. Afterwards the victims must
have what they had, and nothing that a stranger wrote.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.tools import tool
from langgraph.prebuilt import ToolRuntime

from bench.isolation_doors import Blab, Doors, Victim
from bench.server_folder import server_folder
from everthread import Settings, open_graph
from everthread.maintenance.transfer import export_rows

VICTIMS = ("ada", "a", "a%", "a_", "ADA", "ada ", "用户", "default", "a'; --", "{user_id}")
STRANGERS = ("mallory", "ad", "adaa", "Ada", "%", "_", "a%' OR '1'='1", "guest", "用", "*")
ROUND = 460
"""Probes after which strangers delete all that is theirs."""


class Bench(Doors):
    """The open graph with what is prepared in it, and the probes."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        super().__init__(folder)
        self.victims = [Victim(user_id, number, folder) for number, user_id in enumerate(VICTIMS)]

        @tool
        async def search_memory(query: str, runtime: ToolRuntime[Settings, Any]) -> str:
            """Searches what the user said."""
            found = await self.user(str(runtime.context.user_id)).search.find(
                "elsewhere", query, limit=20, threshold=0.0, timeout=60
            )
            return str([hit.source_id for hit in found.hits]) + str(
                await self.user(str(runtime.context.user_id)).archive.exchanges(found.hits)
            )

        self.opened = open_graph(
            settings, model=Blab(), embeddings=self.embeddings, engines={"bench": self.engine}, tools=[search_memory]
        )

    async def prepare(self) -> None:
        for victim in self.victims:
            for thread in victim.threads:
                for text in victim.said():
                    await self.say(text, thread, victim.id)
            self.engine.secret = victim.secrets[4]
            await self.say(victim.searched, "searches " + victim.threads[0], victim.id, web_search="always")
        await self.graph.asettled()
        self.engine.secret = "nothing"
        for victim in self.victims:
            victim.before = await self.state_of(victim)
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
        return found

    async def run(self, probes: int) -> dict[str, Any]:
        leaks: dict[str, int] = defaultdict(int)
        refused: dict[str, int] = defaultdict(int)
        secrets = [secret for victim in self.victims for secret in victim.secrets]
        for number in range(probes):
            door, stranger = self.all[number % len(self.all)], random.choice(STRANGERS)
            try:
                brought = str(await door(stranger, random.choice(self.victims)))
            except Exception as error:
                refused[f"{door.__name__}: {type(error).__name__}"] += 1
                brought = f"{error!r} {error.__cause__!r} {error.__context__!r}"
            if any(secret in brought for secret in secrets):
                leaks[door.__name__] += 1
            if (
                number % ROUND == ROUND - 1
            ):  # what they have of their own would make each turn longer than the one before
                for user_id in STRANGERS:
                    await self.graph.adelete(user_id)
        changed = [victim.id for victim in self.victims if await self.state_of(victim) != victim.before]
        timing = {name: round(median(values) * 1000, 1) for name, values in self.milliseconds.items()}
        doors = {door.__name__: probes // len(self.all) for door in self.all}
        return {
            "probes": probes, "doors": doors, "leaks": dict(leaks), "victims changed": changed,
            "refused": dict(sorted(refused.items())), "search, ms": timing,
        }  # fmt: skip


async def measure(settings: Settings, probes: int, folder: Path) -> dict[str, Any]:
    bench = Bench(settings, folder)
    async with bench.opened as bench.graph:
        await bench.prepare()
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
