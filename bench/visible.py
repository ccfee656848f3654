"""What a turn costs by the messages that the state holds: `python -m bench.visible [--visible 50,200,1000]`.

One thread for each number, with so many turns that the state is full; then 20 turns are measured: processor time,
wall time, bytes and rows that LangGraph's checkpoint tables took a turn. No model, vectors from the hash of a text, the
embedded server.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

sys.path.insert(0, str(Path(__file__).parent))
from server_folder import server_folder
from turn import HashEmbeddings

from everthread import Settings, open_graph
from everthread.storage.embedded.server import ensure_server

MEASURED = 20
SAID = "Clara moved to Porto and works with tomatoes since May {n}. What did she bring on trip {n}?"
REPLY = "Reply {n} says that the garden of Clara in Porto has roses, and that the kayak is in the shed."
_TAKEN = """
SELECT (SELECT coalesce(sum(length(blob)), 0) FROM checkpoint_blobs)
     + (SELECT coalesce(sum(length(blob)), 0) FROM checkpoint_writes)
     + (SELECT coalesce(sum(length(checkpoint::text) + length(metadata::text)), 0) FROM checkpoints),
       (SELECT coalesce(sum(length(blob)), 0) FROM checkpoint_blobs WHERE channel = 'messages'),
       (SELECT count(*) FROM checkpoints), (SELECT count(*) FROM checkpoint_writes)
"""


async def measured(url: str, visible: int) -> dict[str, Any]:
    """The figures of one number of visible messages."""
    schema = f"visible_{visible}"
    settings = Settings(database_url=url, database_schema=schema, web_search="off", summary_model="extractive",
                        visible_messages=visible)  # fmt: skip
    model = GenericFakeChatModel(messages=(AIMessage(REPLY.format(n=n)) for n in itertools.count()))
    numbers = itertools.count()
    async with open_graph(settings, model=model, embeddings=HashEmbeddings()) as graph:

        async def turn() -> tuple[float, float]:
            given: Any = {"messages": [("user", SAID.format(n=next(numbers)))]}
            processor, wall = time.process_time(), time.perf_counter()
            await graph.ainvoke(given, {"configurable": {"thread_id": "t"}}, context={"user_id": "ada"})
            spent = (time.process_time() - processor) * 1000, (time.perf_counter() - wall) * 1000
            await graph.asettled()
            return spent

        for _ in range(visible // 2):
            await turn()
        before = taken(url, schema)
        turns = [await turn() for _ in range(MEASURED)]
    after = taken(url, schema)
    total, messages, checkpoints, writes = ((new - old) / MEASURED for new, old in zip(after, before, strict=True))
    return {
        "visible": visible,
        "processor_ms": round(statistics.median(spent[0] for spent in turns), 1),
        "wall_ms": round(statistics.median(spent[1] for spent in turns), 1),
        "kilobytes": round(total / 1000, 1),
        "kilobytes_of_messages": round(messages / 1000, 1),
        "checkpoints": checkpoints,
        "writes": writes,
    }


def taken(url: str, schema: str) -> tuple[int, ...]:
    """Bytes in all, bytes of messages, checkpoints and writes that are stored."""
    with psycopg.connect(url, autocommit=True, options=f"-c search_path={schema},public") as connection:
        row = connection.execute(_TAKEN).fetchone()
    assert row is not None
    return tuple(int(value) for value in row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visible", default="50,200,1000")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    with server_folder() as folder:
        url = ensure_server(folder)
        for visible in map(int, arguments.visible.split(",")):
            rows.append(asyncio.run(measured(url, visible)))
            print(rows[-1], flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
