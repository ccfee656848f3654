"""Encryption at rest: nothing that was said is readable in the data folder, and all works as without it."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command import run
from conversation import EchoModel, open_with, say, thread
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from variants import EACH_STORAGE, each, on_storage

from everthread import (
    ConversationMemory,
    MemoryStore,
    Settings,
    SettingsError,
    StorageError,
    Summary,
    examine,
    open_graph,
)
from everthread.runtime.forget import forget
from everthread.runtime.forget_wanted import some_messages, whole_threads
from everthread.state.search_records import SearchResult
from everthread.storage import encryption
from everthread.storage.archive import Archive
from everthread.storage.embedded.server import ensure_server
from everthread.storage.encryption import new_master_key
from everthread.storage.open import storage_of
from everthread.storage.search_cache import SearchCache
from everthread.storage.user_rows import UserRows

KEY = new_master_key()

CANARY = "quokkaflute"
"""A word that stands in all that is said, and nowhere else."""


@pytest.fixture(params=EACH_STORAGE)
def plain(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> Settings:
    """Settings on each storage, without encryption."""
    return on_storage(request.param, settings, tmp_path)


@pytest.fixture
def stored(plain: Settings) -> Settings:
    """The same with encryption."""
    return plain.but(encryption_key=KEY)


@pytest.fixture(params=each(["postgres", "sqlite", "json"], quick={"sqlite"}))
def in_folder(request: pytest.FixtureRequest, settings: Settings, own_server: Path) -> Settings:
    """Settings on each storage, without encryption, in a folder in which nobody else writes."""
    return settings.but(database_url=request.param, data_dir=own_server, database_schema="everthread")


def opened(settings: Settings, **values: Any) -> open_graph:
    embeddings = DeterministicFakeEmbedding(size=8)
    return open_with(settings, **{"model": EchoModel(prompts=[]), "embeddings": embeddings, **values})


async def fill(settings: Settings) -> None:
    """Have a canary in everything that is stored."""
    async with opened(settings, message_threshold=6, keep_recent=2, profile="sliding_summary") as graph:
        for n in range(6):
            await say(graph, f"My name is {CANARY}{n} and I live in {CANARY}. My dog is called {CANARY}{n}.")
        await say(graph, f"Remember that my {CANARY} is allergic to nuts.")
        user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
        call = {"name": "look", "args": {"what": CANARY}, "id": f"{CANARY}-call"}
        await user.archive.own_thread("t2", f"about {CANARY}")
        await user.archive.add_messages(
            "t2",
            [
                HumanMessage(f"look for {CANARY}", id="m1", name=f"{CANARY}-person"),
                AIMessage("", id="m2", tool_calls=[call]),
                ToolMessage(f"found {CANARY}", id="m3", tool_call_id=f"{CANARY}-call"),
                AIMessage(f"It is {CANARY}.", id="m4"),
            ],
        )
        summary = Summary(
            id="s1", level=1, content=f"they spoke of {CANARY}", source_ids=("m1", "m2"), tokens=5, covers=2,
            rejected=f"{CANARY} is missing",
        )  # fmt: skip
        await user.archive.add_summary("t2", summary)
        await MemoryStore(ConversationMemory(graph.resources, "ada")).aput(("notes",), "n1", {"text": CANARY})  # type: ignore[attr-defined]
        await graph.resources.background.settled(30)  # type: ignore[attr-defined]
        result = SearchResult(title=CANARY, url=f"https://example.org/{CANARY}", content=CANARY, engine="e")
        await SearchCache(UserRows(graph.resources.database, "ada")).put(["e", CANARY], [result], 900)  # type: ignore[attr-defined]


def found_in(folder: Path, word: str = CANARY) -> list[str]:
    """The files of a folder in which a word stands, in any of the ways in which text is written."""
    forms = [word.encode(), word.encode("utf-16-le"), word.upper().encode()]
    return [
        str(file.relative_to(folder)) for file in sorted(folder.rglob("*"))
        if file.is_file() and any(form in file.read_bytes() for form in forms)
    ]  # fmt: skip


async def checkpoint(settings: Settings) -> None:
    """Have the server write everything from its memory to its files."""

    def written() -> None:
        assert settings.data_dir is not None
        with psycopg.connect(ensure_server(settings.data_dir), autocommit=True) as connection:
            connection.execute("CHECKPOINT")

    if settings.storage_kind == "postgres":
        await asyncio.to_thread(written)


async def test_nothing_that_was_said_is_in_the_files(in_folder: Settings, own_server: Path) -> None:
    stored = in_folder.but(encryption_key=KEY)
    await fill(stored)
    await checkpoint(stored)
    assert found_in(own_server) == []


async def everything(settings: Settings, **values: Any) -> dict[str, Any]:
    """What a user reads of what `fill` stored."""
    async with opened(settings, **values) as graph:
        resources: Any = graph.resources  # type: ignore[attr-defined]
        user = resources.of_user("ada")
        threads = await user.archive.threads()
        told = await user.archive.messages("t2")
        summaries = await user.archive.summaries("t2")
        recalled = await user.search.find("t9", f"Who looks for {CANARY}?", limit=3, threshold=0.9, timeout=60)
        exchanges = await user.archive.exchanges(recalled.hits)
        report = await user.reports.find("t1", 1)
        return {
            "threads": sorted(str(row["name"]) for row in threads),
            "said": [message.text for message in await user.archive.messages("t1")],
            "people": [message.name for message in told],
            "calls": [getattr(message.message, "tool_calls", None) for message in told],
            "summaries": [(summary.content, summary.rejected) for summary in summaries],
            "facts": sorted((fact.text, fact.value or "", fact.terms) for fact in await user.facts.all_facts()),
            "documents": [document.value for document in await user.documents.under()],
            "pins": sorted(pin.text for pin in await user.facts.pins()),
            "report": str((report or {}).get("question")),
            "recalled": sorted(fragment.content for found in exchanges.values() for fragment in found),
            "chain": [message.content for message in (await graph.aget_state(thread())).values["messages"]],
        }


async def cached(settings: Settings) -> Any:
    storage = storage_of(settings)
    try:
        return await SearchCache(UserRows(storage, "ada")).get(["e", CANARY], 900)
    finally:
        await storage.close()


async def test_all_is_read_as_without_encryption(plain: Settings, new_schema: str, tmp_path: Path) -> None:
    await fill(plain)
    expected = await everything(plain)
    sealed = plain.but(data_dir=tmp_path / "sealed", database_schema=new_schema, encryption_key=KEY)
    await fill(sealed)
    assert await everything(sealed) == expected
    assert plain.storage_kind == "json" or (await cached(sealed))[0].title == CANARY
    assert all(expected.values())


async def test_what_is_there_is_encrypted_when_it_is_turned_on(in_folder: Settings, own_server: Path) -> None:
    await fill(in_folder)
    expected = await everything(in_folder)
    await checkpoint(in_folder)
    assert found_in(own_server)
    stored = in_folder.but(encryption_key=KEY)
    storage = storage_of(stored)
    assert await storage.keys.encrypt_all() == 1
    await storage.close()
    await checkpoint(stored)
    assert found_in(own_server) == []
    assert await everything(stored) == expected


async def test_a_user_is_encrypted_with_the_first_use(plain: Settings, stored: Settings) -> None:
    await fill(plain)
    expected = await everything(plain)
    assert await everything(stored) == expected
    async with opened(stored) as graph:
        state = await say(graph, "And on.")
    assert state["after_reply"].error is None


async def test_without_the_key_or_with_another_it_is_refused(plain: Settings, stored: Settings) -> None:
    await fill(stored)
    for settings, says in (
        (plain, "This database is encrypted: set EVERTHREAD_ENCRYPTION_KEY"),
        (
            plain.but(encryption_key=new_master_key()),
            "EVERTHREAD_ENCRYPTION_KEY is not the master key of this database",
        ),
    ):
        with pytest.raises(StorageError, match=says):
            async with opened(settings):
                pass
    with pytest.raises(SettingsError, match="neither 32 bytes in base64 nor a file"):
        async with opened(plain.but(encryption_key="secret")):
            pass


async def test_the_master_key_is_replaced(stored: Settings, tmp_path: Path) -> None:
    await fill(stored)
    expected = await everything(stored)
    new = tmp_path / "master.key"
    new.write_text(new_master_key())
    storage = storage_of(stored)
    assert await storage.keys.rotate(str(new)) >= 2  # that of the user, and the database's own
    await storage.close()
    assert await everything(stored.but(encryption_key=str(new))) == expected
    with pytest.raises(StorageError, match="is not the master key"):
        await everything(stored)


class Service:
    """A key management service."""

    id = "service/key-1"

    def __init__(self) -> None:
        self.asked = 0

    def wrap(self, data_key: bytes) -> bytes:
        self.asked += 1
        return bytes(byte ^ 0x5A for byte in data_key)

    def unwrap(self, wrapped: bytes) -> bytes:
        self.asked += 1
        return bytes(byte ^ 0x5A for byte in wrapped)


async def test_without_its_package_the_command_that_installs_it_is_named(
    stored: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    encryption._library.cache_clear()
    with pytest.raises(SettingsError, match=re.escape("pip install 'everthread[encryption]'")):
        async with opened(stored):
            pass


async def test_a_service_may_wrap_the_keys(plain: Settings, tmp_path: Path) -> None:
    service = Service()
    async with opened(plain, master_key=service) as graph:
        await say(graph, f"My dog is called {CANARY}.")
    assert service.asked
    assert found_in(tmp_path) == []  # on Postgres nothing is there
    async with opened(plain, master_key=Service()) as graph:
        state = await say(graph, "And on.")
    assert state["messages"][0].content == f"My dog is called {CANARY}."


async def test_who_is_forgotten_loses_the_key(stored: Settings) -> None:
    await fill(stored)
    async with opened(stored) as graph:
        await say(graph, "I am Bob.", to="bobs", user="bob")
        resources: Any = graph.resources  # type: ignore[attr-defined]
        before = await resources.database.keys.of("ada")
        user = resources.of_user("ada")
        await forget(user, await whole_threads(user), asked_by="program", locks=resources.locks)
        with pytest.raises(StorageError, match="destroyed"):
            await resources.database.keys.load(before.id)
        assert (await resources.database.keys.of("ada")).id != before.id
        assert (await say(graph, "And on.", to="bobs", user="bob"))["after_reply"].error is None
        assert (await say(graph, "Hello again.", to="t5"))["after_reply"].error is None


async def test_what_is_forgotten_is_gone_from_sealed_replies_reports_and_checkpoints(stored: Settings) -> None:
    secret = f"The code of my safe is {CANARY} seven"
    async with opened(stored) as graph:
        await say(graph, f"{secret}.")
        await say(graph, "Thank you.")
        await say(graph, "What is the code of my safe?", to="t2")
        user: Any = graph.resources.of_user("ada")  # type: ignore[attr-defined]
        said = [message.id for message in await user.archive.messages("t1") if message.role == "user"][:1]
        gone = await forget(user, await some_messages(user, "t1", said), asked_by="program")
        assert gone.messages >= 2  # replies repeat it
        for name in ("t1", "t2"):
            told = [message.text for message in await user.archive.messages(name)]
            reports = [await user.reports.find(name, turn) for turn in (1, 2)]
            state = (await graph.aget_state(thread(name))).values
            assert CANARY not in f"{told} {reports} {state}"
        assert (await say(graph, "And on."))["after_reply"].error is None


async def test_values_cannot_be_swapped_between_users_or_columns(stored: Settings) -> None:
    async with opened(stored) as graph:
        rows = {
            name: graph.resources.of_user(name).rows  # type: ignore[attr-defined]
            for name in ("ada", "bob")
        }
        for name, row in rows.items():
            await Archive(row).own_thread(f"of {name}", f"the work of {name}")
            await Archive(row).add_messages(f"of {name}", [HumanMessage(f"I am {name}", id="m1")])

        async def change(statement: str) -> None:
            async def work(connection: Any) -> None:
                await connection.execute(statement)

            await graph.resources.database.run(work)  # type: ignore[attr-defined]

        async def nothing_is_read(name: str) -> None:
            assert await Archive(rows[name]).messages(f"of {name}") == []
            assert rows[name].skipped.told() == (
                "Damaged rows were skipped (1): m1 in messages. `everthread doctor --repair` looks at them."
            )

        before = "SELECT text FROM messages WHERE user_id = 'bob'"
        await change(f"UPDATE messages SET text = ({before}) WHERE user_id = 'ada'")
        await nothing_is_read("ada")
        await change(
            "UPDATE messages SET text = (SELECT name FROM threads WHERE user_id = 'bob') WHERE user_id = 'bob'"
        )
        await nothing_is_read("bob")
        await change("UPDATE messages SET text = 'I am the admin' WHERE user_id = 'bob'")
        await nothing_is_read("bob")


SPOILED = {
    "messages": "text", "facts": "text", "pins": "text", "summaries": "content", "vectors": "content",
    "threads": "name",
}  # fmt: skip
"""By table, the column of which one value no longer opens."""


async def test_a_row_that_does_not_open_costs_itself_and_is_mended(stored: Settings) -> None:
    async with opened(stored) as graph:
        user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
        await user.archive.own_thread("t1", "the boat")
        for text in (
            "My dog is called Biscuit.",
            "Remember that I live in Lisbon.",
            "I prefer tea.",
            "The boat is blue.",
        ):
            await say(graph, text)
        await graph.asettled()  # type: ignore[attr-defined]
        said = await user.archive.messages("t1")
        sources = tuple(message.id for message in said[:4])
        await user.archive.add_summary(
            "t1", Summary(id="s1", content="They spoke.", level=1, source_ids=sources, covers=4)
        )
        key, spoiled = "ctid" if graph.resources.database.kind == "postgres" else "rowid", []  # type: ignore[attr-defined]
        for table, column in SPOILED.items():
            at = f"(SELECT {key} FROM {table} ORDER BY {key} LIMIT 1)"
            spoiled.append(f"UPDATE {table} SET {column} = 'evt1.{table}.{column}.{'A' * 40}' WHERE {key} = {at}")

        async def spoil(connection: Any) -> None:
            for statement in spoiled:
                await connection.execute(statement)
            await connection.execute("INSERT INTO memory_removals VALUES ('ada', 1) ON CONFLICT (user_id) DO UPDATE "
                                     "SET times = memory_removals.times + 1")  # fmt: skip

        await graph.resources.database.run(spoil)  # type: ignore[attr-defined]
        for to in ("t1", "t2"):
            state = await say(graph, "What do I drink, and where do I live?", to=to)
            assert state["messages"][-1].text.startswith("You said")
        assert "amaged rows were skipped" in " ".join(state["report"]["degraded"])
        assert len({m.id for m in said} - {m.id for m in await user.archive.messages("t1")}) == 1
        assert [row["name"] for row in await user.archive.threads() if row["thread_id"] == "t1"] == [None]
        for checkup in await examine(graph, "ada", repair=True):
            assert [finding for finding in checkup.left if not finding.harmless] == []
        assert [m.text for m in await user.archive.messages("t1")][: len(said)] == [m.text for m in said]


@pytest.mark.parametrize("is_sealed", [True, False])
async def test_a_thread_whose_state_does_not_open_goes_on_from_its_archive(
    plain: Settings, stored: Settings, is_sealed: bool
) -> None:
    async with opened(stored if is_sealed else plain) as graph:
        for text in ("The bus of row X4471 was late.", "The boat is blue."):
            await say(graph, text)
        (table, column) = ("checkpoint_blobs", "blob") if graph.resources.database.kind == "postgres" else (  # type: ignore[attr-defined]
            "checkpoints", "checkpoint")  # fmt: skip

        async def spoil(connection: Any) -> None:
            parts = f"substr({column}, 1, length({column}) / 2)"
            await connection.execute(f"UPDATE {table} SET {column} = {parts} WHERE {column} IS NOT NULL")

        await graph.resources.database.run(spoil)  # type: ignore[attr-defined]
        state = await say(graph, "And on.")
        said = [m.text for m in state["messages"] if m.type == "human"]
        assert said == ["The bus of row X4471 was late.", "The boat is blue.", "And on."]
        newest = [snapshot async for snapshot in graph.aget_state_history(thread())]
        assert newest[0].values["messages"][-2].text == "And on."
        gone = (await graph.resources.of_user("ada").archive.messages("t1"))[0]  # type: ignore[attr-defined]
        assert (await graph.aforget("ada", "t1", messages=[gone.id])).messages >= 2  # type: ignore[attr-defined]
        assert "X4471" not in str((await say(graph, "And further."))["messages"])


async def test_a_message_that_came_before_is_known_by_its_hash(stored: Settings) -> None:
    said = [HumanMessage("one", id="m1"), AIMessage("", id="m2", tool_calls=[{"name": "f", "args": {}, "id": "c"}])]
    async with opened(stored) as graph:
        archive = graph.resources.of_user("ada").archive  # type: ignore[attr-defined]
        assert await archive.add_messages("t1", said) == ["m1", "m2"]
        assert await archive.add_messages("t1", said) == []
        assert await archive.changed_ids("t1", [HumanMessage("two", id="m1"), said[1]]) == ["m1"]


def test_the_command_makes_keys_encrypts_and_rotates(plain: Settings, tmp_path: Path) -> None:
    assert plain.database_url is not None
    environment = {
        **os.environ,
        "EVERTHREAD_DATABASE_URL": plain.database_url.get_secret_value(),
        "EVERTHREAD_DATABASE_SCHEMA": plain.database_schema,
        "EVERTHREAD_DATA_DIR": str(tmp_path / "data"),
        "EVERTHREAD_EMBEDDING_MODEL": plain.embedding_model,
        "EVERTHREAD_WEB_SEARCH": "off",
        "EVERTHREAD_MODEL": "offline",
    }
    first, second = tmp_path / "first", tmp_path / "second"
    for file in (first, second):
        made = run(environment, "keys", "new")
        assert made.returncode == 0, made.stderr
        file.write_text(made.stdout)
    assert run(environment, "chat", "--thread", "t1", typed=f"My dog is called {CANARY}.\n").returncode == 0

    keyed = {**environment, "EVERTHREAD_ENCRYPTION_KEY": str(first)}
    encrypted = run(keyed, "keys", "encrypt")
    assert "1 users were encrypted" in encrypted.stdout, encrypted.stderr
    assert "This database is encrypted" in run(environment, "history", "t1").stderr
    assert CANARY in run(keyed, "history", "t1").stdout

    assert "no key to rotate to" in run(keyed, "keys", "rotate").stderr
    assert "keys were wrapped again" in run(keyed, "keys", "rotate", "--to", str(second)).stdout
    assert "is not the master key of this database" in run(keyed, "history", "t1").stderr
    assert CANARY in run({**keyed, "EVERTHREAD_ENCRYPTION_KEY": str(second)}, "history", "t1").stdout
    assert found_in(tmp_path) == []  # of Postgres the files are looked at above, after a checkpoint
