"""Recall at scale: `python bench/scale.py [--sizes 10000 100000 1000000] [--users 1000] [--partitions 1]`.

The messages are turns of LoCoMo, dealt out to the users in turn, so that the rows of one user lie scattered over the
whole table; each vector is that of its turn with noise added. The questions are LoCoMo's, each asked through the node
`memory_retrieval` by a user whose memory this process does not hold, and then another one by the same user; with
`--users 1` it is always the same one. Given are p50 and p95 of both, with the embedding of the question; the share of
the 10 nearest messages of a scan over the rows as they were made that the vector arm finds as well; the size of the
tables; and the bytes that the process has more than before, for each message of those who asked. After each fill the
tables are vacuumed and written out, as in a server that has run a while.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from datasets import locomo
from langchain_core.messages import HumanMessage
from numpy.typing import NDArray
from pgvector.psycopg import register_vector_async
from server_folder import server_folder

from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.models.embedding_models import load_embeddings
from everthread.nodes.memory_retrieval import memory_retrieval
from everthread.runtime.resources import Resources
from everthread.runtime.turn import Turn
from everthread.settings.settings import Settings
from everthread.storage.postgres.database import Database
from everthread.storage.postgres.partitions import partition
from everthread.storage.postgres.server import Connection
from everthread.storage.term_keys import message_keys

NOISE = 0.02
TOGETHER = 5_000
"""Rows of a transaction."""
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
INDEXES = """
SELECT indexdef, schemaname || '.' || indexname AS name FROM pg_indexes
WHERE schemaname = current_schema() AND indexname IN ('messages_changed', 'vectors_changed', 'vectors_source')
"""
SIZE = """
SELECT split_part(relname, '_', 1) AS name, sum(pg_total_relation_size(relid))::bigint AS bytes
FROM pg_catalog.pg_statio_user_tables WHERE split_part(relname, '_', 1) IN ('messages', 'vectors') GROUP BY 1
"""
COPY_MESSAGES = """
COPY messages (user_id, thread_id, id, seq, role, text, message, tokens, embedded_with, created_at, term_keys)
FROM STDIN
"""
MORE_MESSAGES = """
INSERT INTO messages (user_id, thread_id, id, seq, role, text, message, tokens, embedded_with, created_at, term_keys)
SELECT user_id, thread_id, id || '-' || n, seq + n * 1000000, role, text, message, tokens, embedded_with,
       created_at + make_interval(days => n * 100), term_keys
FROM messages CROSS JOIN (SELECT %(n)s::int AS n) AS times WHERE strpos(id, '-') = 0
"""
MORE_VECTORS = """
INSERT INTO vectors (langchain_id, content, embedding, user_id, thread_id, source_type, source_id, role, model,
                     created_at)
SELECT gen_random_uuid(), content, embedding, user_id, thread_id, source_type, source_id || '-' || n, role, model,
       created_at + make_interval(days => n * 100)
FROM vectors CROSS JOIN (SELECT %(n)s::int AS n) AS times WHERE strpos(source_id, '-') = 0
"""
COPY_VECTORS = """
COPY vectors (langchain_id, content, embedding, user_id, thread_id, source_type, source_id, role, model, created_at)
FROM STDIN WITH (FORMAT BINARY)
"""
TYPES = ["uuid", "text", "vector", "text", "text", "text", "text", "text", "text", "timestamptz"]


class Fill:
    """Turns with their vectors, dealt out to users; what is in the table is also kept as numbers, for the exact scan.

    Args:
        texts: the turns.
        vectors: (turns, dimensions), normalised.
        users: how many.
        times: how often each says everything; the server copies it.
    """

    def __init__(self, texts: list[str], vectors: NDArray[np.float32], users: int, times: int) -> None:
        self.texts, self.vectors, self.users, self.times = texts, vectors, users, times
        self.each = 0
        self.random = np.random.default_rng(1)
        self.known: dict[int, list[NDArray[np.float32]]] = defaultdict(list)

    def turn(self, user: int, position: int) -> int:
        """Which turn a user's message is: their own run through the conversations."""
        return (user * 977 + position) % len(self.texts)

    async def grow(self, resources: Resources, each: int) -> None:
        """Fill up to `each` messages a user, in transactions of some thousands, as turns and imports write them.

        The indexes are made anew afterwards, as for any large load.
        """
        database, model = resources.database, resources.embedder.name
        indexes = await database.run(_without_indexes)
        step = max(1, TOGETHER // self.users)
        for start in range(self.each, each, step):
            positions = range(start, min(start + step, each))
            await database.run(partial(self._copy_messages, model=model, positions=positions))
            await database.run(partial(self._copy_vectors, model=model, positions=positions))
        for n in range(1, self.times):
            for statement in (MORE_MESSAGES, MORE_VECTORS):
                await database.run(partial(_done, statement=statement, values={"n": n}))
        for index in indexes:
            await database.run(partial(_done, statement=index["indexdef"].replace(" ON ONLY ", " ON ")))
        self.each = each

    async def _copy_messages(self, connection: Connection, model: str, positions: Sequence[int]) -> None:
        async with connection.cursor() as cursor, cursor.copy(COPY_MESSAGES) as copy:
            for position in positions:
                for user in range(self.users):
                    text = self.texts[self.turn(user, position)]
                    said_at = BEGIN + timedelta(minutes=17 * position)
                    keys = message_keys(f"u{user}", {"text": text}, said_at)
                    role = "user" if position % 2 == 0 else "assistant"
                    body = json.dumps({"type": "human", "data": {"content": text}})
                    await copy.write_row((
                        f"u{user}", f"u{user}/t", f"m{position}", position + 1, role, text, body, len(text) // 4, model,
                        said_at, "{" + ",".join(map(str, keys)) + "}",
                    ))  # fmt: skip

    async def _copy_vectors(self, connection: Connection, model: str, positions: Sequence[int]) -> None:
        await register_vector_async(connection)
        async with connection.cursor() as cursor, cursor.copy(COPY_VECTORS) as copy:
            copy.set_types(TYPES)
            for position in positions:
                turns = [self.turn(user, position) for user in range(self.users)]
                noise = self.random.normal(0, NOISE, (self.users, self.vectors.shape[1])).astype(np.float32)
                rows = self.vectors[turns] + noise
                rows /= np.linalg.norm(rows, axis=1, keepdims=True)
                for user, row in enumerate(rows):
                    self.known[user].append(row)
                    number = ((position * self.users + user) << 64) | 1
                    id_ = uuid.UUID(int=number)
                    await copy.write_row((
                        id_, self.texts[turns[user]], row, f"u{user}", f"u{user}/t", "message", f"m{position}",
                        "user" if position % 2 == 0 else "assistant", model, BEGIN + timedelta(minutes=17 * position),
                    ))  # fmt: skip


async def _without_indexes(connection: Connection) -> list[Any]:
    indexes = await (await connection.execute(INDEXES)).fetchall()
    for index in indexes:
        await connection.execute(f"DROP INDEX {index['name']}")
    return indexes


async def _done(connection: Connection, statement: str, values: dict[str, Any] | None = None) -> None:
    await connection.execute(statement.encode(), values)


async def measure(resources: Resources, fill: Fill, questions: list[str], users: list[int]) -> dict[str, Any]:
    schema = resources.settings.database_schema
    for settle in (f"VACUUM (ANALYZE) {schema}.messages, {schema}.vectors", "CHECKPOINT"):
        await resources.database.run(lambda c, settle=settle: c.execute(settle), one_statement=True)
    first, held, found = [], [], []
    exactly = {user: np.array(fill.known[user]) for user in set(users)}
    resident = _resident()
    for number, user in enumerate(users):
        await resources.of_user(f"u{user}").let_go()
        for times, text in ((first, questions[2 * number]), (held, questions[2 * number + 1])):
            settings = resources.settings.but(user_id=f"u{user}")
            turn = Turn(resources, settings, {"configurable": {"thread_id": f"u{user}/asking"}})
            begun = time.perf_counter()
            state: Any = {"messages": [HumanMessage(text, id="q")]}
            recall = (await memory_retrieval(state, turn))["recall"]
            times.append((time.perf_counter() - begun) * 1000)
            assert recall.error is None
        vector = np.array(await resources.embedder.query(text, timeout=60), dtype=np.float32)
        near = await resources.of_user(f"u{user}").search.nearest(text, limit=10, timeout=60)
        exact = np.argsort(-(exactly[user] @ vector))[:10]
        found.append(len({f"m{n}" for n in exact} & {source.source_id for source in near}) / len(exact))
    held_bytes = _resident() - resident
    rows = await resources.database.run(_sizes)
    sizes = {row["name"]: round(row["bytes"] / 1e6) for row in rows}
    cost = lambda values, share: round(float(np.percentile(values[len(values) // 8 :], share)), 1)  # noqa: E731
    return {
        "messages": fill.each * fill.users * fill.times,
        "first question p50 ms": cost(first, 50), "p95 ms": cost(first, 95),
        "next question p50 ms": cost(held, 50), "next p95 ms": cost(held, 95),
        "recall@10 against exact": round(float(np.mean(found)), 4) if fill.times == 1 else None,
        "MB messages": sizes["messages"], "MB vectors": sizes["vectors"],
        "held bytes a message": round(held_bytes / (fill.each * fill.times * len(exactly))),
    }  # fmt: skip


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def _sizes(connection: Connection) -> list[Any]:
    return await (await connection.execute(SIZE)).fetchall()


async def run(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    haystacks = list(locomo(options.data))
    texts = [m.text for h in haystacks for thread in h.threads.values() for m in thread]
    questions = [q.text for h in haystacks for q in h.questions]
    random.Random(3).shuffle(questions)
    model = await asyncio.to_thread(load_embeddings, BUNDLED_MODEL)
    vectors = np.array(await asyncio.to_thread(model.embed_documents, texts), dtype=np.float32)
    resources = Resources(Settings(data_dir=folder), embeddings=model)
    await resources.open()
    await partition(cast("Database", resources.database), options.partitions)
    fill, figures = Fill(texts, vectors, options.users, options.times), []
    users = list(range(options.users))
    random.Random(2).shuffle(users)
    for size in options.sizes:
        begun = time.perf_counter()
        await fill.grow(resources, max(1, size // options.users // options.times))
        filled = time.perf_counter() - begun
        asking = (users * options.questions)[: options.questions]
        users = users[options.questions :] or users
        new, questions = questions[: 2 * len(asking)], questions[2 * len(asking) :]
        figures.append(await measure(resources, fill, new, asking))
        print(f"{figures[-1]} (filled in {filled:.0f} s)", flush=True)
    await resources.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=1, help="of each table")
    parser.add_argument("--times", type=int, default=1, help="each user says everything so often: of one size only")
    parser.add_argument("--questions", type=int, default=150)
    parser.add_argument("--data", type=Path, help="another file of LoCoMo's form")
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    with server_folder() as folder:
        figures = asyncio.run(run(options, folder))
    print("| " + " | ".join(figures[0]) + " |\n|" + "---|" * len(figures[0]))
    for row in figures:
        print("| " + " | ".join(map(str, row.values())) + " |")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
