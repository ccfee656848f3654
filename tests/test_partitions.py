"""Hash partitions by user: tables move with all that hangs on them, and no statement meets another user's partition."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import psycopg
import pytest
from command import run
from conversation import EchoModel, open_with, say
from langchain_core.embeddings import Embeddings

from everthread import InputError, Settings, StorageError
from everthread.maintenance.doctor import examine
from everthread.storage.entering import ACROSS_USERS
from everthread.storage.postgres.database import Database
from everthread.storage.postgres.partitions import partition, partitions_of
from everthread.storage.postgres.queries import QUERIES

OWN_PARTITION = """
SELECT n FROM generate_series(0, 3) AS n WHERE satisfies_hash_partition('messages'::regclass, 4, n, 'ada'::text)"""

T = TypeVar("T")

USERS = ("ada", "bob", "cid")
OF_ALL_USERS = ACROSS_USERS | {
    "retention.search_results", "retention.delete_search_results", "user_keys.empty_cache",
}  # fmt: skip
"""Statements that mean any user's rows: whose a thread is, and what goes by its age or with the key of all."""

KEYS = """
SELECT c.relname, i.relname, array_agg(a.attname ORDER BY k.place)
FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid JOIN pg_class AS c ON c.oid = x.indrelid
CROSS JOIN LATERAL unnest(x.indkey) WITH ORDINALITY AS k(number, place)
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.number
WHERE c.relnamespace = %s::regnamespace AND x.indisunique
  AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'user_id')
GROUP BY c.relname, i.relname"""
SHAPE = """
SELECT 'index', i.relname, replace(pg_get_indexdef(i.oid), ' ON ONLY ', ' ON ') FROM pg_class AS i
WHERE i.relnamespace = %(schema)s::regnamespace AND i.relkind IN ('i', 'I') AND NOT i.relispartition
UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(t.oid) FROM pg_trigger AS t
JOIN pg_class AS c ON c.oid = t.tgrelid
WHERE c.relnamespace = %(schema)s::regnamespace AND NOT tgisinternal AND NOT c.relispartition
UNION ALL SELECT 'column', c.relname || '.' || a.attname, concat_ws(' ', a.atttypid::regtype, a.attnotnull,
    a.attgenerated, (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = c.oid AND adnum = a.attnum))
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = %(schema)s::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
UNION ALL SELECT 'policy', c.relname || '.' || polname, pg_get_expr(polqual, polrelid)
FROM pg_policy JOIN pg_class AS c ON c.oid = polrelid
WHERE c.relnamespace = %(schema)s::regnamespace AND NOT c.relispartition
UNION ALL SELECT 'right', relname, array_to_string(relacl, ' ') FROM pg_class AS c
WHERE c.relnamespace = %(schema)s::regnamespace AND relkind IN ('r', 'p', 'v') AND NOT relispartition
UNION ALL SELECT 'wall', relname, concat(relrowsecurity, relforcerowsecurity) FROM pg_class AS c
WHERE c.relnamespace = %(schema)s::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
"""
"""All that hangs on the tables of a schema, with its name."""


async def rows_of(settings: Settings, server_url: str) -> dict[str, list[Any]]:
    """By table, its rows as a superuser has them, whom no policy binds."""
    found = {}
    async with await psycopg.AsyncConnection.connect(server_url) as connection:
        for table in await tables_of(settings):
            statement = f'SELECT t::text FROM "{settings.database_schema}".{table} AS t ORDER BY 1'
            found[table] = await (await connection.execute(statement.encode())).fetchall()
    return found


async def shape_of(settings: Settings, server_url: str) -> set[Any]:
    async with await psycopg.AsyncConnection.connect(server_url) as connection:
        values = {"schema": f'"{settings.database_schema}"'}
        return set(await (await connection.execute(SHAPE.encode(), values)).fetchall())


async def tables_of(settings: Settings) -> dict[str, int]:
    """The tables that can be divided, and in how many partitions they are."""
    return {table.name: table.partitions for table in await on_database(settings, partitions_of)}


async def on_database(settings: Settings, work: Callable[[Database], Awaitable[T]]) -> T:
    database = Database(settings)
    try:
        return await work(database)
    finally:
        await database.close()


async def partitioned(settings: Settings, number: int) -> int:
    return await on_database(settings, partial(partition, number=number))


@pytest.mark.slow
async def test_tables_move_with_all_their_rows_and_all_that_hangs_on_them(
    owned: Settings, embeddings: Embeddings, server_url: str
) -> None:
    async with open_with(owned, model=EchoModel(prompts=[]), embeddings=embeddings, n_sum=4, sum_window=2) as graph:
        for user in USERS:
            for n in range(4):
                await say(
                    graph, f"My sister Clara lives in house {n} of Porto. Remember that.", user=user, to=f"of-{user}"
                )
        await graph.asettled()
    rows, shape = await rows_of(owned, server_url), await shape_of(owned, server_url)
    assert {name for name, held in rows.items() if held} >= {
        "messages", "summaries", "vectors", "facts", "pins", "turn_reports", "checkpoints", "checkpoint_blobs",
    }  # fmt: skip

    for number in (4, 7, 1):
        assert await partitioned(owned, number) == len(rows)
        assert set((await tables_of(owned)).values()) == {number}
        assert await rows_of(owned, server_url) == rows
        after = await shape_of(owned, server_url)
        assert shape == after
        assert await partitioned(owned, number) == 0


@pytest.mark.slow
async def test_a_partitioned_database_is_talked_to_forgotten_from_and_walled(
    owned: Settings, embeddings: Embeddings, caplog: pytest.LogCaptureFixture
) -> None:
    await partitioned(owned, 4)
    async with open_with(owned, model=EchoModel(prompts=[]), embeddings=embeddings, n_sum=4, sum_window=2) as graph:
        for user in USERS:
            for n in range(6):
                state = await say(graph, f"Remark {n} of {user} about the garden.", user=user, to=f"of-{user}")
                assert (state["after_reply"].error, state["recall"].error) == (None, None)
        await graph.asettled()
        assert graph.resources.database.row_security
        found = await graph.resources.of_user("ada").search.nearest("the garden", limit=3, timeout=60)
        assert {source.thread_id for source in found} == {"of-ada"}
        for user in USERS:
            (checkup,) = await examine(graph, user, f"of-{user}")
            assert checkup.findings == ()
        await graph.adelete("ada", "of-ada")
        assert await graph.resources.of_user("ada").archive.messages("of-ada") == []
        assert await graph.resources.of_user("ada").search.nearest("the garden", limit=3, timeout=60) == []
        assert len(await graph.resources.of_user("bob").archive.messages("of-bob")) == 12
    assert "Row-level security" not in caplog.text


async def test_what_was_stopped_goes_on_with_the_next_run(settings: Settings) -> None:
    first, second, *rest = await tables_of(settings)

    def stopped(table: str) -> None:
        if table == second:
            raise RuntimeError("stopped")

    with pytest.raises(InputError, match="257 partitions: expected 1"):
        await partitioned(settings, 257)
    with pytest.raises(RuntimeError, match="stopped"):
        await on_database(settings, lambda database: partition(database, 3, advance=stopped))
    assert await tables_of(settings) == {first: 3, second: 3, **dict.fromkeys(rest, 1)}
    assert await partitioned(settings, 3) == len(rest)


async def test_a_move_that_is_cut_off_leaves_the_table_as_it_was(
    settings: Settings, graph: Any, server_url: str
) -> None:
    await say(graph, "Remember the milk.")
    await graph.asettled()
    rows = await rows_of(settings, server_url)
    async with await psycopg.AsyncConnection.connect(server_url, autocommit=True) as other, other.transaction():
        await other.execute(f'SELECT count(*) FROM "{settings.database_schema}".messages'.encode())
        moving = asyncio.create_task(partitioned(settings, 3))
        waiting = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted"
        while not await (await other.execute(waiting)).fetchall():
            await asyncio.sleep(0.05)
        with pytest.raises(StorageError):
            await moving
    assert (await tables_of(settings))["messages"] == 1
    assert await rows_of(settings, server_url) == rows
    await partitioned(settings, 3)
    assert await rows_of(settings, server_url) == rows


async def test_turns_that_run_while_tables_move_wait_and_go_on(settings: Settings, graph: Any) -> None:
    async def turns(to: str) -> None:
        for n in range(6):
            state = await say(graph, f"Remark {n} about the garden.", to=to)
            assert state["after_reply"].error is None

    await asyncio.gather(turns("t1"), turns("t2"), partitioned(settings, 4))
    await graph.asettled()
    for to in ("t1", "t2"):
        assert len(await graph.resources.of_user("ada").archive.messages(to)) == 12
        assert (await examine(graph, "ada", to))[0].findings == ()


def test_every_key_of_a_users_rows_begins_with_the_user(server_url: str, schema: str) -> None:
    with psycopg.connect(server_url) as connection:
        keys = connection.execute(KEYS, (f'"{schema}"',)).fetchall()
    assert {(table, name) for table, name, columns in keys if columns[0] != "user_id"} == {
        ("threads", "threads_pkey"),  # whose a thread is, of all
    }


async def test_every_statement_meets_the_partition_of_its_user_alone(settings: Settings) -> None:
    """What a distributed Postgres asks for as well: from each table of users, rows of the user that is given."""
    await partitioned(settings, 4)
    statements = {name: str(text) for name, text in QUERIES.items() if name not in OF_ALL_USERS}
    joined = "SELECT m.id FROM messages AS m JOIN facts AS f ON f.source_id = m.id WHERE m.user_id = %(user_id)s"
    strayed = await on_database(
        settings, lambda database: database.run(partial(strays, statements={**statements, "without": joined}))
    )
    assert {name: {table.partition("_")[0] for table in tables} for name, tables in strayed.items()} == {
        "without": {"facts"}
    }


async def strays(connection: Any, statements: dict[str, str]) -> dict[str, set[str]]:
    """By statement, the partitions beside Ada's that it reads, whatever its other values are.

    Those of checkpoints are of threads, which a statement names or finds in `threads`.
    """
    cursor = await connection.execute(OWN_PARTITION)
    (ada,) = [row["n"] for row in await cursor.fetchall()]
    await connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    found = {}
    for name, statement in statements.items():
        if statement.startswith("SET "):
            continue
        numbers: dict[str, int] = defaultdict(lambda: len(numbers) + 1)  # noqa: B023
        text = re.sub(r"%\((\w+)\)s", lambda parameter: f"${numbers[parameter[1]]}", statement)  # noqa: B023
        await connection.execute(f"PREPARE x AS {text.replace('%%', '%')}".encode())
        values = ", ".join("'ada'" if parameter == "user_id" else "NULL" for parameter in numbers)
        call = f"x({values})" if values else "x"
        cursor = await connection.execute(f"EXPLAIN (FORMAT JSON, COSTS off) EXECUTE {call}".encode())
        await connection.execute(b"DEALLOCATE x")
        read = set(re.findall(r"'Relation Name': '(\w+)'", str((await cursor.fetchone())["QUERY PLAN"])))
        others = re.compile(rf"(?!checkpoint)\w+_(?!{ada}_)\d_of_4")
        if stray := set(filter(others.fullmatch, read)):
            found[name] = stray
    return found


def test_the_command_divides_the_tables_and_says_how_they_are(environment: dict[str, str], schema: str) -> None:
    assert "Moved: messages\n" in run(environment, "partitions", "2").stdout
    shown = run(environment, "partitions").stdout.splitlines()
    assert "messages: 2 by user_id" in shown
    assert "checkpoints: 2 by thread_id" in shown
    assert not {line for line in shown if line.startswith(("threads", "space_members")) or not line.endswith("_id")}
    refused = run({**environment, "EVERTHREAD_DATABASE_URL": "sqlite"}, "partitions", "2")
    assert "Only tables of Postgres have partitions" in refused.stderr
