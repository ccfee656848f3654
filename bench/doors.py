"""The doors beside the graph: `python -m bench.doors [--part NAME] [--data FILE] [--json FILE]`, with these parts.

recall: a conversation of LoCoMo in one storage; each question is asked of the graph, and through each door. What a door
brings is right where its best is the graph's best, and all messages that the graph recalled are in it (it gives whole
exchanges, where the graph tells of the later ones what was found, and goes on to as many as are asked for, where the
graph is silent about what bears little on the question); for the middleware and `context` where the prompt is the one
that the graph's model was sent.

overhead: milliseconds of processor that `Everthread()` adds to a call of the model, beside LangChain's
`SummarizationMiddleware` and an agent without any, over the last of `--turns` turns.

import: messages a second, without embedding, and the peak of memory, for made exports of each product.

store: milliseconds of put, get and search of `MemoryStore` with `--documents` documents, beside LangGraph's in memory.

conformance: LangGraph's suite for checkpointers on each storage; `--operations` drawn ones of a store, each with the
result that LangGraph's store in memory has.

Vectors are drawn from a hash, so that words alone recall; storage is SQLite.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from mcp import Client

from bench.datasets import locomo
from bench.doors_conformance import conformance
from bench.driving import HashEmbeddings, Scripted
from everthread import Everthread, MemoryRetriever, MemoryStore, Settings, memory_tools, open_graph, open_memory
from everthread.doors.mcp import memory_server

Figures = dict[str, Any]


def settings(folder: str) -> Settings:
    return Settings(database_url=f"sqlite:///{folder}/memory.db", web_search="off", user_id="ada", max_memories=5)


async def recall(options: argparse.Namespace) -> Figures:
    haystack = next(iter(locomo(options.data)))
    said, asked = haystack.threads["one"], [question.text for question in haystack.questions[: options.questions]]
    right = dict.fromkeys(("recall", "retriever", "search_memory", "mcp", "context", "middleware"), 0)
    with TemporaryDirectory() as folder:
        base, embeddings = settings(folder), HashEmbeddings()
        model = Scripted(reply=AIMessage("Yes."))
        async with open_memory(base, embeddings=embeddings) as memory:
            await memory.aremember(said, thread_id="one")
            await memory.asettled()
        for number, question in enumerate(asked):  # each in a storage that no other question has changed
            graph_found, graph_prompt = await _through_graph(base, model, question, number)
            async with open_memory(base, embeddings=embeddings) as memory:
                found = await memory.arecall(question)
                sources = [one.source_ids for one in found]
                documents = await MemoryRetriever(memory=memory, limit=5).ainvoke(question)
                text = await memory_tools(memory)[0].ainvoke({"query": question})
                async with Client(memory_server(memory)) as client:
                    told = await client.call_tool("search_memory", {"query": question, "limit": 5})
                prompt = await memory.acontext(question, thread_id=f"context-{number}")
                await memory.adelete(f"context-{number}")
            agents = await _through_middleware(base, model, question, number)
            right["recall"] += is_as_good(sources, graph_found)
            right["retriever"] += is_as_good([one.metadata["source_ids"] for one in documents], graph_found)
            ids = [one["message_ids"] for one in (told.structured_content or {}).get("result", [])]
            right["mcp"] += is_as_good(ids, graph_found)
            right["search_memory"] += all(part.content in text for one in found for part in one.fragments)
            right["context"] += shown(prompt) == graph_prompt
            right["middleware"] += agents == graph_prompt
    return {"questions": len(asked), **{door: count / len(asked) for door, count in right.items()}}


def is_as_good(brought: Sequence[Sequence[str]], graph: Sequence[Sequence[str]]) -> bool:
    """Whether a door has brought all that the graph has recalled, and the best of it first."""
    there = {id_ for ids in brought for id_ in ids}
    best = not graph or bool(set(brought[0]) & set(graph[0]))
    return best and all(id_ in there for ids in graph for id_ in ids)


async def _through_graph(base: Settings, model: Scripted, question: str, number: int) -> tuple[list[Any], list[str]]:
    """The sources that the graph recalled for a question in a new thread, and its prompt without the instructions."""
    config: Any = {"configurable": {"thread_id": f"graph-{number}"}}
    async with open_graph(base, model=model, embeddings=HashEmbeddings()) as graph:
        state = await graph.ainvoke({"messages": [("user", question)]}, config, output_keys=["recall"])
        await graph.asettled()
        prompt = shown(model.prompt)
        async with open_memory(base, embeddings=HashEmbeddings()) as memory:
            await memory.adelete(f"graph-{number}")
    return [one.source_ids for one in state["recall"].memories], prompt


def shown(prompt: Any) -> list[str]:
    """The texts of a prompt without the instructions, and without ids, which are drawn anew each time."""
    return [re.sub(r"context id=\w+", "context", one.text) for one in prompt if one.type != "system"]


async def _through_middleware(base: Settings, model: Scripted, question: str, number: int) -> list[str]:
    middleware = Everthread(base, embeddings=HashEmbeddings())
    agent = create_agent(model, [], middleware=[middleware])
    config: Any = {"configurable": {"thread_id": f"agent-{number}"}}
    await agent.ainvoke({"messages": [("user", question)]}, config)
    await middleware.memory("ada").asettled()
    await middleware.memory("ada").adelete(f"agent-{number}")
    await middleware.aclose()
    return shown(model.prompt)


async def overhead(options: argparse.Namespace) -> Figures:
    model, figures = Scripted(reply=AIMessage("Yes, that sounds right to me.")), {}
    for name in ("none", "SummarizationMiddleware", "Everthread"):
        with TemporaryDirectory() as folder:
            own = Everthread(settings(folder), embeddings=HashEmbeddings())
            peer: Any = SummarizationMiddleware(model, trigger=("tokens", 6976))
            chosen: list[Any] = {"none": [], "SummarizationMiddleware": [peer], "Everthread": [own]}[name]
            agent = create_agent(model, [], middleware=chosen, checkpointer=InMemorySaver())
            took = []
            for number in range(options.turns):
                asked = {"messages": [("user", f"Remark {number}: the {number % 37} tomatoes need more water.")]}
                started = time.process_time()
                await agent.ainvoke(asked, {"configurable": {"thread_id": "t1"}})  # type: ignore[call-overload]
                took.append(1000 * (time.process_time() - started))
            figures[name] = round(sum(took[-20:]) / 20, 1)
            await own.aclose()
    return {"turns": options.turns, **{f"{name}, ms of processor a turn": value for name, value in figures.items()}}


def chatgpt(conversations: int, messages: int) -> Any:
    for c in range(conversations):
        mapping: dict[str, Any] = {"root": {"id": "root", "parent": None, "children": ["0"], "message": None}}
        for m in range(messages):
            mapping[str(m)] = {
                "id": str(m), "parent": str(m - 1) if m else "root", "children": [str(m + 1)],
                "message": {
                    "id": f"{c}-{m}", "author": {"role": ("user", "assistant")[m % 2]}, "create_time": 1.7e9 + m,
                    "content": {"content_type": "text", "parts": [f"Remark {m} of {c}. " + "It is warm. " * 80]},
                },
            }  # fmt: skip
        yield {"id": f"c{c}", "title": f"Talk {c}", "create_time": 1.7e9, "current_node": str(messages - 1),
               "mapping": mapping}  # fmt: skip


def claude(conversations: int, messages: int) -> Any:
    for c in range(conversations):
        yield {
            "uuid": f"c{c}", "name": f"Talk {c}", "created_at": "2024-03-04T10:00:00Z",
            "chat_messages": [
                {"uuid": f"{c}-{m}", "sender": ("human", "assistant")[m % 2], "created_at": "2024-03-04T10:00:00Z",
                 "text": f"Remark {m} of {c}. " + "It is warm. " * 80}
                for m in range(messages)
            ],
        }  # fmt: skip


EXPORTS = {"ChatGPT": chatgpt, "Claude": claude}
_IMPORT = """
import asyncio, json, resource, sys, time
from pathlib import Path
from bench.doors import settings
from bench.driving import HashEmbeddings
from everthread import open_memory
async def main():
    async with open_memory(settings(sys.argv[2]), embeddings=HashEmbeddings()) as memory:
        memory.user.embed_later = lambda _: None
        before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        new = await memory.aimport_(Path(sys.argv[1]))
        print(json.dumps({"messages": new.messages, "seconds": time.process_time() - started, "before": before,
                          "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
asyncio.run(main())
"""


async def import_(options: argparse.Namespace) -> Figures:
    return await asyncio.to_thread(_imported, options)


def _imported(options: argparse.Namespace) -> Figures:
    figures = {}
    for name, export in EXPORTS.items():
        with TemporaryDirectory() as folder:
            file = Path(folder, "conversations.json")
            with file.open("w") as output:
                output.write("[")
                for number, conversation in enumerate(export(options.conversations, 100)):
                    output.write(("," if number else "") + json.dumps(conversation))
                output.write("]")
            done = subprocess.run(
                [sys.executable, "-c", _IMPORT, str(file), folder], capture_output=True, text=True, check=True
            )
            told = json.loads(done.stdout.splitlines()[-1])
            figures[name] = {
                "megabytes": round(file.stat().st_size / 1e6), "messages": told["messages"],
                "messages a second of processor": round(told["messages"] / told["seconds"]),
                "peak of memory, MB": round(told["peak"] / 1000), "before it, MB": round(told["before"] / 1000),
            }  # fmt: skip
    return figures


async def store(options: argparse.Namespace) -> Figures:
    figures: Figures = {"documents": options.documents}
    with TemporaryDirectory() as folder:
        async with open_memory(settings(folder), embeddings=HashEmbeddings()) as memory:
            peer = InMemoryStore(index={"dims": 384, "embed": HashEmbeddings()})
            for name, one in (("MemoryStore", MemoryStore(memory)), ("InMemoryStore", peer)):
                values = [{"text": f"Note {n}: the {n % 37} tomatoes need water.", "n": n}
                          for n in range(options.documents)]  # fmt: skip
                started = time.process_time()
                for n, value in enumerate(values):
                    await one.aput(("notes", str(n % 10)), str(n), value)
                put = time.process_time()
                for n in range(100):
                    await one.aget(("notes", str(n % 10)), str(n))
                got = time.process_time()
                for n in range(10):
                    await one.asearch(("notes",), query=f"Note {n}", filter={"n": {"$gte": 10}})
                times = (("put", put - started, len(values)), ("get", got - put, 100),
                         ("search", time.process_time() - got, 10))  # fmt: skip
                figures[name] = {f"{what}, ms": round(1000 * seconds / count, 2) for what, seconds, count in times}
    return figures


PARTS = {"recall": recall, "overhead": overhead, "import": import_, "store": store, "conformance": conformance}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--data", type=Path, help="a file of LoCoMo")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--conversations", type=int, default=200, help="of 100 messages, in each export")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--operations", type=int, default=600)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = {}
    for part in options.part or PARTS:
        figures[part] = asyncio.run(PARTS[part](options))
        print(part, json.dumps(figures[part], indent=1), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if options.json:
        options.json.write_text(json.dumps({**figures, "peak": peak}, indent=1))


if __name__ == "__main__":
    main()
