"""One contract for all storages: what holds on Postgres holds in a SQLite file and in a JSON file (seed 003)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from command import run
from conversation import EchoModel, say, thread
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import id as numbers

from everthread import (
    Settings,
    SettingsError,
    StorageError,
    Summary,
    ThreadOwnershipError,
    examine,
    open_graph,
    open_memory,
    thread_id,
)
from everthread.maintenance.transfer import export_rows, import_rows
from everthread.maintenance.transfer_format import check_file
from everthread.runtime.resources import Resources
from everthread.state.chain import summary_ids
from everthread.storage.embedded import begun
from everthread.storage.user_rows import UserRows

Kind = Literal["postgres", "sqlite", "json"]
KINDS: list[Kind] = ["postgres", "sqlite", "json"]


def settings_of(kind: Kind, settings: Settings, folder: Path) -> Settings:
    if kind == "postgres":
        return settings
    return settings.but(database_url=kind, data_dir=folder)


async def test_a_thread_goes_on_where_it_was(opened: Callable[..., open_graph]) -> None:
    async with opened() as graph:
        await say(graph, "My dog is called Biscuit.")
        before = (await graph.aget_state(thread())).values
    async with opened() as graph:
        assert (await graph.aget_state(thread())).values["messages"] == before["messages"]
        state = await say(graph, "And on.")
        archived = await graph.resources.of_user("ada").archive.messages("t1")  # type: ignore[attr-defined]
    assert [message.content for message in state["messages"]] == [
        "My dog is called Biscuit.", "You said: My dog is called Biscuit.", "And on.", "You said: And on.",
    ]  # fmt: skip
    assert [(message.seq, message.text, message.active) for message in archived] == [
        (n, message.content, True) for n, message in enumerate(state["messages"], start=1)
    ]
    assert state["after_reply"].error is None


async def test_it_works_from_sync_code(opened: Callable[..., open_graph]) -> None:
    def talk() -> str:
        with opened() as graph:
            graph.invoke({"messages": [("user", "hello")]}, thread(), context={"user_id": "ada"})
            state = graph.invoke({"messages": [("user", "again")]}, thread(), context={"user_id": "ada"})
            assert len(list(graph.get_state_history(thread()))) > 2
        return str(state["messages"][-1].content)

    assert await asyncio.to_thread(talk) == "You said: again"


CONTENTS: list[Any] = [
    "", "NUL \x00 and a lone surrogate \ud800", "你好，世界 مرحبا İstanbul 👩‍👩‍👧", "x = 1\n" * 2_000,
    [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
]  # fmt: skip

ARGUMENTS = {"at": ["é", 1.5, None], "big": 2**53}


async def test_content_of_any_kind_is_kept_as_postgres_keeps_it(settings: Settings, tmp_path: Path) -> None:
    moment = {"created_at": "2024-02-29T23:59:59.5+02:00"}
    said: list[Any] = [HumanMessage(text, id=f"m{n}", additional_kwargs=moment) for n, text in enumerate(CONTENTS)]
    said += [
        AIMessage(
            "", id="call", additional_kwargs=moment, tool_calls=[{"name": "look", "args": ARGUMENTS, "id": "c1"}]
        ),
        ToolMessage("seen", id="result", additional_kwargs=moment, tool_call_id="c1", artifact={"n": float("nan")}),
    ]
    kept = {}
    for kind in KINDS:
        resources = Resources(settings_of(kind, settings, tmp_path), embeddings=DeterministicFakeEmbedding(size=8))
        assert await resources.of_user("ada").archive.add_messages("t1", said) == [message.id for message in said]
        assert await resources.of_user("ada").archive.add_messages("t1", said) == []
        await resources.database.close()
        kept[kind] = await resources.of_user("ada").archive.messages("t1")  # read again
        await resources.close()
    assert len(kept["postgres"]) == len(said)
    assert kept["sqlite"] == kept["json"] == kept["postgres"]


async def test_an_id_with_another_content_is_refused(stored: Settings) -> None:
    resources = Resources(stored)
    await resources.of_user("ada").archive.add_messages("t1", [HumanMessage("One.", id="m")])
    offered = await resources.of_user("ada").archive.offer_messages(
        "t1", [HumanMessage("Two.", id="m"), HumanMessage("Three.", id="n")]
    )
    assert offered == (("n",), ("m",))
    with pytest.raises(Exception, match="with another content"):
        await resources.of_user("ada").archive.add_messages(
            "t1", [HumanMessage("Two.", id="m"), HumanMessage("4.", id="o")]
        )
    assert [message.text for message in await resources.of_user("ada").archive.messages("t1")] == ["One.", "Three."]
    await resources.close()


async def test_an_edited_message_stands_in_its_place_and_what_it_was_has_left(
    opened: Callable[..., open_graph],
) -> None:
    async with opened(profile="archive", summary_every_n=1) as graph:
        resources = graph.resources  # type: ignore[attr-defined]
        await say(graph, {"messages": [HumanMessage("I like jazz.", id="first")]})
        await say(graph, {"messages": [HumanMessage("I have a dog, and the word is zanzibar.", id="second")]})
        await graph.asettled()  # type: ignore[attr-defined]
        state = await say(graph, {"messages": [HumanMessage("I like tea.", id="first")]})
        assert state["after_reply"].error is None
        await graph.asettled()  # type: ignore[attr-defined]
        whole = await resources.of_user("ada").archive.messages("t1")
        assert [m.text for m in whole if m.left_at is None] == ["I like tea.", "You said: I like tea."]
        assert len([m for m in whole if m.left_at is not None]) == 4
        assert [m.id for m in await resources.of_user("ada").archive.page("t1")] == [m.id for m in state["messages"]]
        assert [m.text for m in state["context"].messages if m.type != "system"] == ["I like tea."]
        state = await say(graph, "What do you know about me, and what is the word zanzibar?", to="t2")
        assert [fact.text for fact in state["facts"].facts] == ["I like tea"]
        assert not any("jazz" in str(memory) or "dog" in str(memory) for memory in state["recall"].memories)
        (checkup,) = await examine(graph, "ada", "t1")
        assert checkup.findings == ()


async def test_the_archive_profile_compresses_as_the_seed_says(opened: Callable[..., open_graph]) -> None:
    """Seed 003, "Example Progression": after the 6th level-1 summary, one of level 2 and one of level 1 are active."""
    async with opened(profile="archive", summary_every_n=1) as graph:
        for n in range(6):
            state = await say(graph, f"My remark number {n} is about trains, tickets and the seat {n}.")
            assert state["after_reply"].error is None
        archive = graph.resources.of_user("ada").archive  # type: ignore[attr-defined]
        messages, summaries = await archive.messages("t1"), await archive.summaries("t1")
        counts = await archive.compression("t1")
        (highest,) = [summary for summary in summaries if summary.level == 2]
        tree = await archive.sources("t1", highest.id)
    assert [(message.active, message.chunk_id) for message in messages] == [(False, 1 + n // 2) for n in range(12)]
    assert sorted(summary.level for summary in summaries) == [1] * 6 + [2]
    assert (counts["messages"], counts["archived"], counts["summaries"], counts["level"]) == (12, 12, 2, 2)
    assert tree is not None
    assert [message.seq for message in tree.messages()] == list(range(1, 11))
    assert set(summary_ids(state["chain"])) == {summary.id for summary in summaries} - set(highest.source_ids)
    assert len(summary_ids(state["chain"])) == 2


async def test_active_summaries_stay_within_the_seeds_ten(opened: Callable[..., open_graph]) -> None:
    async with opened(profile="archive", summary_every_n=1) as graph:
        archive = graph.resources.of_user("ada").archive  # type: ignore[attr-defined]
        for n in range(17):
            await say(graph, f"My remark number {n} is about trains, tickets and the seat {n}.")
            assert (await archive.compression("t1"))["summaries"] <= 10
        assert (await archive.compression("t1"))["archived"] == 34


class NoSummaries(EchoModel):
    """Answers, and fails where it is to summarize."""

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> Any:
        if messages[-1].text.endswith("Summary:"):
            raise ConnectionError("quota")
        return super()._generate(messages, stop, run_manager, **options)


@pytest.mark.usefixtures("eager")
async def test_where_the_summary_fails_the_messages_stay_active(opened: Callable[..., open_graph]) -> None:
    """Seed 003, "Summarization Failures"."""
    values = {"model": NoSummaries(prompts=[]), "summary_model": None, "profile": "archive", "summary_every_n": 2}
    async with opened(**values) as graph:
        for n in range(3):
            state = await say(graph, f"The seat {n} is mine.")
            await graph.asettled()  # type: ignore[attr-defined]
        archive = graph.resources.of_user("ada").archive  # type: ignore[attr-defined]
        assert "quota" in state["after_reply"].error
        assert all(message.active for message in await archive.messages("t1"))
        assert await archive.summaries("t1") == []


async def test_an_old_remark_is_recalled_by_another_process(stored: Settings, embeddings: Embeddings) -> None:
    async with open_graph(stored, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        await say(graph, "My locker is number QX-4471.", to="old")
        for n in range(8):
            await say(graph, f"Soup for lunch on day {n}.", to="old")
    async with open_graph(stored, model=(model := EchoModel(prompts=[])), embeddings=embeddings) as graph:
        state = await say(graph, "Which number does my locker have?", to="new")
    assert state["recall"].error is None
    assert any("QX-4471" in message.text for message in model.prompts[-1])


CORPUS = [
    ("user", "I adopted a cat called Miso last spring."), ("assistant", "Congratulations on Miso!"),
    ("user", "My sister Hanna lives in Porto."), ("assistant", "Porto is lovely."),
    ("user", "The cat scratched the blue sofa."), ("assistant", "Cats do that."),
    ("user", "I have a dentist appointment in March."), ("assistant", "I noted the appointment."),
    ("user", "我喜欢绿茶。"), ("assistant", "绿茶很好。"),
]  # fmt: skip
QUESTIONS = ["What is the name of my cat?", "Where does Hanna live?", "绿茶", "When do I see the dentist?", "hello"]


async def test_recall_is_in_the_same_order_as_on_postgres(
    settings: Settings, tmp_path: Path, real_embeddings: Embeddings
) -> None:
    found: dict[Kind, list[Any]] = {}
    for kind in KINDS:
        resources = Resources(settings_of(kind, settings, tmp_path), embeddings=real_embeddings)
        kinds = {"user": HumanMessage, "assistant": AIMessage}
        said = [kinds[role](text, id=f"m{n}") for n, (role, text) in enumerate(CORPUS)]
        await resources.of_user("ada").archive.add_messages("t1", said)
        summary = Summary(id="s", content="A cat called Miso and a sofa.", level=1, source_ids=("m0", "m4"))
        await resources.of_user("ada").archive.add_summary("t1", summary)
        await resources.of_user("ada").vectors.embed_pending(timeout=60)
        for question in QUESTIONS:
            recall = await resources.of_user("ada").search.find("now", question, limit=9, threshold=0.7, timeout=60)
            assert recall.error is None
            found.setdefault(kind, []).append([
                (hit.source_type, hit.source_id, hit.rank, hit.keyword_rank, hit.vector_rank,
                 pytest.approx(hit.similarity, abs=1e-5), pytest.approx(hit.score, abs=0.01))
                for hit in recall.hits
            ])  # fmt: skip
            pairs = await resources.of_user("ada").archive.exchanges(recall.hits)
            found[kind].append(sorted((key, tuple(part.id for part in parts)) for key, parts in pairs.items()))
        await resources.close()
    assert found["postgres"][0][0][1] in {"m0", "s"}
    assert len(found["postgres"][2]) > 0
    assert found["sqlite"] == found["postgres"]
    assert found["json"] == found["postgres"]


async def test_one_user_never_sees_what_is_anothers(stored: Settings) -> None:
    resources = Resources(stored, embeddings=DeterministicFakeEmbedding(size=8))
    for user in ("a", "a%", "a'; DROP TABLE messages; --"):
        said = [HumanMessage(f"The locker QX-4471 is {user}.", id="m")]
        await resources.of_user(user).archive.add_messages(f"of {user}", said)
        await resources.of_user(user).vectors.embed_pending(timeout=60)
    recall = await resources.of_user("a").search.find("now", "locker QX-4471", limit=50, threshold=0.0, timeout=60)
    assert {(hit.thread_id, hit.source_id) for hit in recall.hits} == {("of a", "m")}
    assert await resources.of_user("a").archive.messages("of a%") == []
    with pytest.raises(ThreadOwnershipError):
        await resources.of_user("a%").archive.own_thread("of a")
    with pytest.raises(StorageError, match="user id"):
        await resources.of_user("").archive.messages("of a")
    with pytest.raises(StorageError, match="does not filter by"):
        await resources.of_user("a").rows.fetch("SELECT * FROM messages")
    await resources.close()


async def test_facts_and_pins_are_learned_superseded_and_forgotten(opened: Callable[..., open_graph]) -> None:
    async with opened() as graph:
        await say(graph, "My dog is called Biscuit. Remember that I am allergic to nuts.")
        await say(graph, "I live in Porto.")
        await say(graph, "I moved, I live in Lisbon now.")
        facts = graph.resources.of_user("ada").facts  # type: ignore[attr-defined]
        states = {fact.value or fact.text: fact.state for fact in await facts.all_facts()}
        pins = [pin.text for pin in await facts.pins()]
    assert "current" in states.values()
    assert any("nuts" in pin for pin in pins)
    async with opened() as graph:
        facts = graph.resources.of_user("ada").facts  # type: ignore[attr-defined]
        open_ = [fact for fact in await facts.all_facts() if fact.is_open]
        assert await facts.forget(open_[0].id, open_[0].confirmed_at) == open_[0].text
        assert await facts.forget(open_[0].id, open_[0].confirmed_at) is None
        assert len([fact for fact in await facts.all_facts() if fact.is_open]) == len(open_) - 1


async def test_commands_in_the_chat_name_the_storage(opened: Callable[..., open_graph], stored: Settings) -> None:
    name = {"postgres": "Postgres", "sqlite": "SQLite", "json": "JSON file"}[stored.storage_kind]
    async with opened(profile="archive") as graph:
        texts = [
            (await say(graph, text))["messages"][-1].content for text in ("/summary", name, "15", "/summary_status")
        ]
    assert f"[{name} (in use)]" in texts[0]
    told = f"External memory configured!\n\n- Storage: {name}\n- Threshold: 15 messages"
    assert texts[2] == f"{told}\n- Holds in this thread and in your new ones"
    assert f"Storage: {name}" in texts[3]


async def test_what_one_storage_exports_another_imports_and_exports_the_same(
    settings: Settings, tmp_path: Path
) -> None:
    lines = {}
    async with open_graph(
        settings.but(profile="archive", summary_every_n=2),
        model=EchoModel(prompts=[]),
        embeddings=DeterministicFakeEmbedding(size=8),
    ) as graph:
        for n in range(5):
            await say(graph, f"Remark {n}: I live in Porto and my cat is called Miso{n}.")
    source = settings
    for kind in ("postgres", "sqlite", "json", "sqlite"):
        resources = Resources(source)
        file = tmp_path / f"{kind}.jsonl"
        await export_rows(UserRows(resources.database, "ada"), file, written=lambda *_: None)
        await resources.close()
        lines[kind] = file.read_text().split("\n", 1)[1]
        source = settings_of("json" if kind == "sqlite" else "sqlite", settings, tmp_path / f"to-{len(lines)}")
        resources = Resources(source, embeddings=DeterministicFakeEmbedding(size=8))
        counts = await import_rows(UserRows(resources.database, "ada"), file, check_file(file), added=lambda _: None)
        assert (counts.threads, counts.messages) == (1, 10)
        assert await resources.of_user("ada").vectors.embed_pending(timeout=60) > 10
        await resources.close()
    assert lines["sqlite"] == lines["json"] == lines["postgres"]


@pytest.mark.parametrize("kind", ["sqlite", "json"])
def test_the_command_line_works_without_postgres(kind: Kind, settings: Settings, tmp_path: Path) -> None:
    name, file = thread_id("work", "ada"), tmp_path / "all.jsonl"
    with open_graph(
        settings_of(kind, settings, tmp_path),
        model=EchoModel(prompts=[]),
        embeddings=DeterministicFakeEmbedding(size=8),
    ) as graph:
        for text in ("My dog is called Biscuit.", "/summary_now"):
            graph.invoke({"messages": [("user", text)]}, thread(name), context={"user_id": "ada"})

    def shown(*words: str, folder: Path = tmp_path) -> str:
        environment = {**os.environ, "EVERTHREAD_USER_ID": "ada"}
        done = run(environment, *words, "--database-url", kind, "--data-dir", str(folder))
        assert done.returncode == 0, done.stderr
        return " ".join(done.stdout.split())

    assert "2" in shown("threads")
    assert "My dog is called Biscuit." in shown("history", name)
    assert "Biscuit" in shown("facts")
    assert "level 1" in shown("trace", name)
    assert "My dog is called Biscuit." in shown("explain", name, "1")
    assert "newest" in shown("prune", name)
    assert "2 messages, 1 summaries" in shown("export", str(file))
    assert "2 of them new" in shown("import", str(file), "--no-embed", folder=tmp_path / "new")
    assert "My dog is called Biscuit." in shown("history", name, folder=tmp_path / "new")


def test_one_variable_of_the_environment_chooses_it(tmp_path: Path, environment: dict[str, str]) -> None:
    environment = {name: value for name, value in environment.items() if "DATABASE" not in name}
    environment |= {"EVERTHREAD_DATABASE_URL": "sqlite", "EVERTHREAD_DATA_DIR": str(tmp_path)}
    done = run(environment, "threads")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["memory.db"]


async def test_a_deleted_thread_is_gone_with_all_that_was_made_from_it(
    opened: Callable[..., open_graph], stored: Settings
) -> None:
    async with opened(profile="archive", summary_every_n=2) as graph:
        for name in ("t1", "t2"):
            for n in range(3):
                await say(graph, f"Remark {n}: my cat is called Miso, and the word is zanzibar.", to=name)
        deleted = await graph.adelete("ada", "t1")  # type: ignore[attr-defined]
        assert (deleted.threads, deleted.messages, deleted.summaries) == (1, 6, 1)
        resources = graph.resources  # type: ignore[attr-defined]
        assert await resources.of_user("ada").archive.messages("t1") == []
        assert await resources.of_user("ada").archive.known_count("t2") == 6
        assert (await graph.aget_state(thread())).values == {}
        assert len((await graph.aget_state(thread("t2"))).values["messages"]) > 2
        recall = await resources.of_user("ada").search.find("now", "zanzibar", limit=50, threshold=0.0, timeout=60)
        assert {hit.thread_id for hit in recall.hits} == {"t2"}
        await graph.adelete("ada")  # type: ignore[attr-defined]
    if stored.storage_kind != "postgres":
        assert stored.data_dir is not None
        assert not [file for file in stored.data_dir.iterdir() if file.is_file() and b"zanzibar" in file.read_bytes()]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"database_url": "sqlite://"}, "expected sqlite:///FILE"),
        ({"database_url": "json:///folder/"}, "expected json:///FILE"),
        ({"database_url": "mysql"}, "one of the words postgres, sqlite and json"),
    ],
)
def test_a_storage_that_cannot_be_is_told_in_one_sentence(values: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        Settings(**values)


async def test_without_the_embedded_server_a_file_keeps_everything_and_a_later_server_does_not_hide_it(
    tmp_path: Path, embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, said = Settings(data_dir=tmp_path, web_search="off"), "My dog is called Biscuit."
    with monkeypatch.context() as without:
        without.setattr(begun, "is_installed", lambda: False)
        async with open_memory(settings, embeddings=embeddings) as memory:
            await memory.aremember([HumanMessage(said)], thread_id="pets")
    with pytest.raises(
        StorageError, match=r"memory\.db keeps what was said before, .* set EVERTHREAD_DATABASE_URL to sqlite"
    ):
        async with open_memory(settings, embeddings=embeddings):
            pass
    async with open_memory(settings.but(database_url="sqlite"), embeddings=embeddings) as memory:
        assert [message.text for message in await memory.ahistory("pets")] == [said]


async def test_a_database_of_an_embedded_server_that_was_removed_is_not_hidden_by_a_new_file(
    tmp_path: Path, embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pg18").mkdir()
    (tmp_path / "pg18" / "PG_VERSION").write_text("18\n")
    monkeypatch.setattr(begun, "is_installed", lambda: False)
    with pytest.raises(StorageError, match=r"pip install 'everthread\[local\]'"):
        async with open_memory(Settings(data_dir=tmp_path, web_search="off"), embeddings=embeddings):
            pass


def test_the_storage_follows_from_the_url_or_the_word(tmp_path: Path) -> None:
    assert Settings().storage_kind == "postgres"
    assert (Settings(database_url="postgres").storage_kind, Settings(database_url="postgres").server_url) == (
        "postgres",
        None,
    )
    assert Settings(database_url="postgresql://h/d").server_url == "postgresql://h/d"
    assert (Settings(database_url="sqlite").storage_kind, Settings(database_url="sqlite").storage_path) == (
        "sqlite",
        None,
    )
    relative = Settings(database_url="json:///memory.json")
    assert (relative.storage_kind, relative.storage_path) == ("json", Path("memory.json"))
    assert Settings(database_url="sqlite:////var/m.db").storage_path == Path("/var/m.db")
    assert Resources(Settings(database_url="sqlite", data_dir=tmp_path)).database.kind == "sqlite"


ANOTHER_PROCESS = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from conversation import EchoModel, say
from langchain_core.embeddings import DeterministicFakeEmbedding
from everthread import Settings, open_graph

async def main() -> None:
    settings, fake = Settings(web_search="off", summary_model="extractive"), DeterministicFakeEmbedding(size=8)
    async with open_graph(settings, model=EchoModel(prompts=[]), embeddings=fake) as graph:
        {work}

asyncio.run(main())
"""


def in_another_process(stored: Settings, work: str) -> subprocess.Popen[str]:
    """Run lines of Python, given the graph, in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EVERTHREAD_")}
    environment |= {"EVERTHREAD_DATABASE_URL": stored.storage_kind, "EVERTHREAD_DATA_DIR": str(stored.data_dir)}
    code = ANOTHER_PROCESS.format(tests=str(Path(__file__).parent), work=work.replace("\n", "\n        "))
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


async def test_what_is_said_on_a_machine_whose_clock_is_behind_stands_last(
    stored: Settings, embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found with clocks two days apart: LangGraph orders checkpoints by the time, and turns were left out."""

    async def one_process(ahead: int, *said: str) -> list[str]:
        now = SimpleNamespace(time_ns=lambda: time.time_ns() + ahead * 1_000_000_000)
        monkeypatch.setattr(numbers, "time", now)
        monkeypatch.setattr(numbers, "_last_v6_timestamp", None)
        async with open_graph(stored, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
            for text in said:
                state = await say(graph, text)
            await graph.asettled()
            assert (await examine(graph, "ada", "t1"))[0].findings == ()
        return [message.text for message in state["messages"]][::2]

    await one_process(100_000, "One.", "Two.")
    assert await one_process(0, "Three.") == ["One.", "Two.", "Three."]
    assert await one_process(-100_000, "Four.") == ["One.", "Two.", "Three.", "Four."]
    assert await one_process(0, "Five.") == ["One.", "Two.", "Three.", "Four.", "Five."]
