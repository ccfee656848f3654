"""`everthread export` and `everthread import`: everything that was said comes back as it was."""

from __future__ import annotations

import asyncio
import errno
import json
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command import run
from conversation import EchoModel, say
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from psycopg.rows import dict_row

from everthread import InputError, Settings, Summary, ThreadOwnershipError, open_graph, thread_id
from everthread.graph.conversation import CompiledConversation
from everthread.maintenance.bulk_embedding import BulkEmbedding
from everthread.maintenance.transfer import export_rows, import_rows
from everthread.maintenance.transfer_format import Counts, check_file
from everthread.memory.vectors import VectorIndex
from everthread.models.embeddings import Embedder
from everthread.storage.archive import Archive
from everthread.storage.branches import Branches
from everthread.storage.postgres.database import Database
from everthread.storage.summary_rows import SummaryRows
from everthread.storage.user_rows import UserRows

MOMENT = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)


@pytest.fixture
async def database(settings: Settings) -> AsyncIterator[Database]:
    opened = Database(settings)
    yield opened
    await opened.close()


@pytest.fixture
async def elsewhere(settings: Settings, server_url: str) -> AsyncIterator[Database]:
    """A database of its own, as on another machine."""
    schema = f"test_{uuid.uuid4().hex[:12]}"
    opened = Database(settings.but(database_schema=schema))
    yield opened
    await opened.close()
    async with await psycopg.AsyncConnection.connect(server_url, autocommit=True) as connection:
        await connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')


def rows_of(database: Database) -> dict[str, list[Any]]:
    """Every row of the three tables, but for vectors and what is made from them."""
    url = database.settings.database_url
    assert url is not None
    with psycopg.connect(url.get_secret_value(), row_factory=dict_row) as connection:
        connection.execute(f'SET search_path TO "{database.schema}", public')
        rows = {
            "threads": connection.execute("SELECT * FROM threads ORDER BY thread_id").fetchall(),
            "messages": connection.execute("SELECT * FROM messages ORDER BY user_id, thread_id, seq").fetchall(),
            "summaries": connection.execute("SELECT * FROM summaries ORDER BY user_id, thread_id, id").fetchall(),
            "versions": connection.execute(
                "SELECT * FROM summary_versions ORDER BY user_id, thread_id, id, version"
            ).fetchall(),
        }
    for row in rows["messages"]:
        del row["changed"]  # the transaction that wrote it
    return rows


async def fill(database: Database, user: str = "ada", name: str = "work") -> str:
    """A thread with all kinds of messages, and two levels of summaries."""
    archive, id_ = Archive(UserRows(database, user)), thread_id(name, user)
    await archive.own_thread(id_, name)
    await archive.add_messages(id_, messages())
    first = Summary(id=f"s1-{name}", content="A tomato, ☂ and tools.", level=1, source_ids=("m1", "m2"), tokens=7,
                    created_at=MOMENT)  # fmt: skip
    await archive.add_summary(id_, first)
    master = Summary(id=f"s0-{name}", content="All of it.", level=0, source_ids=(first.id,), method="model",
                     model="openai:gpt-5-mini", created_at=MOMENT + timedelta(hours=1))  # fmt: skip
    await archive.add_summary(id_, master)
    again = first.model_copy(update={"content": "Tools and a tomato.", "rejected": None, "version": 2})
    await SummaryRows(UserRows(database, user)).replace(id_, again)
    return id_


def messages() -> list[Any]:
    call = {"name": "weather", "args": {"where": "Wien", "days": 2.5}, "id": "c1", "type": "tool_call"}
    used: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    said = {"created_at": MOMENT.isoformat()}
    return [
        HumanMessage("Tomatoes\u2028need\r\nwater ☂ 水 🍅", id="m1", additional_kwargs=said),
        AIMessage("", id="m2", tool_calls=[call], usage_metadata=used),
        ToolMessage("sunny", id="m3", tool_call_id="c1", artifact={"deep": [1, None, True, 0.1]}),
        HumanMessage([{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "d:x"}}], id="m4"),
        AIMessage("A red one.", id="m5", name="Bot", response_metadata={"finish_reason": "stop"}),
    ]  # fmt: skip


async def export(database: Database, file: Path, user: str = "ada", **more: Any) -> Counts:
    return await export_rows(UserRows(database, user), file, written=lambda *_: None, **more)


async def bring(database: Database, file: Path, user: str = "ada") -> Counts:
    checked = await asyncio.to_thread(check_file, file)
    return await import_rows(UserRows(database, user), file, checked, added=lambda _: None)


async def test_everything_comes_back_exactly_and_importing_twice_changes_nothing(
    database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    await fill(database)
    await fill(database, name="home")
    await fill(database, user="bob")
    assert await export(database, tmp_path / "a.jsonl") == Counts(threads=2, messages=10, summaries=4, versions=2)
    assert await bring(elsewhere, tmp_path / "a.jsonl") == Counts(threads=2, messages=10, summaries=4, versions=2)
    before, after = await asyncio.to_thread(rows_of, database), await asyncio.to_thread(rows_of, elsewhere)
    for table, rows in after.items():
        assert rows == [row for row in before[table] if row["user_id"] == "ada"], table
    archive, id_ = Archive(UserRows(elsewhere, "ada")), thread_id("work", "ada")
    assert [m.message for m in await archive.messages(id_)] == [
        m.message for m in await Archive(UserRows(database, "ada")).messages(id_)
    ]
    assert await archive.summaries(id_) == await Archive(UserRows(database, "ada")).summaries(id_)
    assert await bring(elsewhere, tmp_path / "a.jsonl") == Counts(threads=2)
    assert await asyncio.to_thread(rows_of, elsewhere) == after
    await export(elsewhere, tmp_path / "b.jsonl")
    first, second = [(tmp_path / name).read_text().split("\n") for name in ("a.jsonl", "b.jsonl")]
    assert first[1:] == second[1:]


async def test_the_retention_of_a_thread_comes_back_and_a_wrong_one_is_refused(
    database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    id_, file = await fill(database), tmp_path / "a.jsonl"
    await UserRows(database, "ada").fetch("retention.of_thread", thread_id=id_, retention="messages=30d")
    await export(database, file)
    await bring(elsewhere, file)
    (thread,) = (await asyncio.to_thread(rows_of, elsewhere))["threads"]
    assert thread["retention"] == "messages=30d"
    file.write_text(file.read_text().replace("messages=30d", "messages=30 centuries"))
    with pytest.raises(InputError, match="Line 2"):
        await bring(elsewhere, file)


async def test_what_has_left_the_conversation_comes_back_as_having_left(
    database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    id_ = await fill(database)
    whole: Any = messages()
    await Branches(UserRows(database, "ada")).settle(id_, [message.id for message in whole[:2]])
    await Branches(UserRows(database, "ada")).edit(id_, [HumanMessage("Potatoes", id="m1")])
    await export(database, tmp_path / "a.jsonl")
    await bring(elsewhere, tmp_path / "a.jsonl")
    before, after = await asyncio.to_thread(rows_of, database), await asyncio.to_thread(rows_of, elsewhere)
    for row in (*before["messages"], *after["messages"]):
        del row["embedded_with"], row["facts_read"]
    assert after["messages"] == before["messages"]
    assert [(row["id"], row["left_at"]) for row in after["summaries"]] == [
        (row["id"], row["left_at"]) for row in before["summaries"]
    ]
    archive = Archive(UserRows(elsewhere, "ada"))
    assert [(m.id, m.text) for m in await archive.page(id_)] == [("m1", "Potatoes"), ("m2", "[calls weather]")]
    everything = await archive.page(id_, with_left=True)
    assert [m.text for m in everything if m.left_at is not None and m.role == "user"][-1] == whole[0].content
    assert len({m.id for m in everything}) == 6
    assert all(m.message.id == m.id for m in everything)


async def test_the_file_says_what_it_is_and_only_its_owner_may_read_it(database: Database, tmp_path: Path) -> None:
    await fill(database)
    await fill(database, name="home")
    told: list[tuple[int, int]] = []
    file = tmp_path / "a.jsonl"
    await export_rows(UserRows(database, "ada"), file, thread="work", written=lambda *at: told.append(at))
    lines = [json.loads(line) for line in file.read_text().split("\n") if line]
    counts = {"threads": 1, "messages": 5, "summaries": 2, "versions": 1, "facts": 0, "pins": 0, "documents": 0}
    header = lines.pop(0)
    assert datetime.fromisoformat(header.pop("created_at")).tzinfo
    assert header == {"kind": "header", "format": "everthread", "version": 7, "user": "ada", "counts": counts}
    assert [line["kind"] for line in lines] == ["thread", *["message"] * 5, *["summary"] * 2, "version"]
    assert lines[0]["name"] == "work"
    assert not {"active", "chunk_id"} & {name for line in lines for name in line}
    assert "☂ 水 🍅" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert told[-1] == (9, 9)
    assert not list(tmp_path.glob("*.part"))


async def test_another_user_gets_a_copy_that_the_name_still_finds(database: Database, tmp_path: Path) -> None:
    await fill(database)
    await export(database, tmp_path / "a.jsonl")
    await bring(database, tmp_path / "a.jsonl", user="bob")
    copy = await Archive(UserRows(database, "bob")).messages(thread_id("work", "bob"))
    assert [message.id for message in copy] == ["m1", "m2", "m3", "m4", "m5"]
    assert len(await Archive(UserRows(database, "ada")).messages(thread_id("work", "ada"))) == 5
    assert await Archive(UserRows(database, "eve")).threads() == []


async def test_a_thread_of_another_user_is_refused_and_nothing_is_imported(database: Database, tmp_path: Path) -> None:
    await fill(database)
    await Archive(UserRows(database, "ada")).add_messages("zz-without-name", [HumanMessage("mine", id="x")])
    await export(database, tmp_path / "a.jsonl")
    with pytest.raises(ThreadOwnershipError, match="'zz-without-name' belongs to another user"):
        await bring(database, tmp_path / "a.jsonl", user="bob")
    assert await Archive(UserRows(database, "bob")).threads() == []


async def test_a_thread_that_went_on_keeps_what_is_new_and_takes_what_was_summarized(
    database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    id_ = await fill(database)
    old, new = Archive(UserRows(database, "ada")), Archive(UserRows(elsewhere, "ada"))
    await export(database, tmp_path / "a.jsonl")
    await bring(elsewhere, tmp_path / "a.jsonl")
    await old.add_messages(id_, [HumanMessage("here", id="h1"), AIMessage("and here", id="h2")])
    await old.add_summary(id_, Summary(id="s2", content="x", level=1, source_ids=("m3", "m4")))
    await new.add_messages(id_, [HumanMessage("there", id="t1")])
    await export(database, tmp_path / "b.jsonl")
    assert await bring(elsewhere, tmp_path / "b.jsonl") == Counts(threads=1, messages=2, summaries=1)
    found = await new.messages(id_)
    assert [(m.id, m.seq) for m in found[4:]] == [("m5", 5), ("t1", 6), ("h1", 7), ("h2", 8)]
    assert [m.active for m in found] == [False] * 4 + [True] * 4
    assert found[3].chunk_id == 2
    assert await bring(elsewhere, tmp_path / "b.jsonl") == Counts(threads=1)


async def test_a_file_of_version_4_is_read_and_its_flags_follow_from_its_summaries(
    database: Database, tmp_path: Path
) -> None:
    said = [
        {**MESSAGE, "id": id_, "seq": seq, "active": active, "chunk_id": chunk, "left_at": None,
         "message": {"type": "human", "data": {"content": "hi", "id": id_}}}
        for seq, (id_, active, chunk) in enumerate([("m1", False, 3), ("m2", True, None), ("m3", False, 7)], start=1)
    ]  # fmt: skip
    summary = {
        "kind": "summary", "thread": "t", "id": "s", "level": 1, "content": "They said hi.", "source_ids": ["m1", "m2"],
        "method": "extractive", "model": None, "tokens": 5, "covers": 2, "rejected": None, "version": 1,
        "active": False, "created_at": "2024-01-01T00:00:00Z", "left_at": None,
    }  # fmt: skip
    counts = {"threads": 1, "messages": 3, "summaries": 1, "versions": 0, "facts": 0, "pins": 0}
    lines = [{**HEADER, "version": 4, "counts": counts}, THREAD, *said, summary]
    (file := tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert await bring(database, file) == Counts(threads=1, messages=3, summaries=1)
    found = await Archive(UserRows(database, "ada")).messages("t")
    assert [(m.id, m.active, m.chunk_id) for m in found] == [("m1", False, 1), ("m2", False, 1), ("m3", True, None)]
    standing = await Archive(UserRows(database, "ada")).standing("t", recent=0, limit=9)
    assert list(standing.positions) == ["s", "m3"]


HEADER: dict[str, Any] = {
    "kind": "header", "format": "everthread", "version": 1, "created_at": "2024-01-01T00:00:00Z", "user": "ada",
    "counts": {"threads": 1, "messages": 1, "summaries": 0},
}  # fmt: skip
THREAD: dict[str, Any] = {"kind": "thread", "id": "t", "name": None, "created_at": "2024-01-01T00:00:00Z"}
MESSAGE: dict[str, Any] = {
    "kind": "message", "thread": "t", "id": "m", "seq": 1, "role": "user", "name": None, "active": True,
    "created_at": "2024-01-01T00:00:00Z", "chunk_id": None, "tokens": 5,
    "message": {"type": "human", "data": {"content": "hi", "id": "m"}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "is empty: expected a file that `everthread export` wrote"),
        (["not json"], "Line 1 of .* expected one JSON object, which breaks at character 1"),
        ([{"role": "user", "content": "hi"}], "Line 1 of .* expected a header"),
        ([{**HEADER, "version": 8}], "has version 8 of the format, and .* reads versions 1, 2, 3, 4, 5, 6 and 7"),
        ([{**HEADER, "counts": 3}], "Line 1 of .* expected another 'counts'"),
        ([HEADER, THREAD], "holds 1 threads, 0 messages, .* and 0 documents where its header announces 1 threads, 1"),
        ([HEADER, THREAD, '{"kind": "mess'], "Line 3 of .* expected one JSON object, which breaks at"),
        ([HEADER, THREAD, "[1]"], "Line 3 of .* found another kind of value"),
        ([HEADER, THREAD, b"\xff\xfe"], "Line 3 of .* expected UTF-8"),
        ([HEADER, THREAD, "[" * 100_000], "Line 3 of .* bottomless nesting"),
        ([HEADER, THREAD, json.dumps({**MESSAGE, "tokens": float("nan")})], "Line 3 of .* without NaN"),
        ([HEADER, MESSAGE], "Line 2 of .* expected a thread that has its own line above, found 't'"),
        ([HEADER, THREAD, {**MESSAGE, "kind": "memory"}], "Line 3 of .* expected 'kind' to be thread, message"),
        ([HEADER, THREAD, {**MESSAGE, "role": "wizard"}], "Line 3 of .* expected another 'role': input should be"),
        ([HEADER, THREAD, {**MESSAGE, "seq": 0}], "Line 3 of .* expected another 'seq': input should be greater"),
        ([HEADER, THREAD, {**MESSAGE, "tokens": 2**40}], "Line 3 of .* expected another 'tokens'"),
        ([HEADER, THREAD, {**MESSAGE, "created_at": "soon"}], "Line 3 of .* expected another 'created_at'"),
        ([HEADER, THREAD, {**MESSAGE, "mood": "good"}], "Line 3 of .* expected no field 'mood'"),
        ([HEADER, THREAD, {k: v for k, v in MESSAGE.items() if k != "id"}], "Line 3 of .* expected a value for 'id'"),
        ([HEADER, THREAD, {**MESSAGE, "message": {"type": "elf", "data": {}}}], "Line 3 of .* LangChain message"),
        ([HEADER, THREAD, MESSAGE, {**MESSAGE, "id": "n"}], "Line 4 of .* expected a 'seq' larger than"),
        ([HEADER, THREAD, {**MESSAGE, "id": "n"}], "Line 3 of .* the id and the role of its line"),
        ([HEADER, THREAD, {**MESSAGE, "role": "assistant"}], "Line 3 of .* the id and the role of its line"),
        ([HEADER, THREAD, {**MESSAGE, "message": {"type": "remove", "data": {"id": "m"}}}],
         "Line 3 of .* found the removal of a message"),
    ],
)  # fmt: skip
async def test_a_wrong_line_is_named_with_what_was_expected_and_nothing_is_imported(
    database: Database, tmp_path: Path, lines: list[Any], sentence: str
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(
        b"\n".join(line if isinstance(line, bytes) else line.encode() if isinstance(line, str) else
                   json.dumps(line).encode() for line in lines)
    )  # fmt: skip
    with pytest.raises(InputError, match=sentence) as caught:
        await bring(database, file)
    assert "\n" not in str(caught.value)
    assert "hi" not in str(caught.value).split()
    assert await Archive(UserRows(database, "ada")).threads() == []


async def test_what_postgres_cannot_store_is_cleaned_and_windows_files_are_read(
    database: Database, tmp_path: Path
) -> None:
    wild = {**MESSAGE, "message": {"type": "human", "data": {"content": "a\x00b\ud800c", "id": "m"}}}
    text = "\r\n".join(map(json.dumps, [HEADER, THREAD, wild])) + "\r\n\r\n"
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    await bring(database, file)
    (message,) = await Archive(UserRows(database, "ada")).messages("t")
    assert message.text == message.message.content == "ab\ufffdc"


async def test_a_thread_goes_on_whatever_stood_in_the_messages_of_the_file(
    graph: CompiledConversation, tmp_path: Path
) -> None:
    """What only an export of ours can hold, where somebody has changed it: what no checkpoint and no model takes."""
    deep: Any = []
    for _ in range(500):
        deep = [deep]
    await say(graph, "My dog is called Rex.", to="theirs", user="bob")
    rows, file = graph.resources.of_user("bob").rows, tmp_path / "theirs.jsonl"
    await export_rows(rows, file, written=lambda _done, _all: None)
    lines = [json.loads(line.replace('"theirs"', '"own"')) for line in file.read_text("utf-8").splitlines()]
    lines[0]["user"] = "ada"
    for line in lines:
        if line["kind"] == "message":
            line["message"]["data"]["additional_kwargs"] = {"everthread_summary": "x", "n": 2**70, "deep": deep}
    asked = next(line for line in lines if line.get("role") == "user")
    asked["message"]["data"]["content"] = [{"type": ["text"], "text": "My dog is called Rex."}, {}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    await import_rows(graph.resources.of_user("ada").rows, file, check_file(file), added=lambda _added: None)
    for _ in range(2):
        state = await say(graph, "What is my dog called?", to="own")
    assert len(state["messages"]) == 6
    assert "Rex" in state["messages"][0].text


async def test_an_export_that_cannot_be_finished_leaves_nothing(database: Database, tmp_path: Path) -> None:
    (folder := tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="folder cannot be written: Is a directory"):
        await export(database, folder)

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    await fill(database)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        await export_rows(UserRows(database, "ada"), tmp_path / "a.jsonl", written=full)
    assert list(tmp_path.iterdir()) == [folder]


async def test_a_missing_thread_and_a_missing_folder_are_named(database: Database, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no thread 'nowhere'"):
        await export(database, tmp_path / "a.jsonl", thread="nowhere")
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        await export(database, tmp_path / "no" / "a.jsonl")
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        await bring(database, tmp_path / "a.jsonl")
    assert not list(tmp_path.iterdir())


def many(file: Path, count: int, to: str = "t") -> None:
    """A file of many messages in five threads."""
    counts = Counts(threads=5, messages=count).model_dump()
    with file.open("w") as output:
        output.write(json.dumps({**HEADER, "counts": counts}) + "\n")
        for n in range(5):
            output.write(json.dumps({**THREAD, "id": f"{to}{n}"}) + "\n")
        for n in range(count):
            data = {"content": f"Remark {n} " + "on the weather " * (n % 7), "id": f"m{n}"}
            message = {"type": "human", "data": data}
            line = {**MESSAGE, "thread": f"{to}{n * 5 // count}", "id": f"m{n}", "seq": n + 1, "message": message}
            output.write(json.dumps(line) + "\n")


@pytest.mark.slow
async def test_memory_use_does_not_grow_with_the_file(database: Database, tmp_path: Path) -> None:
    import tracemalloc

    peaks = []
    for name, count in (("a", 4000), ("b", 1000), ("c", 4000)):  # the first to get warm, as texts are cached, too
        file = tmp_path / f"{name}.jsonl"
        many(file, count, name)
        tracemalloc.start()
        await bring(database, file)
        assert (await export(database, tmp_path / "out.jsonl")).messages >= count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < peaks[1] * 3  # for a file four times as long, of words that caches hold


async def test_embedding_in_bulk_makes_the_vectors_that_a_turn_makes(
    database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    long = HumanMessage("A sentence on the weather of that day. " * 100, id="long", name="Ann")
    embedder = Embedder("fake", DeterministicFakeEmbedding(size=8))
    for each in (database, elsewhere):
        await fill(each)
        await Archive(UserRows(each, "ada")).add_messages(
            thread_id("work", "ada"), [long, HumanMessage(" ", id="blank")]
        )
    index = VectorIndex(UserRows(database, "ada"), embedder)
    while await index.embed_pending(timeout=60):
        pass
    done = await BulkEmbedding(UserRows(elsewhere, "ada"), embedder, which="pending", timeout=60).run()
    assert done == 7
    one, other = [await asyncio.to_thread(vectors_of, each) for each in (database, elsewhere)]
    unstable = {"created_at", "langchain_metadata", "changed"}  # of messages that name no time
    assert [{k: v for k, v in row.items() if k not in unstable} for row in one] == [
        {k: v for k, v in row.items() if k not in unstable} for row in other
    ]
    assert len(one) > done


def vectors_of(database: Database) -> list[dict[str, Any]]:
    url = database.settings.database_url
    assert url is not None
    with psycopg.connect(url.get_secret_value(), row_factory=dict_row) as connection:
        connection.execute(f'SET search_path TO "{database.schema}", public')
        return connection.execute("SELECT * FROM vectors ORDER BY langchain_id").fetchall()


async def test_what_was_imported_by_the_command_is_recalled(
    graph: CompiledConversation,
    elsewhere: Database,
    embeddings: Embeddings,
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    file = str(tmp_path / "a.jsonl")
    await say(graph, "My dog Biscuit is afraid of thunder.", to=thread_id("pets", "default"), user="default")
    await Archive(UserRows(graph.resources.database, "default")).own_thread(thread_id("pets", "default"), "pets")
    done = await asyncio.to_thread(run, environment, "export", file, "--thread", "pets")
    assert "1 threads, 2 messages, 0 summaries" in done.stdout, done.stderr
    there = {**environment, "EVERTHREAD_DATABASE_SCHEMA": elsewhere.schema, "EVERTHREAD_USER_ID": "bob"}
    done = await asyncio.to_thread(run, there, "import", file, "--no-embed")
    assert "2 messages, 2 of them new" in done.stdout, done.stderr
    assert await asyncio.to_thread(vectors_of, elsewhere) == []
    done = await asyncio.to_thread(run, there, "import", file)
    assert "2 messages, 0 of them new" in done.stdout, done.stderr
    assert len(await asyncio.to_thread(vectors_of, elsewhere)) == 2
    assert "Biscuit" in (await asyncio.to_thread(run, there, "history", "pets")).stdout
    async with open_graph(elsewhere.settings, model=EchoModel(prompts=[]), embeddings=embeddings) as opened:
        state = await say(opened, "What is my dog Biscuit afraid of?", to="new", user="bob", similarity_threshold=0.5)
    assert "Biscuit" in state["recall"].memories[0].fragments[0].content


@pytest.mark.parametrize("words", [["import", "/nowhere.jsonl"], ["export", "/nowhere/x.jsonl"]])
def test_the_command_says_in_one_line_what_is_wrong(environment: dict[str, str], words: list[str]) -> None:
    done = run(environment, *words)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith(f"everthread: {words[1]} cannot be")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("where", ["in the archive", "in the file"])
async def test_a_message_that_would_change_one_already_said_is_refused_with_its_line(
    database: Database, elsewhere: Database, tmp_path: Path, where: str
) -> None:
    await fill(database)
    file = tmp_path / "a.jsonl"
    await export(database, file)
    lines = file.read_text().split("\n")[:-1]
    position = next(n for n, line in enumerate(lines) if '"id": "m5"' in line)
    changed = json.loads(lines[position])
    changed["message"]["data"]["content"] = "A green one."
    if where == "in the archive":
        await bring(elsewhere, file)
        before = await asyncio.to_thread(rows_of, elsewhere)
        lines[position] = json.dumps(changed)
    else:
        before = {"messages": [], "summaries": []}
        lines.insert(position + 1, json.dumps({**changed, "seq": changed["seq"] + 1}))
        lines[0] = lines[0].replace('"messages":5', '"messages":6')
        position += 1
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(
        InputError, match=f"Line {position + 1} of .* message 'm5' is there already with another content"
    ):
        await bring(elsewhere, file)
    after = await asyncio.to_thread(rows_of, elsewhere)
    assert all(after[table] == rows for table, rows in before.items())


async def test_a_time_that_utc_cannot_say_is_refused_with_its_line(database: Database, tmp_path: Path) -> None:
    await fill(database)
    file = tmp_path / "a.jsonl"
    await export(database, file)
    file.write_text(file.read_text().replace(MOMENT.isoformat(), "0001-01-01T00:00:00+14:00", 1))
    with pytest.raises(InputError, match=r"Line \d+ of .* cannot be imported: expected another 'created_at'"):
        await bring(database, file)


@pytest.mark.parametrize(
    ("sources", "sentence"),
    [
        ({"s": ["s"]}, "Line 4 .*not made from itself"),
        ({"s": ["t", "m1"], "t": ["u"], "u": ["s"]}, "Line 4 .*not made from itself"),
    ],
)
def test_summaries_made_from_themselves_are_refused(
    tmp_path: Path, sources: dict[str, list[str]], sentence: str
) -> None:
    said = {**MESSAGE, "id": "m1", "seq": 1, "message": {"type": "human", "data": {"content": "hi", "id": "m1"}}}
    summaries = [
        {
            "kind": "summary", "thread": "t", "id": id_, "level": 1, "content": "They said hi.", "source_ids": ids,
            "method": "extractive", "model": None, "tokens": 5, "created_at": "2024-01-01T00:00:00Z",
        }
        for id_, ids in sources.items()
    ]  # fmt: skip
    counts = {"threads": 1, "messages": 1, "summaries": len(summaries), "versions": 0, "facts": 0, "pins": 0}
    lines = [{**HEADER, "counts": counts}, THREAD, said, *summaries]
    (file := tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError, match=sentence):
        check_file(file)
