"""Storages with rows in every table, whose values a test damages as somebody beside everthread would."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal

from conversation import EchoModel, open_with, say
from langchain_core.embeddings import DeterministicFakeEmbedding

from everthread import Settings, StorageError, Summary
from everthread.state.search_records import SearchResult
from everthread.storage.search_cache import SearchCache
from everthread.storage.user_rows import UserRows

Kind = Literal["postgres", "sqlite", "json"]
TABLES: Final = {
    "threads": "thread_id", "messages": "thread_id, seq", "summaries": "content, level",
    "summary_versions": "content, version", "vectors": "content, thread_id", "search_cache": "key", "facts": "text",
    "pins": "text", "turn_reports": "thread_id, turn",
}  # fmt: skip
"""In which order the rows of each stand, whenever what works beside the turns has written them."""

OF_WHOM: Final = ("threads.thread_id", "threads.user_id")
SAID: Final = (
    "My dog is called Biscuit.", "Remember that I live in Lisbon.", "I prefer tea.", "My sister likes jazz.",
    "The boat is blue.", "Where is the boat?",
)  # fmt: skip

DAMAGES: Final = {
    "sqlite": ("''", "'weird {'", "-7", "1e15", "NULL"),
    "json": ("'weird {'", "-7"),
    "text": ("''", "'weird'", "NULL"),
    "jsonb": ("'[]'", "'{\"broken\": 1}'", "'\"text\"'", "'null'", "NULL"),
    "json_of_postgres": ("'[]'", "NULL"),
    "int8": ("-7", "9223372036854775807", "NULL"),
    "int4": ("-7", "2147483647", "NULL"),
    "float8": ("-7", "7", "'NaN'", "'Infinity'", "NULL"),
    "timestamptz": ("'infinity'", "'-infinity'", "'0044-03-15 BC'", "'20000-01-01'", "NULL"),
    "bool": ("NOT {column}", "NULL"),
    "_text": ("'{}'", "'{NULL}'", "NULL"),
    "_int8": ("'{}'", "'{NULL}'", "NULL"),
    "uuid": ("gen_random_uuid()", "NULL"),
    "bytea": ("''", "NULL"),
    "vector": ("'[0]'", "'[0,0,0,0,0,0,0,0]'", "NULL"),
    "xid8": ("'1'", "NULL"),
}
"""By the storage, or by the type of the column: what a value becomes, as SQL."""


class Store:
    """The rows of a graph, as somebody beside everthread sees them."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.database = graph.resources.database
        self.is_postgres = self.database.kind == "postgres"
        self._restoring: list[str] = []
        self._next = 0
        self.key = "ctid" if self.is_postgres else "rowid"

    async def columns(self, table: str) -> dict[str, Sequence[str]]:
        """The columns of a table, with their damages."""
        if not self.is_postgres:
            rows = await self.sql(f"PRAGMA table_info({table})")
            return {row["name"]: DAMAGES[self.database.kind] for row in rows}
        rows = await self.sql(
            "SELECT attname AS name, typname AS type FROM pg_attribute JOIN pg_type t ON t.oid = atttypid "
            f"WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' "
            "ORDER BY attnum"
        )
        return {
            row["name"]: DAMAGES[f"{row['type']}_of_postgres" if row["type"] == "json" else row["type"]] for row in rows
        }

    async def sql(self, statement: str, **values: Any) -> list[Any]:
        if not self.is_postgres:

            def work(connection: sqlite3.Connection) -> list[Any]:
                cursor = connection.execute(statement, values)
                names = [column[0] for column in cursor.description or ()]
                return [dict(zip(names, row, strict=True)) for row in cursor]

            return list(await self.database.on_thread(work))

        async def run(connection: Any) -> list[Any]:
            cursor = await connection.execute(statement, values or None)
            return await cursor.fetchall() if cursor.description else []

        return list(await self.database.run(run))

    async def rows(self, table: str) -> int:
        return int((await self.sql(f"SELECT count(*) AS n FROM {table}"))[0]["n"])

    async def damages(self, table: str) -> AsyncIterator[str]:
        """Damage each value of a table in turn, each time in the next row; what was done, while it is so."""
        self._next = 0
        for column, values in (await self.columns(table)).items():
            for value in values:
                if await self._damage(table, column, value.replace("{column}", column)):
                    yield f"{column} = {value}"
                    await self.graph.asettled()  # what the last turn still writes is of the damaged rows
                    await self.restore()

    async def _damage(self, table: str, column: str, value: str) -> bool:
        """Damage a value in the next row of a table, in an order that stays; whether the database lets that happen."""
        # A thread that is somebody else's is refused, and rightly: that is tried with the others.
        of = "threads WHERE thread_id <> 't1'" if f"{table}.{column}" in OF_WHOM else table
        row = self._next % await self.rows(of)
        at = f"(SELECT {self.key} FROM {of} ORDER BY {TABLES[table]} LIMIT 1 OFFSET {row})"
        try:
            await self.by_hand(f"UPDATE {table} SET {column} = {value} WHERE {self.key} = {at}")
        except StorageError:
            return False
        self._next += 1
        return True

    async def by_hand(self, statement: str) -> None:
        """Change rows; what this process holds of them is read anew."""
        await self.sql(statement)
        await self.sql(
            "INSERT INTO memory_removals VALUES ('ada', 1) ON CONFLICT (user_id) DO UPDATE "
            "SET times = CASE WHEN memory_removals.times < 1000000 THEN memory_removals.times + 1 ELSE 1 END"
        )

    @property
    def all_tables(self) -> Sequence[str]:
        """With those of the checkpoints."""
        own = (
            ("checkpoints", "checkpoint_blobs", "checkpoint_writes") if self.is_postgres else ("checkpoints", "writes")
        )
        return (*TABLES, *own)

    async def save(self) -> None:
        self._restoring = []
        for table in self.all_tables:
            columns = ", ".join(await self.columns(table))
            await self.sql(f"CREATE TABLE saved_{table} AS SELECT * FROM {table}")
            self._restoring += [
                f"DELETE FROM {table}",
                f"INSERT INTO {table} ({columns}) SELECT {columns} FROM saved_{table}",
            ]

    async def restore(self) -> None:
        async def run(connection: Any) -> None:
            for statement in self._restoring:
                await connection.execute(statement)

        await self.database.run(run)


@asynccontextmanager
async def filled_store(kind: str, settings: Settings, folder: Path) -> AsyncIterator[Store]:
    """A storage with rows in every table: of messages, summaries and their versions, facts, pins, ..."""
    if kind != "postgres":
        settings = settings.but(database_url=kind, data_dir=folder)
    embeddings = DeterministicFakeEmbedding(size=8)
    async with open_with(settings, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        for said in SAID:
            await say(graph, said)
        await graph.asettled()
        user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
        messages = await user.archive.messages("t1")
        for n in (0, 4):
            sources = tuple(message.id for message in messages[n : n + 4])
            summary = Summary(
                id=Summary.id_for("t1", 1, sources), content=f"Summary {n}.", level=1, source_ids=sources, covers=4
            )
            await user.archive.add_summary("t1", summary)
            await user.summaries.replace("t1", summary.model_copy(update={"version": 2, "content": f"Again {n}."}))
        cache = SearchCache(UserRows(graph.resources.database, "ada"))  # type: ignore[attr-defined]
        for n in range(2):
            await cache.put([str(n)], [SearchResult(title="A", url="https://a.example", content="a", engine="e")], 100)
        await say(graph, "And on.")
        await say(graph, "Another thread.", to="t2")
        await say(graph, "And a third one.", to="t3")
        await graph.asettled()
        while await user.vectors.embed_pending(timeout=60):
            pass
        yield Store(graph)
