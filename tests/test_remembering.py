"""What `remember` takes: any form of a message, when it was said, and what it refuses; how a summary is traced."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from conversation import EchoModel, counting_model
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.messages import HumanMessage

from everthread import ConversationMemory, InputError, Settings, memory_tools, open_memory
from everthread.storage.sources import SummaryTree

MOMENT = datetime(2024, 5, 1, 9, tzinfo=UTC)


@pytest.fixture
async def memory(settings: Settings, embeddings: Embeddings) -> AsyncIterator[ConversationMemory]:
    async with open_memory(settings, user_id="ada", embeddings=embeddings) as memory:
        yield memory


@pytest.mark.parametrize(
    "one",
    ["I live in Oslo.", HumanMessage("I live in Oslo."), ("user", "I live in Oslo."),
     {"role": "user", "content": "I live in Oslo."}],
)  # fmt: skip
async def test_one_message_needs_no_list(memory: ConversationMemory, one: Any) -> None:
    assert await memory.aremember(one, thread_id="t1") == 1
    (row,) = await memory.ahistory("t1")
    assert (row.role, row.text) == ("user", "I live in Oslo.")


@pytest.mark.parametrize(
    "at",
    [MOMENT, MOMENT.isoformat(), int(MOMENT.timestamp()), str(int(MOMENT.timestamp())), MOMENT.timestamp() * 1000,
     format_datetime(MOMENT), "05/01/2024 09:00:00"],
)  # fmt: skip
async def test_what_was_said_before_is_kept_at_its_time(memory: ConversationMemory, at: Any) -> None:
    await memory.aremember({"role": "user", "content": "I live in Oslo.", "created_at": at}, thread_id="t1")
    assert [row.created_at for row in await memory.ahistory("t1")] == [MOMENT]


@pytest.mark.parametrize("at", ["soon", "", {}, [], float("nan"), 1e300, "9" * 10_000, {"$date": {"$date": {}}}, True])
async def test_a_time_that_is_none_is_this_moment(memory: ConversationMemory, at: Any) -> None:
    before = datetime.now(UTC)
    said = HumanMessage("I live in Oslo.", additional_kwargs={"created_at": at})
    await memory.aremember([said], thread_id="t1")
    assert [row.created_at >= before for row in await memory.ahistory("t1")] == [True]


@pytest.mark.parametrize("thread_id", ["", "a\x00b", "\ud800", None])
async def test_a_thread_id_that_cannot_be_kept_is_refused_by_every_door(
    memory: ConversationMemory, echo: EchoModel, embeddings: Embeddings, thread_id: Any
) -> None:
    for refused in (memory.aremember("Hello.", thread_id=thread_id), memory.acontext("Hello?", thread_id=thread_id)):
        with pytest.raises(InputError, match="cannot be used: expected a non-empty text"):
            await refused
    assert await memory.athreads() == []


async def test_what_a_tool_is_wrongly_asked_for_is_its_answer(memory: ConversationMemory) -> None:
    search, remember = memory_tools(memory)
    assert "The query is empty" in await search.ainvoke({"query": " "})
    assert "The text is empty" in await remember.ainvoke({"text": ""})
    assert await remember.ainvoke({"text": "I live in Oslo."}) == "Kept."
    for tool in memory_tools(memory, names=["search_memory", "remember", "pin", "unpin", "summarize_messages"]):
        assert all(parameter["description"] for parameter in tool.args.values()), tool.name


@pytest.mark.parametrize("messages", [1, 2, 5])
async def test_a_word_is_found_in_a_memory_of_a_few_messages_whatever_the_embeddings_say(
    settings: Settings, messages: int
) -> None:
    for embeddings in (DeterministicFakeEmbedding(size=16), Broken()):
        async with open_memory(settings, user_id=type(embeddings).__name__, embeddings=embeddings) as memory:
            for n in range(messages):
                said = f"The {('regatta', 'bakery', 'orchard', 'ferry', 'museum')[n]} opens at {n + 5}."
                await memory.aremember(said, thread_id=f"{memory.user_id} {n}")
            await memory.asettled()
            found = await memory.arecall("When is the regatta?")
            assert "The regatta opens at 5." in [part.content for one in found for part in one.fragments]


class Broken(Embeddings):
    """A model whose server is away."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("away")

    def embed_query(self, text: str) -> list[float]:
        raise ConnectionError("away")


async def test_facts_as_of_a_moment_are_those_that_held_then(memory: ConversationMemory) -> None:
    for text, day in (("I live in Oslo.", 1), ("I live in Bergen.", 11)):
        at = MOMENT.replace(day=day)
        await memory.aremember({"role": "user", "content": text, "created_at": at}, thread_id="t1")
        await memory.asettled()

    async def known(**as_of: Any) -> list[str]:
        return [fact.text for fact in await memory.afacts(**as_of)]

    assert set(await known()) == {"I live in Oslo", "I live in Bergen"}
    assert await known(as_of=MOMENT.replace(day=10)) == ["I live in Oslo"]
    assert await known(as_of=MOMENT.replace(day=12)) == ["I live in Bergen"]
    assert await known(as_of=MOMENT.replace(year=2020)) == []
    (oslo,) = await memory.afacts(as_of=MOMENT.replace(day=10))
    await memory.aforget_fact(oslo.id, keep_said=True)
    assert await known(as_of=MOMENT.replace(day=10)) == []
    with pytest.raises(InputError, match="has no zone"):
        await memory.afacts(as_of=MOMENT.replace(tzinfo=None))


async def test_the_tools_of_each_user_keep_notes_of_their_own(memory: ConversationMemory) -> None:
    for user in ("ada", "bob"):
        search, remember = memory_tools(memory.of(user))
        assert await remember.ainvoke({"text": f"I am {user}."}) == "Kept."
        assert f"I am {user}." in await search.ainvoke({"query": "Who am I?"})
        (thread,) = await memory.of(user).athreads()
        assert (thread["name"], thread["messages"]) == ("notes", 1)


async def test_a_summary_is_traced_to_what_was_said(settings: Settings, embeddings: Embeddings) -> None:
    given = settings.but(n_sum=4, sum_window=2)
    async with open_memory(given, user_id="ada", embeddings=embeddings, model=counting_model()) as memory:
        said = [(role, f"Whale {n} sings.") for n in range(8) for role in ("user", "assistant")]
        await memory.aremember(said, thread_id="t1")
        await memory.asettled()
        first = next(one for one in await memory.asummaries("t1") if one.level == 1)
        tree: SummaryTree = await memory.atrace("t1", first.id)
        assert tree.summary == first
        assert tuple(row.id for row in tree.messages()) == first.source_ids
        assert {row.text for row in tree.messages()} < {text for _, text in said}
        assert not tree.missing
        for thread_id, id_ in (("t1", "none"), ("t2", first.id)):
            with pytest.raises(InputError, match="There is no summary"):
                await memory.atrace(thread_id, id_)
        with pytest.raises(InputError, match="There is no summary"):
            await memory.of("bob").atrace("t1", first.id)
