"""How long forgetting takes, and what remains: `python bench/forgetting.py [--messages N] [--data FILE] [--json FILE]`.

One user has so many messages, turns of LoCoMo told again and again, half of them in one thread with summaries of three
levels, and 30 turns of the graph in both threads that remember them. Measured in each storage: forgetting one message,
100 messages of a span of time, a thread, and everything; then the proof, which erases and looks, and how many places
still hold the bytes of a canary that was said in what is forgotten. `--chat`: a request in the chat to forget what each
of the messages names, or with `--hits` so many of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from datasets import locomo, message
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage
from server_folder import server_folder

from everthread.graph.conversation import Conversation
from everthread.graph.open import open_graph
from everthread.maintenance.proof import prove
from everthread.runtime import forget as forgetting
from everthread.runtime import forget_wanted
from everthread.runtime.forget_needles import Needles
from everthread.settings.settings import Settings
from everthread.state.records import Summary
from everthread.text.extractive import extract_summary

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
CANARY = "The word of the day is zanzibar-4471, said nowhere else."
TURNS = 30
EACH = 10
"""Messages or summaries under each summary."""


def said(number: int, messages: Sequence[AnyMessage], threads: Sequence[str]) -> dict[str, list[AnyMessage]]:
    """So many messages by thread, each with an id of its own; every hundredth holds a canary of its own."""
    found: dict[str, list[AnyMessage]] = {thread: [] for thread in threads}
    for n in range(number):
        text = str(messages[n % len(messages)].content)
        text = f"{text} {CANARY.replace('4471', str(100_000 + n))}" if n % 100 == 50 else text
        role = "user" if n % 2 == 0 else "assistant"
        about = message(str(uuid.UUID(int=n + 1)), role, text, BEGIN + timedelta(minutes=7 * n))
        found[threads[n * len(threads) // number]].append(about)
    return found


async def summarized(graph: Conversation, thread: str, messages: Sequence[AnyMessage]) -> int:
    """Summaries of the messages, of these, and of those; returns how many."""
    archive, made = graph.resources.of_user("ada").archive, 0
    below = [(str(m.id), str(m.content), 1) for m in messages]
    for level in (1, 2, 3):
        above: list[tuple[str, str, int]] = []
        for start in range(0, len(below), EACH):
            part = below[start : start + EACH]
            text, ids = extract_summary([("", text) for _, text, _ in part], 150), tuple(id_ for id_, _, _ in part)
            id_ = Summary.id_for(thread, level, ids)
            covers = sum(count for _, _, count in part)
            await archive.add_summary(thread, Summary(id=id_, content=text, level=level, source_ids=ids, covers=covers))
            above.append((id_, text, covers))
        made, below = made + len(above), above
    return made


async def fill(graph: Conversation, by_thread: dict[str, list[AnyMessage]], turns: int = TURNS) -> dict[str, int]:
    user, summaries = graph.resources.of_user("ada"), 0
    for thread, messages in by_thread.items():
        for start in range(0, len(messages), 500):
            await user.archive.add_messages(thread, messages[start : start + 500])
        summaries += await summarized(graph, thread, messages)
    for n in range(turns):
        for thread in by_thread:
            question = {"messages": [("user", f"Turn {n}: which was the word of the day, zanzibar or another?")]}
            config: Any = {"configurable": {"thread_id": thread}}
            await graph.ainvoke(question, config, context={"user_id": "ada"})
    await graph.asettled()
    return {"summaries": summaries, "facts": len(await user.facts.all_facts())}


async def measured(
    graph: Conversation, by_thread: dict[str, list[AnyMessage]], what: str, wanted: forget_wanted.Wanted
) -> dict[str, Any]:
    user, storage = graph.resources.of_user("ada"), graph.resources.database
    told = [str(m.content) for t, some in by_thread.items() for m in some
            if t in wanted.threads or m.id in wanted.ids.get(t, ())]  # fmt: skip
    canaries = [word for text in told for word in re.findall(r"zanzibar-\d{6}", text)]
    needles = Needles(tuple(canaries), len(canaries))
    started = time.perf_counter()
    gone = await forgetting.forget(user, wanted, asked_by="program", locks=graph.resources.locks)
    forgotten = time.perf_counter() - started
    started = time.perf_counter()
    proof = await prove(storage, "ada", needles)
    row = {
        "storage": storage.kind, "what": what, **gone.model_dump(), "forget_s": round(forgotten, 2),
        "prove_s": round(time.perf_counter() - started, 2), "looked_for": proof.needles[0],
        "looked_at": proof.looked_at, "remains": proof.remains,
    }  # fmt: skip
    print(json.dumps(row), flush=True)
    return row


async def bench(settings: Settings, messages: Sequence[AnyMessage], number: int) -> list[dict[str, Any]]:
    model = GenericFakeChatModel(messages=iter([AIMessage(f"Noted, {n}.") for n in range(10_000)]))
    embeddings = DeterministicFakeEmbedding(size=384)
    async with open_graph(settings, model=model, embeddings=embeddings) as graph:
        assert isinstance(graph, Conversation)
        by_thread = said(number, messages, ("t1", "t2"))
        print(json.dumps({"storage": settings.storage_kind, **await fill(graph, by_thread)}), flush=True)
        user = graph.resources.of_user("ada")
        one = str(by_thread["t1"][50].id)
        span = BEGIN + timedelta(minutes=7 * 1000), BEGIN + timedelta(minutes=7 * 1100)
        rows = [await measured(graph, by_thread, "one message", await forget_wanted.some_messages(user, "t1", [one]))]
        rows.append(await measured(graph, by_thread, "100 messages", await forget_wanted.span_of_time(user, *span)))
        rows.append(await measured(graph, by_thread, "a thread", await forget_wanted.whole_threads(user, "t2")))
        rows.append(await measured(graph, by_thread, "everything", await forget_wanted.whole_threads(user)))
        return rows


async def in_chat(settings: Settings, number: int, hits: int) -> dict[str, Any]:
    """A turn that asks to forget what so many of the messages of a thread name, the others something else."""
    model = GenericFakeChatModel(messages=iter([AIMessage(f"Noted, {n}.") for n in range(100)]))
    embeddings = DeterministicFakeEmbedding(size=384)
    about = [
        (("user", f"I live in Oslo, and number {n} is about the old garden there."),
         ("assistant", f"So you live in Oslo near garden {n}, noted."))[n % 2] if n < hits else
        (("user", f"The bus of line {n} was late, and I read about the old garden there."),
         ("assistant", f"So line {n} was late again, noted."))[n % 2] for n in range(number)
    ]  # fmt: skip
    said = [message(str(uuid.UUID(int=n + 1)), *told, BEGIN + timedelta(minutes=n)) for n, told in enumerate(about)]
    config: Any = {"configurable": {"thread_id": "t1"}}
    async with open_graph(settings, model=model, embeddings=embeddings) as graph:
        assert isinstance(graph, Conversation)
        await fill(graph, {"t1": said}, turns=3)
        began, processor = time.perf_counter(), time.process_time()
        state = await graph.ainvoke(
            {"messages": [("user", "Forget that I live in Oslo.")]}, config, context={"user_id": "ada"},
            output_keys=["facts"],
        )  # fmt: skip
        row = {
            "storage": graph.resources.database.kind, "what": "in the chat",
            "messages": state["facts"].forgotten.messages, "turn_s": round(time.perf_counter() - began, 2),
            "processor_s": round(time.process_time() - processor, 2),
        }  # fmt: skip
    print(json.dumps(row), flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--storages", nargs="*", default=["postgres", "sqlite", "json"])
    parser.add_argument("--chat", action="store_true", help="only a request in the chat, which all messages are about")
    parser.add_argument("--hits", type=int, help="of the messages, how many name it; by default all")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    messages = [] if options.chat else [
        m for haystack in locomo(options.data) for thread in haystack.threads.values() for m in thread
    ]  # fmt: skip
    rows: list[dict[str, Any]] = []
    for kind in options.storages:
        with server_folder() as folder:
            settings = Settings(database_url=kind, data_dir=folder, web_search="off", summary_model="extractive")
            if options.chat:
                rows.append(asyncio.run(in_chat(settings, options.messages, options.hits or options.messages)))
            else:
                rows += asyncio.run(bench(settings, messages, options.messages))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
