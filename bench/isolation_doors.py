"""The doors that `bench.isolation` tries: each is given a stranger and a victim, and returns all that it brought."""

from __future__ import annotations

import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command
from pydantic import Field

from everthread import examine, find_report, regenerate, regenerate_rejected, thread_id
from everthread.graph.build import ConversationGraph
from everthread.maintenance.transfer import export_rows, import_rows
from everthread.maintenance.transfer_format import check_file
from everthread.state.conversation import ConversationState
from everthread.state.records import Hit, now
from everthread.state.search_records import SearchResult

EVERYTHING = list(ConversationState.__annotations__)
MARK = "MALLORYWASHERE"
"""What strangers try to leave with their victims."""

ASKED = "What is my locker number, who is my sister, what is my alarm code, and what is in the garden?"


class Blab(BaseChatModel):
    """A chat model that calls the tool where it is told to, and keeps all that it was shown: a reply could tell it."""

    shown: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "blab"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        self.shown += [message.text for message in messages]
        reply = AIMessage(f"I see: {messages[-1].text[-300:]}")
        called = any(isinstance(message, ToolMessage) for message in messages)
        if not called and (wanted := re.search(r"CALL (\{.*?\}\}\})", messages[-1].text)):
            reply = AIMessage("", tool_calls=[{"name": "search_memory", "args": json.loads(wanted[1]), "id": "c1"}])
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
        self.ids: list[str] = []
        self.facts: list[Any] = []
        self.before: Any = None

    def said(self) -> list[str]:
        one, two, three, four, _ = self.secrets
        said = [
            f"My locker number is {one}.",
            f"My sister is called {two}.",
            f"Please remember that my code is {three}.",
        ]
        return [*said, *(f"Remark {n} about the garden and {four}." for n in range(9))]


class Doors:
    """What strangers try on the open graph."""

    graph: Any

    def __init__(self, folder: Path) -> None:
        self.folder, self.engine, self.embeddings = folder, Engine(), Counting(size=32)
        self.milliseconds: dict[str, list[float]] = defaultdict(list)
        self.all: list[Callable[[str, Victim], Awaitable[Any]]] = [
            self.run_in_thread, self.run_by_configurable, self.run_with_a_command, self.run_from_a_checkpoint,
            self.chat_command, self.recall, self.recall_by_words_of_ids, self.no_thread_id, self.nested_in_a_parent,
            self.tool_call, self.update_state, self.read_state, self.thread_of_a_name, self.thread_copy,
            self.import_a_file, self.export, self.archive, self.facts, self.reports, self.maintenance, self.delete,
            self.search_cache, self.embedding_cache,
        ]  # fmt: skip

    def user(self, user_id: str) -> Any:
        return self.graph.resources.of_user(user_id)

    async def say(self, text: Any, thread: str | None, user: str, **more: Any) -> Any:
        given = text if isinstance(text, (dict, Command)) or text is None else {"messages": [("user", text)]}
        configurable = {**more.pop("configurable", {}), **({"thread_id": thread} if thread else {})}
        context = {"user_id": user, **more}
        return await self.graph.ainvoke(given, {"configurable": configurable}, context=context, output_keys=EVERYTHING)

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
        if random.random() < 0.5:
            return await self.say(ASKED, None, stranger)
        graph = ConversationGraph(self.graph.resources).compile()
        return await graph.ainvoke({"messages": [("user", ASKED)]}, context={"user_id": stranger})

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
        text = victim.file.read_text("utf-8")
        for secret in victim.secrets:
            text = text.replace(secret, MARK)
        if random.random() < 0.5:  # as if the stranger had exported it
            text = text.replace(json.dumps(victim.id, ensure_ascii=False), json.dumps(stranger, ensure_ascii=False), 1)
        if random.random() < 0.5:  # under ids that are free
            for thread in (*victim.threads, f"searches {victim.threads[0]}"):
                text = text.replace(json.dumps(thread), json.dumps(f"own {random.randrange(10**9)}"))
        file = self.folder / "forged.jsonl"
        file.write_text(text, "utf-8")
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
