"""Calls of tools and their results are found by names and arguments, what was shared by what it was called."""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg
import pytest
from conversation import open_with, say
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from scripted import calls, scripted

from everthread import Memory, Settings, open_memory
from everthread.state.messages import message_text
from everthread.storage.encryption import new_master_key
from everthread.storage.searchable import searchable_text


def call(name: str, id_: str, **args: Any) -> Any:
    return {"name": name, "args": args, "id": id_, "type": "tool_call"}


CHECKS = [
    HumanMessage("Please run the checks.", id="asked"),
    AIMessage("", id="ran", tool_calls=[call("pytest", "c1", path="tests/billing")]),
    ToolMessage("3 failed, 12 passed", id="failed", name="pytest", tool_call_id="c1"),
    AIMessage("Three of them fail.", id="told"),
]
PIANO = [
    HumanMessage("And the other matter?", id="other"),
    AIMessage("One moment.", id="sent", tool_calls=[
        call("sendInvoice", "c2", customer="Marek Novotny", lines=[{"item": "grand piano", "price": 4217}]),
    ]),
    ToolMessage("ok", id="ok", tool_call_id="c2"),
    AIMessage("Done.", id="done"),
]  # fmt: skip
BOAT = [
    HumanMessage(["Look!", {"type": "image", "url": "https://x.org/1", "alt": "my boat Thetis"}], id="boat"),
    AIMessage("Beautiful.", id="nice"),
]
BROKEN = [
    HumanMessage("Now rotate the keys.", id="rotate"),
    AIMessage("Let me.", id="broken", invalid_tool_calls=[
        {"name": "rotateKeys", "args": '{"fresh": "kid-2031", "retire": "kid-1987', "id": "c3", "error": None,
         "type": "invalid_tool_call"},
    ]),
]  # fmt: skip
REMARKS = [
    kind(f"{text} {n}.", id=f"{text[:1]}{n}")
    for n in range(20)
    for kind, text in ((HumanMessage, "I watered the tomatoes on day"), (AIMessage, "That sounds pleasant, number"))
]
TALK = [*CHECKS, *PIANO, *BOAT, *BROKEN, *REMARKS]

QUESTIONS = [
    ("What did pytest say about billing?", "ran", ["asked", "ran", "failed", "told"]),
    ("What did pytest say?", "failed", ["asked", "ran", "failed", "told"]),
    ("What was sent to Novotny?", "sent", ["other", "sent", "ok", "done"]),
    ("Was it a grand piano?", "sent", ["other", "sent", "ok", "done"]),
    ("Who got the invoice?", "sent", ["other", "sent", "ok", "done"]),
    ("For 4217?", "sent", ["other", "sent", "ok", "done"]),
    ("The picture of Thetis?", "boat", ["boat", "nice"]),
    ("Where did kid-1987 occur?", "broken", ["rotate", "broken"]),
]


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"])
def kept(request: pytest.FixtureRequest, stored: Settings) -> Settings:
    return stored.but(encryption_key=new_master_key()) if request.param else stored


def first(memory: Any, question: str) -> Memory:
    return next(iter(memory.recall(question)))


def test_a_call_is_found_by_its_name_and_arguments_and_brings_question_result_and_reply(
    kept: Settings, embeddings: Embeddings
) -> None:
    with open_memory(kept, user_id="ada", embeddings=embeddings) as memory:
        memory.remember(TALK, thread_id="t1")
        memory.settled()
        for question, _, exchange in QUESTIONS:
            found = first(memory, question)
            assert [fragment.id for fragment in found.fragments] == exchange, question
        assert "path=tests/billing" in str(memory.context("What did pytest say about billing?", thread_id="t2"))
        assert [row.text for row in memory.history("t1", limit=60)][1:3] == ["[calls pytest]", "3 failed, 12 passed"]
        told = 'assistant: Let me.\n  [tried to call rotateKeys: {"fresh": "kid-2031", "retire": "kid-1987]'
        assert told in str(memory.context("Where did kid-1987 occur?", thread_id="t2")[-1].text)


def test_its_vector_says_what_it_is_called_with(stored: Settings, real_embeddings: Embeddings) -> None:
    """No word of the question is in the call."""
    with open_memory(stored, user_id="ada", embeddings=real_embeddings) as memory:
        memory.remember(TALK, thread_id="t1")
        memory.settled()
        found = first(memory, "Which musical instruments were purchased?")
        assert "sent" in [fragment.id for fragment in found.fragments]
        assert found.vector_rank == 1


def test_what_was_said_before_calls_were_found_is_found_after_the_next_start(
    kept: Settings, embeddings: Embeddings
) -> None:
    with open_memory(kept, user_id="ada", embeddings=embeddings) as memory:
        memory.remember(TALK, thread_id="t1")
        memory.settled()
    as_before(kept)
    with open_memory(kept, user_id="ada", embeddings=embeddings) as memory:
        memory.settled()
        for question, _, exchange in QUESTIONS[:-2]:
            assert [fragment.id for fragment in first(memory, question).fragments] == exchange, question


def as_before(stored: Settings) -> None:
    """Have the rows of calls as the version before wrote them: with terms of what they say alone."""
    emptied = "UPDATE messages SET term_keys = {} WHERE id IN ('ran', 'failed', 'sent', 'ok')"
    if stored.storage_kind == "postgres":
        assert stored.database_url is not None
        with psycopg.connect(stored.database_url.get_secret_value()) as connection:
            connection.execute(f"SET search_path TO {stored.database_schema}".encode())
            connection.execute(emptied.format("'{}'").encode())
            connection.execute("DELETE FROM everthread_migrations WHERE version = 28")
    elif stored.storage_kind == "sqlite":
        assert stored.data_dir is not None
        with sqlite3.connect(next(stored.data_dir.glob("*.db"))) as file:
            file.execute(emptied.format("x''"))
            file.execute("DELETE FROM everthread_migrations WHERE version = 18")
            file.execute("PRAGMA user_version = 17")
        file.close()


async def test_what_a_tool_of_the_graph_did_is_told_in_another_conversation(
    stored: Settings, embeddings: Embeddings
) -> None:
    @tool
    def book_table(restaurant: str, guests: int) -> str:
        """Book a table."""
        return f"Confirmed under number {guests}71."

    booking = calls(("book_table", {"restaurant": "Osteria Francescana", "guests": 4}))
    model = scripted(booking, "It is done.", "Under 471.")
    async with open_with(stored, model=model, embeddings=embeddings, tools=[book_table]) as graph:
        await say(graph, "Please see to the evening.")
        state = await say(graph, "Which number has my booking at the Osteria?", to="t2")
        (memory,) = state["recall"].memories[:1]
        assert [fragment.role for fragment in memory.fragments] == ["user", "assistant", "tool", "assistant"]
        prompt = str(model.prompts[-1])
        assert "restaurant=Osteria Francescana" in prompt
        assert "Confirmed under number 471." in prompt


def test_a_memory_is_dated_in_the_zone_in_which_it_was_written(kept: Settings, embeddings: Embeddings) -> None:
    """It was the tenth in Tokyo, and the ninth in Greenwich."""
    at = {"created_at": "2026-07-10T01:00:00+09:00"}
    with open_memory(kept, user_id="ada", embeddings=embeddings) as memory:
        memory.remember([HumanMessage("Yesterday we bought a canoe.", additional_kwargs=at)], thread_id="t1")
        told = str(memory.context("What about the canoe?", thread_id="t2"))
    assert "(2026-07-10) user: Yesterday we bought a canoe. [yesterday: 2026-07-09]" in told


@pytest.mark.parametrize(
    ("row", "found_by"),
    [
        ({"text": "Hello."}, "Hello."),
        ({"text": "", "role": "assistant", "calls": None}, ""),
        ({"text": "", "role": "assistant", "message": {"data": "damaged"}}, ""),
        ({"text": "Hm.", "role": "assistant", "calls": ["damaged", {"name": 7, "args": "damaged"}]}, "Hm.\n7"),
        ({"text": "4 °C", "role": "tool", "name": "getWeather"}, "getWeather get Weather: 4 °C"),
        ({"text": "4 °C", "role": "tool", "name": None}, "4 °C"),
        (
            {
                "text": '[calls a]\n[tried to call b: {"c": 1]',
                "role": "assistant",
                "calls": [{"name": "a", "args": {}}],
            },
            '[tried to call b: {"c": 1]\na',
        ),
    ],
)
def test_what_a_row_is_found_by(row: dict[str, Any], found_by: str) -> None:
    assert searchable_text(row) == found_by


@pytest.mark.parametrize(
    ("said", "calls_", "read"),
    [
        ("", [("f", "{'a': 1")], "[tried to call f: {'a': 1]"),
        ("Hm.", [("f", None), (None, "x\ny")], "Hm.\n[tried to call f: ]\n[tried to call a tool: x y]"),
        (" ", [("f", "word " * 1_000_000)], "[tried to call f: " + ("word " * 39)[:-1] + "…]"),
    ],
)
def test_a_call_that_cannot_be_read_reads_as_what_was_tried(
    said: str, calls_: list[tuple[str | None, str | None]], read: str
) -> None:
    broken: Any = [{"name": name, "args": args, "id": "c", "error": None} for name, args in calls_]
    assert message_text(AIMessage(said, invalid_tool_calls=broken)) == read


def test_of_arguments_without_end_the_beginnings_count() -> None:
    deep: Any = "end"
    for _ in range(200):
        deep = {"more": [deep]}
    written = call("write", "c1", path="notes.md", text="word " * 100_000, deep=deep, on=True)
    found_by = searchable_text({"text": "", "role": "assistant", "calls": [written] * 50})
    assert "path notes.md text word word" in found_by
    assert len(found_by) <= 1_000
    assert "end" not in found_by
