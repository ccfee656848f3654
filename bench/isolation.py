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
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command

from bench.server_folder import server_folder
from everthread import Hit, Settings, examine, find_report, open_graph, regenerate, regenerate_rejected, thread_id
from everthread.graph.build import ConversationGraph
from everthread.maintenance.transfer import export_rows, import_rows
from everthread.maintenance.transfer_format import check_file
from everthread.state.conversation import ConversationState
from everthread.state.records import now
from everthread.state.search_records import SearchResult

VICTIMS = ("ada", "a", "a%", "a_", "ADA", "ada ", "用户", "default", "a'; --", "{user_id}")
STRANGERS = ("mallory", "ad", "adaa", "Ada", "%", "_", "a%' OR '1'='1", "guest", "用", "*")
EVERYTHING = list(ConversationState.__annotations__)
MARK = "MALLORYWASHERE"
"""What strangers try to leave with their victims."""

ASKED = "What is my locker number, who is my sister, what is my alarm code, and what is in the garden?"


class Blab(BaseChatModel):
    """A chat model that calls the tool where it is told to, and else says all that it was shown."""

    @property
    def _llm_type(self) -> str:
        return "blab"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        last = messages[-1].text
        reply = AIMessage("\n".join(message.text for message in messages)[-20_000:])
        if isinstance(messages[-1], HumanMessage) and (wanted := re.search(r"CALL (\{.*\})", last)):
            reply = AIMessage("", tool_calls=[{"name": "search_memory", "args": json.loads(wanted[1]), "id": "c1"}])
        elif not isinstance(messages[-1], HumanMessage) or "my " not in last:
            reply = AIMessage(f"I see: {last[-300:]}")
        return ChatResult(generations=[ChatGeneration(message=reply)])


class Counting(DeterministicFakeEmbedding):
    """Vectors from a hash; counts questions."""

    asked: int = 0

    def embed_query(self, text: str) -> list[float]:
        self.asked += 1
        return super().embed_query(text)


class Engine:
    """A web search engine whose pages hold the secret of whom it is asked for."""

    name = "bench"
    secret = "nothing"
    asked = 0

    def available(self) -> bool:
        return True

    async def search(self, query: str, max_results: int, timeout: float) -> list[SearchResult]:
        self.asked += 1
        return [SearchResult(title="A page", url="https://example.org/", content=self.secret, engine=self.name)]


class Victim:
    """A user with secrets, where they stand, and how all of it looked before."""

    def __init__(self, user_id: str, number: int, folder: Path) -> None:
        rng = random.Random(number)
        self.id = user_id
        self.secrets = ["Zq" + "".join(rng.choices("bcdfghklmnprst", k=10)) for _ in range(5)]
        self.threads = [f"thread {number}", thread_id("work", user_id)]
        self.searched = f"What is the news about subject {rng.randrange(10**9)} today?"
        self.file = folder / f"{number}.jsonl"
        self.summary = ""
        self.before: Any = None

    def said(self) -> list[str]:
        one, two, three, four, _ = self.secrets
        said = [
            f"My locker number is {one}.",
            f"My sister is called {two}.",
            f"Please remember that my code is {three}.",
        ]
        return [*said, *(f"Remark {n} about the garden and {four}." for n in range(9))]


class Bench:
    """The open graph, and what strangers try on it."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.folder, self.engine, self.embeddings = folder, Engine(), Counting(size=32)
        self.victims = [Victim(user_id, number, folder) for number, user_id in enumerate(VICTIMS)]
        self.milliseconds: dict[str, list[float]] = defaultdict(list)
        self.doors: list[Callable[[str, Victim], Awaitable[Any]]] = [
            self.run_in_thread, self.run_by_configurable, self.run_with_a_command, self.run_from_a_checkpoint,
            self.chat_command, self.recall, self.recall_by_words_of_ids, self.no_thread_id, self.nested_in_a_parent,
            self.tool_call, self.update_state, self.read_state, self.thread_of_a_name, self.thread_copy,
            self.import_a_file, self.export, self.archive, self.facts, self.reports, self.maintenance, self.delete,
            self.search_cache, self.embedding_cache,
        ]  # fmt: skip

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

    def user(self, user_id: str) -> Any:
        return self.graph.resources.of_user(user_id)

    async def say(self, text: Any, thread: str | None, user: str, **more: Any) -> Any:
        given = text if isinstance(text, (dict, Command)) or text is None else {"messages": [("user", text)]}
        configurable = {**more.pop("configurable", {}), **({"thread_id": thread} if thread else {})}
        context = {"user_id": user, **more}
        return await self.graph.ainvoke(given, {"configurable": configurable}, context=context, output_keys=EVERYTHING)

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

    # Each door is given a stranger and a victim, and returns all that it brought.

    async def run_in_thread(self, stranger: str, victim: Victim) -> Any:
        return await self.say(f"{MARK} {ASKED}", random.choice(victim.threads), stranger)

    async def run_by_configurable(self, stranger: str, victim: Victim) -> Any:
        config: Any = {"configurable": {"thread_id": victim.threads[0], "user_id": stranger}}
        return await self.graph.ainvoke({"messages": [("user", f"{MARK} {ASKED}")]}, config, output_keys=EVERYTHING)

    async def run_with_a_command(self, stranger: str, victim: Victim) -> Any:
        wipe = [RemoveMessage(id=REMOVE_ALL_MESSAGES), ("user", MARK)]
        given: Any = random.choice(
            [None, {"messages": wipe}, Command(update={"messages": [("user", MARK)]}), Command(goto="llm_call"),
             Command(resume=MARK), {"messages": [("user", MARK)], "chain": {}, "compression": {}}]
        )  # fmt: skip
        return await self.say(given, random.choice(victim.threads), stranger)

    async def run_from_a_checkpoint(self, stranger: str, victim: Victim) -> Any:
        thread = victim.threads[0]
        state = await self.graph.aget_state({"configurable": {"thread_id": thread}})
        id_ = state.config["configurable"]["checkpoint_id"]
        to = random.choice([thread, f"own {stranger}"])
        return await self.say(random.choice([MARK, None]), to, stranger, configurable={"checkpoint_id": id_})

    async def chat_command(self, stranger: str, victim: Victim) -> Any:
        command = random.choice(["/summary_status", "/summary_now", "/summary_off", "/summary"])
        return await self.say(command, random.choice([victim.threads[0], f"own {stranger}"]), stranger)

    async def recall(self, stranger: str, victim: Victim) -> Any:
        more = random.choice([{}, {"profile": "archive"}, {"similarity_threshold": 0.0}, {"memory_scope": "user"}])
        return await self.say(ASKED, f"own {random.randrange(10**9)}", stranger, **more)

    async def recall_by_words_of_ids(self, stranger: str, victim: Victim) -> Any:
        return await self.say(f"{ASKED} {victim.id} {victim.threads[0]}", f"own {random.randrange(10**9)}", stranger)

    async def no_thread_id(self, stranger: str, victim: Victim) -> Any:
        return await self.say(ASKED, None, stranger)

    async def nested_in_a_parent(self, stranger: str, victim: Victim) -> Any:
        parent: Any = StateGraph(MessagesState)
        parent.add_node("chat", ConversationGraph(self.graph.resources).compile()).add_edge(START, "chat")
        config = {"configurable": {"thread_id": random.choice([*victim.threads, f"own {stranger}"])}}
        context = {"user_id": stranger, "tenant": "x", "everthread": {"similarity_threshold": 0.0}}
        compiled = parent.compile(checkpointer=InMemorySaver())
        return await compiled.ainvoke({"messages": [("user", f"{MARK} {ASKED}")]}, config, context=context)

    async def tool_call(self, stranger: str, victim: Victim) -> Any:
        args = {"query": ASKED, "user_id": victim.id, "runtime": {"context": {"user_id": victim.id}}}
        return await self.say(f"CALL {json.dumps(args)}", f"own {random.randrange(10**9)}", stranger)

    async def update_state(self, stranger: str, victim: Victim) -> Any:
        config: Any = {"configurable": {"thread_id": random.choice(victim.threads), "user_id": stranger}}
        wipe: Any = [RemoveMessage(id=REMOVE_ALL_MESSAGES)]
        values = random.choice([{"messages": [("user", MARK)]}, {"messages": wipe}, {"chain": {}}])
        return await self.graph.aupdate_state(config, values)

    async def read_state(self, stranger: str, victim: Victim) -> Any:
        config: Any = {"configurable": {"thread_id": random.choice(victim.threads), "user_id": stranger}}
        if random.random() < 0.5:
            return await self.graph.aget_state(config)
        return [snapshot async for snapshot in self.graph.aget_state_history(config)]

    async def thread_of_a_name(self, stranger: str, victim: Victim) -> Any:
        free = thread_id(random.choice(["home", "private", "", "用户"]), victim.id)
        brought = await self.say(MARK, free, stranger)
        return [brought, *victim.secrets]  # that it went through is the leak

    async def thread_copy(self, stranger: str, victim: Victim) -> Any:
        copy = f"copy {stranger} {random.randrange(10**9)}"
        await self.graph.checkpointer.acopy_thread(victim.threads[0], copy)
        try:
            return await self.say(ASKED, copy, stranger)
        finally:
            await self.graph.adelete(victim.id, copy)

    async def import_a_file(self, stranger: str, victim: Victim) -> Any:
        """The victim's threads under the stranger's name, with sentences of the stranger's own."""
        header, *lines = victim.file.read_text("utf-8").splitlines()
        text = "\n".join([header, *(line for line in lines)])
        for secret in victim.secrets:
            text = text.replace(secret, MARK)
        if random.random() < 0.5:  # as if the stranger had exported it
            text = text.replace(json.dumps(victim.id, ensure_ascii=False), json.dumps(stranger, ensure_ascii=False), 1)
        file = self.folder / "forged.jsonl"
        file.write_text(text + "\n", "utf-8")
        rows = self.user(stranger).rows
        brought = await import_rows(rows, file, check_file(file), added=lambda _added: None)
        return [brought, await self.say(ASKED, f"own {random.randrange(10**9)}", stranger)]

    async def export(self, stranger: str, victim: Victim) -> Any:
        file = self.folder / "stolen.jsonl"
        await export_rows(
            self.user(stranger).rows, file, thread=random.choice([None, *victim.threads]), written=lambda _a, _b: None
        )
        return file.read_text("utf-8")

    async def archive(self, stranger: str, victim: Victim) -> Any:
        thread, user = victim.threads[0], self.user(stranger)
        ids = [message.id for message in await self.user(victim.id).archive.messages(thread)]
        hits = [
            Hit(source_type=kind, source_id=id_, thread_id=thread, role="user", rank=1, created_at=now())
            for kind, id_ in [("summary", victim.summary), *(("message", id_) for id_ in ids[:5])]
        ]
        archive = user.archive
        found = [await archive.messages(thread), await archive.page(thread), await archive.exchanges(hits)]
        found += [await archive.sources(thread, victim.summary), await archive.summaries(thread)]
        found += [await archive.whole_messages(thread, ids), await archive.compression(thread), await archive.threads()]
        found += [await user.vectors.passages(ASKED, [(thread, id_) for id_ in ids], timeout=60)]
        found += [await user.summaries.versions(thread, victim.summary), await user.summaries.named("")]
        return [*found, await self.graph.ahistory(stranger, thread), await archive.thread_named(thread)]

    async def facts(self, stranger: str, victim: Victim) -> Any:
        facts = self.user(stranger).facts
        other = await self.user(victim.id).facts.all_facts()
        await facts.forget(random.choice(other).id, now())
        found = await facts.sheet(
            victim.threads[0], ASKED.split(), live=[], newest=[], pool=50, most=100, max_pins=50, this_thread_only=False
        )
        return [await facts.all_facts(), await facts.pins(forgotten=True), list(found[0]), found[1]]

    async def reports(self, stranger: str, victim: Victim) -> Any:
        thread, user = victim.threads[0], self.user(stranger)
        found = [await user.reports.find(thread, turn) for turn in range(1, 4)]
        return [*found, await find_report(self.graph.resources.database, stranger, thread)]

    async def maintenance(self, stranger: str, victim: Victim) -> Any:
        works: list[Callable[[], Awaitable[Any]]] = [
            lambda: examine(self.graph, stranger, victim.threads[0], repair=True),
            lambda: regenerate(self.graph, stranger, victim.summary, above=True),
            lambda: regenerate_rejected(self.graph, stranger, victim.threads[0]),
        ]
        return await random.choice(works)()

    async def delete(self, stranger: str, victim: Victim) -> Any:
        return await self.graph.adelete(stranger, random.choice(victim.threads))

    async def search_cache(self, stranger: str, victim: Victim) -> Any:
        asked, to = self.engine.asked, f"own {random.randrange(10**9)}"
        first = victim.searched if random.random() < 0.5 else f"What is the news about {random.randrange(10**9)} today?"
        started = time.perf_counter()
        state = await self.say(first, to, f"{stranger} {random.randrange(10**9)}", web_search="always")
        self.milliseconds["asked before" if first == victim.searched else "new"].append(time.perf_counter() - started)
        is_known = state["search"].from_cache or self.engine.asked == asked
        return [state, *(victim.secrets if is_known else [])]

    async def embedding_cache(self, stranger: str, victim: Victim) -> Any:
        asked = self.embeddings.asked
        search = self.user(f"{stranger} {random.randrange(10**9)}").search
        found = await search.find("now", random.choice(victim.said()), limit=5, threshold=0.0, timeout=60)
        return [] if self.embeddings.asked > asked and not found.hits else victim.secrets

    async def run(self, probes: int) -> dict[str, Any]:
        leaks: dict[str, int] = defaultdict(int)
        refused: dict[str, int] = defaultdict(int)
        secrets = [secret for victim in self.victims for secret in victim.secrets]
        for number in range(probes):
            door, stranger = self.doors[number % len(self.doors)], random.choice(STRANGERS)
            try:
                brought = str(await door(stranger, random.choice(self.victims)))
            except Exception as error:
                refused[f"{door.__name__}: {type(error).__name__}"] += 1
                brought = f"{error!r} {error.__cause__!r} {error.__context__!r}"
            if any(secret in brought for secret in secrets):
                leaks[door.__name__] += 1
        changed = [victim.id for victim in self.victims if await self.state_of(victim) != victim.before]
        timing = {name: round(median(values) * 1000, 1) for name, values in self.milliseconds.items()}
        doors = {door.__name__: probes // len(self.doors) for door in self.doors}
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
