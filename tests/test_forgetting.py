"""What is forgotten is gone wherever it stood: a canary, in all three storages, down to the bytes of their files."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command import run
from conversation import EchoModel, say
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from psycopg import sql

from everthread import InputError, Settings, open_graph
from everthread.graph.conversation import Conversation
from everthread.maintenance.doctor import examine
from everthread.maintenance.proof import prove
from everthread.maintenance.transfer import export_rows
from everthread.runtime import forget as forgetting
from everthread.runtime import forget_wanted
from everthread.runtime.forget_needles import Needles
from everthread.state.records import now
from everthread.state.search_records import SearchResult
from everthread.storage.encryption import new_master_key
from everthread.storage.vector_rows import write_vectors

CANARY = "Canaryville7731"
SAID = f"I live in {CANARY} by the sea."


EVERYWHERE = (
    "messages", "summaries", "vectors", "facts", "pins", "turn_reports", "search_cache", "checkpoints",
)  # fmt: skip
TABLES = {
    "postgres": (*EVERYWHERE[:-1], "checkpoint_blobs"),
    "sqlite": (*EVERYWHERE, "memory.db"),
    "json": (*EVERYWHERE, "memory.json", "memory.json.bak"),
}
"""Where the canary stands before it is forgotten."""


class Parrot(EchoModel):
    """A chat model that repeats what the user said about their home, in whatever thread it is asked."""

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        asked = messages[-1].text
        told = f"You told me: {SAID}" if "Where do I live" in asked or CANARY in asked else f"Noted: {asked[-80:]}"
        return ChatResult(generations=[ChatGeneration(message=AIMessage(told))])


class Search:
    """A search engine that finds pages which quote the query."""

    name = "canned"

    def available(self) -> bool:
        return True

    async def search(self, query: str, limit: int, seconds: float) -> Any:
        return [SearchResult(title="A page", url="https://example.org", content=f"About {query}.", engine="canned")]


@pytest.fixture
async def talk(at_hand: Settings, embeddings: Embeddings) -> AsyncIterator[Conversation]:
    async with open_graph(
        at_hand.but(search_engines=("canned",)),
        model=Parrot(prompts=[]),
        embeddings=embeddings,
        engines={"canned": Search()},
    ) as opened:
        assert isinstance(opened, Conversation)
        yield opened


async def spread(graph: Conversation) -> str:
    """Say the canary, and let it be summarized, embedded, searched for, quoted, pinned; returns its id."""
    for n in range(3):
        await say(graph, f"Before {n}: the bus to the harbour number {n} was late again today.")
    state = await say(graph, SAID)
    id_ = next(m.id for m in reversed(state["messages"]) if m.type == "human")
    await say(graph, f"Please search the web for the ferry to {CANARY}.", web_search="auto", redact_queries=False)
    await say(graph, f"Remember that {CANARY} has no station.")
    for n in range(6):
        await say(graph, f"After {n}: we talked about the garden and the tomatoes of row {n}.")
    await graph.asettled()
    await say(graph, "Where do I live?", to="t2")
    await graph.asettled()
    return str(id_)


def folder_of(graph: Conversation) -> Path:
    folder = graph.resources.settings.data_dir
    assert folder is not None
    return folder


def holding(folder: Path) -> list[str]:
    """The files of a storage that hold the canary: looked at beside the code that is tested."""
    files = (file for file in folder.rglob("*") if file.is_file() and "bin-" not in str(file))
    return [file.name for file in files if CANARY.encode() in file.read_bytes()]


async def test_the_bytes_of_what_is_forgotten_are_nowhere(
    talk: Conversation, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    await spread(talk)
    storage, user = talk.resources.database, talk.resources.of_user("ada")
    said = [m for t in ("t1", "t2") for m in await user.archive.messages(t) if CANARY in m.text]
    assert {m.thread_id for m in said} == {"t1", "t2"}
    assert any(CANARY in s.content for s in await user.archive.summaries("t1"))
    asked = [m.id for m in said if m.thread_id == "t1" and m.role == "user"]
    wanted = await forget_wanted.some_messages(user, "t1", asked)
    needles = await forgetting.needles(user, wanted)
    assert CANARY in needles.texts
    before = await user.archive.known_count("t1")
    there = await prove(storage, "ada", needles)
    found = " ".join(there.remains)
    assert all(table in found for table in TABLES[storage.kind]), found
    gone = await forgetting.forget(user, wanted, asked_by="program", locks=talk.resources.locks)
    assert gone.messages >= 6  # three that were said, and the replies that repeat them
    assert gone.rewritten
    assert gone.facts
    assert gone.reports
    assert await user.archive.known_count("t1") < before

    proof = await prove(storage, "ada", needles)
    assert proof.remains == (), proof
    assert await asyncio.to_thread(holding, folder_of(talk)) == []
    if storage.kind == "postgres":
        dump = await asyncio.to_thread(dumped, request.getfixturevalue("server_url"), storage.settings.database_schema)
        assert b"The bus" in dump or b"the bus" in dump
        assert CANARY.encode() not in dump
    exported = tmp_path / "all.jsonl"
    await export_rows(user.rows, exported, written=lambda *_: None)
    assert CANARY not in await asyncio.to_thread(exported.read_text)
    state = await say(talk, "Which bus was late?")
    assert CANARY not in str(state["messages"][:-2])
    assert [row["kind"] for row in await forgetting.records(user.rows)] == ["messages"]


def dumped(url: str, schema: str) -> bytes:
    """All rows of all tables of a schema, as `pg_dump` writes them."""
    with psycopg.connect(url, autocommit=True) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
        found = b""
        for (table,) in tables:
            with connection.cursor().copy(sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(schema, table))) as copy:
                found += b"".join(map(bytes, copy))
    return found


async def test_where_it_is_encrypted_it_was_nowhere_in_plain_text_and_nothing_of_it_is_left(
    at_hand: Settings, embeddings: Embeddings, request: pytest.FixtureRequest
) -> None:
    """In files, tables, and what a dump holds; opened, it is there before and not afterwards."""
    settings = at_hand.but(search_engines=("canned",), encryption_key=new_master_key())
    engines = {"canned": Search()}
    async with open_graph(settings, model=Parrot(prompts=[]), embeddings=embeddings, engines=engines) as graph:
        assert isinstance(graph, Conversation)
        await spread(graph)
        storage, user = graph.resources.database, graph.resources.of_user("ada")

        async def dump() -> bytes:
            if storage.kind != "postgres":
                return b""
            url = request.getfixturevalue("server_url")
            return await asyncio.to_thread(dumped, url, settings.database_schema)

        there = (await prove(storage, "ada", Needles((CANARY,), 1))).remains
        assert all(line.partition(",")[2].startswith(" opened") for line in there), there
        named = " ".join(there)
        assert all(f"table {table}," in named for table in EVERYWHERE[:-1]), named
        assert "checkpoints of t1" in named
        assert await asyncio.to_thread(holding, settings.data_dir or Path()) == []
        said = [m.id for m in await user.archive.messages("t1") if CANARY in m.text and m.role == "user"]
        wanted = await forget_wanted.some_messages(user, "t1", said)
        needles = await forgetting.needles(user, wanted)
        ids = Needles(tuple(said), len(said))
        assert (await prove(storage, "ada", ids)).remains != ()
        before = await dump()
        assert CANARY.encode() not in before
        assert (said[0].encode() in before) is (storage.kind == "postgres")
        await forgetting.forget(user, wanted, asked_by="program", locks=graph.resources.locks)
        proof = await prove(storage, "ada", needles)
        assert proof.remains == (), proof
        after = await dump()
        assert [needle for needle in needles.texts if needle.encode() in after] == []
        state = await say(graph, "Where do I live?", to="t3")
        assert CANARY not in str(state["context"].messages)


async def test_what_a_message_said_before_it_was_edited_goes_with_it(talk: Conversation) -> None:
    storage, user = talk.resources.database, talk.resources.of_user("ada")
    for n, text in enumerate((f"My home is {CANARY}.", f"I live in {CANARY} by the sea.", "I live by the sea.")):
        await say(talk, {"messages": [HumanMessage(text, id="mine")]})
        if n == 0:
            await talk.checkpointer.acopy_thread("t1", "copy")
    await say(talk, "The bus was late.")
    await talk.asettled()
    left = [m for m in await user.archive.page("t1", with_left=True) if m.left_at and m.role == "user"]
    assert len(left) == 2
    await talk.aforget("ada", "t1", messages=["mine"])
    for thread in ("t1", "copy"):
        assert CANARY not in str([m.text for m in await user.archive.page(thread, with_left=True)]), thread
    assert (await prove(storage, "ada", Needles((CANARY,), 1))).remains == ()
    assert await asyncio.to_thread(holding, folder_of(talk)) == []


async def test_summaries_above_stand_for_what_is_left_and_say_nothing_of_what_is_gone(graph: Conversation) -> None:
    for n in range(16):
        await say(graph, f"Remark number {n}: the tomatoes of row {n} are ripe.")
    await graph.asettled()
    user = graph.resources.of_user("ada")
    top = max(await user.archive.summaries("t1"), key=lambda summary: summary.level)
    assert top.level > 1
    first = (await user.archive.sources("t1", top.id)).messages()[0]
    await graph.aforget("ada", "t1", messages=[first.id])
    for summary in await user.archive.summaries("t1"):
        assert first.id not in summary.source_ids
        assert first.text not in summary.content
        tree = await user.archive.sources("t1", summary.id)
        assert tree is not None
        assert tree.missing == ()
        assert summary.covers == len(tree.messages())
    state = await say(graph, "Which rows are ripe?")
    assert first.id not in str(state["chain"])
    assert [finding for checkup in await examine(graph, "ada") for finding in checkup.findings] == []


async def test_a_models_summary_is_replaced_at_once_and_made_again_later(graph: Conversation) -> None:
    user = graph.resources.of_user("ada")
    for n in range(8):
        await say(graph, f"Remark number {n}: the tomatoes of row {n} are ripe.")
    summary = (await user.archive.summaries("t1"))[0]
    by_model = summary.model_copy(
        update={"content": "The user told of row 0 and of others.", "method": "model", "model": "m", "version": 2}
    )
    await user.summaries.replace("t1", by_model)
    await graph.aforget("ada", "t1", messages=[summary.source_ids[0]])
    made = (await user.summaries.some("t1", [summary.id]))[summary.id]
    assert made.method == "extractive"
    assert "row 0" not in made.content
    assert made.rejected == "a message that it was made from was forgotten"
    assert await user.summaries.versions("t1", summary.id) == []
    assert summary.id in [one.id for one in await user.summaries.rejected("t1")]


async def test_an_earlier_text_of_a_summary_does_not_come_back_as_a_vector(graph: Conversation) -> None:
    for n in range(8):
        await say(graph, f"Remark number {n}: the tomatoes of row {n} are ripe.")
    await graph.asettled()
    user = graph.resources.of_user("ada")
    summary = (await user.archive.summaries("t1"))[0]
    said = await user.archive.messages("t1")
    told = next(one.id for one in said if one.role == "user" and one.text in summary.content)
    pending = {
        "source_type": "summary", "thread_id": "t1", "id": summary.id, "role": "assistant", "name": None,
        "text": summary.content, "created_at": summary.created_at, "embedded_with": None, "version": summary.version,
    }  # fmt: skip
    await graph.aforget("ada", "t1", messages=[told])
    await write_vectors(user.rows, "words", [pending], [[summary.content]], [[1.0, 0.0]])
    proof = await prove(graph.resources.database, "ada", Needles((summary.content[:60],), 1))
    assert proof.remains == ()


class Waiting(EchoModel):
    """A chat model that does not repeat anything, and waits where it is told to."""

    wait: bool = False
    go: Any = None
    begun: Any = None

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        if self.wait:
            self.begun.set()
            self.go.wait(60)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Noted."))])


async def test_a_turn_that_remembered_it_writes_nothing_of_it_into_its_report(
    reopen: Callable[..., open_graph],
) -> None:
    model = Waiting(prompts=[], go=threading.Event(), begun=threading.Event())
    async with reopen(model=model) as graph:
        for n in range(4):
            await say(graph, f"Remark {n}: the ferry to {CANARY} leaves at {n}.")
        await graph.asettled()  # type: ignore[attr-defined]
        user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
        ids = [message.id for message in await user.archive.messages("t1")]
        model.wait = True
        turn = asyncio.create_task(say(graph, "When does the ferry leave?", to="t2"))
        await asyncio.to_thread(model.begun.wait, 60)
        wanted = await forget_wanted.some_messages(user, "t1", ids)
        await forgetting.forget(user, wanted, asked_by="chat")  # as from within a turn, which waits for no other
        model.go.set()
        state = await turn
        assert state["report"]["hits"]
        assert "leaves at" not in str(state["report"])
        assert "leaves at" not in str(await user.reports.find("t2", 1))


async def test_a_fact_that_is_said_elsewhere_too_stays(graph: Conversation) -> None:
    for to in ("t1", "t2"):
        await say(graph, "I live in Porto.", to=to)
    await graph.asettled()
    user = graph.resources.of_user("ada")
    first = (await user.archive.messages("t1"))[0]
    await graph.aforget("ada", "t1", messages=[first.id])
    await say(graph, "The bus is late.", to="t3")
    await graph.asettled()
    assert [(fact.text, fact.thread_id) for fact in await user.facts.all_facts()] == [("I live in Porto", "t2")]


async def test_a_span_of_time_a_fact_and_what_is_not_there(graph: Conversation) -> None:
    await say(graph, "I live in Porto.")
    await graph.asettled()
    moment = now()
    await say(graph, "The bus is late.", to="t2")
    user = graph.resources.of_user("ada")
    assert (await graph.aforget("ada", since=moment)).messages == 2
    (fact,) = await user.facts.all_facts()
    assert (await graph.aforget("ada", fact=fact.id)).facts == 1
    assert await user.facts.all_facts() == []
    assert await user.archive.messages("t1") == []  # the echo had repeated it
    with pytest.raises(InputError, match="none of these messages"):
        await graph.aforget("ada", "t1", messages=["nothing"])
    with pytest.raises(InputError, match="Name what to forget"):
        await graph.aforget("ada")
    kinds = [(row["kind"], row["asked_by"]) for row in await forgetting.records(user.rows)]
    assert kinds == [("time", "program"), ("fact", "program")]
    assert await forgetting.records(graph.resources.of_user("bob").rows) == []


async def test_nobody_forgets_what_somebody_else_said(graph: Conversation) -> None:
    await say(graph, "My locker is QX-4471.")
    user = graph.resources.of_user("ada")
    ids = [message.id for message in await user.archive.messages("t1")]
    with pytest.raises(InputError):
        await graph.aforget("bob", "t1", messages=ids)
    assert (await graph.aforget("bob", since=datetime(2000, 1, 1, tzinfo=UTC))).messages == 0
    assert await user.archive.known_count("t1") == 2


@pytest.mark.parametrize("means", ["leave", "forget"])
async def test_what_removing_a_message_means_is_the_operators_to_say(
    means: str, reopen: Callable[..., open_graph]
) -> None:
    async with reopen(removed_messages=means, model=Waiting(prompts=[])) as graph:
        state = await say(graph, "My locker is QX-4471, by the door.")
        gone = state["messages"][0].id
        await say(graph, {"messages": [RemoveMessage(id=gone), ("user", "Never mind.")]})
        user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
        kept = await user.archive.page("t1", with_left=True)
        assert (gone in [message.id for message in kept]) is (means == "leave")


def test_the_command_forgets_asks_proves_and_lists(environment: dict[str, str]) -> None:
    environment["COLUMNS"] = "200"
    run(environment, "chat", "--thread", "work", typed=f"{SAID}\nThe bus is late.\n")
    assert "Aborted" in run(environment, "forget", "--thread", "work", typed="n\n").stderr
    assert CANARY in run(environment, "history", "work").stdout
    done = run(environment, "forget", "--thread", "work", "--prove", "--yes")
    assert done.returncode == 0, done
    assert "Nothing of it was found." in done.stdout
    assert "were not looked at" in done.stdout  # the files of a server that a URL names
    listed = run(environment, "forget", "--list").stdout
    assert "thread" in listed
    assert CANARY not in listed
    assert "Name a fact" in run(environment, "forget").stderr
