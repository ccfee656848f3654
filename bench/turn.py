"""One turn without the model, and where its time goes: `python bench/turn.py [--turns 50] [--data FILE] [--json FILE]`.

The model answers at once, so what is measured is everthread, LangGraph and Postgres: the embedded server, real
embeddings, real checkpoints. Beside it runs the bare graph: one node that answers, on the same checkpointer, with the
whole history in its state.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from everthread import PostgresCheckpointer, open_graph
from everthread.cli.conversations import read_conversation
from everthread.memory.embedded_server import stop_server

REMARKS = [
    "The tomatoes on the balcony need more water than the basil does in July.",
    "My sister Clara moved from Porto to Lisbon in May and works at the harbour.",
    "We should book the train to Vienna before the end of the month.",
    "The new keyboard is loud, but typing on it is a pleasure.",
    "Which of the two recipes had the smoked paprika in it?",
]


def model() -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=(AIMessage(f"Noted, remark {n}.") for n in itertools.count(1)))


async def everthread_turns(folder: Path, remarks: list[str], turns: int) -> tuple[list[float], dict[str, list[float]]]:
    nodes: dict[str, list[float]] = defaultdict(list)
    times: list[float] = []
    async with open_graph(data_dir=folder, web_search="off", model=model(), summary_model="extractive") as graph:
        config: Any = {"configurable": {"thread_id": "bench"}}
        await graph.resources.embedder.query("warm", timeout=120)
        for n in range(turns + 5):
            started, begun = time.perf_counter(), {}
            question = {"messages": [("user", remarks[n % len(remarks)])]}
            async for task in graph.astream(question, config, stream_mode="tasks"):
                if "input" in task:
                    begun[task["id"]] = time.perf_counter()
                else:
                    nodes[task["name"]].append((time.perf_counter() - begun[task["id"]]) * 1000)
            times.append((time.perf_counter() - started) * 1000)
    return times[5:], nodes


async def bare_turns(folder: Path, remarks: list[str], turns: int) -> list[float]:
    chat = model()

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await chat.ainvoke(state["messages"])]}

    times: list[float] = []
    opened = open_graph(data_dir=folder)
    async with opened:
        graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
        compiled = graph.compile(checkpointer=PostgresCheckpointer(opened.resources.database))
        for n in range(turns + 5):
            started = time.perf_counter()
            question: Any = {"messages": [("user", remarks[n % len(remarks)])]}
            await compiled.ainvoke(question, {"configurable": {"thread_id": "bare"}})
            times.append((time.perf_counter() - started) * 1000)
    return times[5:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--data", type=Path, help="a conversation whose user messages are the remarks")
    parser.add_argument("--conversation", help="which one, if the file holds several")
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    remarks = REMARKS
    if options.data:
        remarks = [m.text for m in read_conversation(options.data, "bench", options.conversation) if m.type == "human"]
    folder = Path(tempfile.mkdtemp(prefix="everthread-bench-"))
    folder.chmod(0o711)
    try:
        times, nodes = asyncio.run(everthread_turns(folder, remarks, options.turns))
        bare = asyncio.run(bare_turns(folder, remarks, options.turns))
    finally:
        stop_server(folder)
        shutil.rmtree(folder, ignore_errors=True)
    figures = {
        "turns": options.turns,
        "median_ms": round(statistics.median(times), 1),
        "bare_median_ms": round(statistics.median(bare), 1),
        "first_ten_ms": round(statistics.median(times[:10]), 1),
        "last_ten_ms": round(statistics.median(times[-10:]), 1),
        "nodes_ms": {name: round(statistics.median(values), 1) for name, values in nodes.items()},
    }
    print(f"one turn, median of {options.turns}: {figures['median_ms']} ms")
    print(f"first ten: {figures['first_ten_ms']} ms, last ten: {figures['last_ten_ms']} ms")
    print(f"bare graph with whole history, one node: {figures['bare_median_ms']} ms")
    for name, value in figures["nodes_ms"].items():
        print(f"  {name:<18}{value:>8} ms")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
