"""The archive: every message of every role with all it holds, once, and never lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from conversation import EchoModel, say, thread
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, AnyMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage

from everthread import InputError, Settings, Summary, examine, open_graph
from everthread.graph.conversation import CompiledConversation
from everthread.storage.archive import Archive
from everthread.storage.archive_rows import said_at
from everthread.storage.branches import Branches
from everthread.storage.postgres.database import Database
from everthread.storage.user_rows import UserRows

MOMENT = datetime(2024, 3, 4, 10, tzinfo=UTC)


@pytest.fixture
async def database(settings: Settings) -> AsyncIterator[Database]:
    database = Database(settings)
    yield database
    await database.close()


@pytest.fixture
def archive(database: Database) -> Archive:
    """Ada's."""
    return Archive(UserRows(database, "ada"))


async def test_every_role_and_every_kind_of_content_is_kept_whole(archive: Archive) -> None:
    call = {"name": "weather", "args": {"where": "Wien"}, "id": "c1", "type": "tool_call"}
    thinking = [
        {"type": "thinking", "thinking": "He means Vienna.", "signature": "s"},
        {"type": "text", "text": "Sun."},
    ]
    said: list[Any] = [
        SystemMessage("Be brief.", id="1"),
        HumanMessage([{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "x"}}], id="2"),
        AIMessage("", id="3", tool_calls=[call]),
        ToolMessage("sunny", id="4", tool_call_id="c1", artifact={"raw": [1, None]}),
        AIMessage(thinking, id="5", name="Bot"),
        ChatMessage("I took over.", id="6", role="agent"),
        ChatMessage("The user seems content.", id="7", role="observer"),
    ]
    assert await archive.add_messages("t", said) == list("1234567")
    kept = await archive.messages("t")
    assert [m.message for m in kept] == said
    assert [m.role for m in kept] == ["system", "user", "assistant", "tool", "assistant", "agent", "observer"]
    assert [m.seq for m in kept] == [1, 2, 3, 4, 5, 6, 7]
    assert all(m.active and m.chunk_id is None and m.tokens > 0 and m.thread_id == "t" for m in kept)
    assert kept[4].text == "Sun."
    assert all(datetime.now(UTC) - m.created_at < timedelta(hours=1) for m in kept)


async def test_compression_marks_the_sources_with_a_chunk_and_deletes_nothing(archive: Archive) -> None:
    await archive.add_messages("t", [HumanMessage(f"{n}", id=f"m{n}") for n in range(6)])
    for n, ids in enumerate([("m0", "m1"), ("m2", "m3")]):
        await archive.add_summary("t", Summary(id=f"s{n}", content="x", level=1, source_ids=ids))
    kept = await archive.messages("t")
    assert [(m.active, m.chunk_id) for m in kept] == [(False, 1)] * 2 + [(False, 2)] * 2 + [(True, None)] * 2
    assert [summary.source_ids for summary in await archive.summaries("t")] == [("m0", "m1"), ("m2", "m3")]


async def test_what_is_active_follows_from_the_summaries_of_the_conversation(
    database: Database, archive: Archive
) -> None:
    """A summary of summaries is no chunk; of two summaries the first has a message; one that left has none."""

    async def chunks() -> list[tuple[bool, int | None]]:
        assert await archive.page("t", with_left=True) == await archive.messages("t")
        return [(m.active, m.chunk_id) for m in await archive.messages("t")]

    await archive.add_messages("t", [HumanMessage(f"{n}", id=f"m{n}") for n in range(6)])
    made = [("s1", 1, ("m0", "m1")), ("top", 2, ("s1",)), ("s2", 1, ("m1", "m2")), ("s3", 1, ("m4",))]
    for id_, level, ids in made:
        await archive.add_summary("t", Summary(id=id_, content="x", level=level, source_ids=ids))
    assert await chunks() == [(False, 1), (False, 1), (False, 2), (True, None), (False, 3), (True, None)]
    counts = await archive.compression("t")
    assert (counts["messages"], counts["archived"], counts["summaries"]) == (6, 4, 3)
    standing = await archive.standing("t", recent=2, limit=10)
    assert list(standing.positions) == ["top", "s2", "m3", "s3", "m4", "m5"]
    assert standing.kept == {"m4"}
    await Branches(UserRows(database, "ada")).settle("t", ["m2", "m3", "m4", "m5"], removed=["m0"])
    assert await chunks() == [(False, None), (False, 1), (False, 1), (True, None), (False, 2), (True, None)]
    assert (await archive.compression("t"))["summaries"] == 2
    await Branches(UserRows(database, "ada")).settle("t", [f"m{n}" for n in range(4)])
    assert await chunks() == [(False, 1), (False, 1), (False, 2), (True, None), (False, None), (False, None)]


async def test_the_same_message_twice_is_kept_once_also_within_one_call(archive: Archive) -> None:
    twice = [HumanMessage("hello", id="a"), HumanMessage("hello", id="a")]
    assert await archive.add_messages("t", twice) == ["a"]
    assert await archive.add_messages("t", [HumanMessage("hello", id="a", name="Ada")]) == []
    assert len(await archive.messages("t")) == 1


CALL = {"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (HumanMessage("hello", id="a"), HumanMessage("goodbye", id="a")),
        (HumanMessage("hello", id="a"), AIMessage("hello", id="a")),
        (HumanMessage("hello", id="a"), HumanMessage([{"type": "text", "text": "hello"}, {"type": "x"}], id="a")),
        (AIMessage("", id="a", tool_calls=[CALL]), AIMessage("", id="a", tool_calls=[{**CALL, "args": {"x": 2}}])),
    ],
)
async def test_a_known_id_with_another_content_is_refused_and_nothing_of_the_call_is_kept(
    database: Database, archive: Archive, first: AnyMessage, second: AnyMessage
) -> None:
    for both in ([first], [HumanMessage("new", id="b"), second]), ([], [HumanMessage("new", id="b"), first, second]):
        name = f"t{len(both[0])}"
        await archive.add_messages(name, both[0])
        with pytest.raises(InputError, match="Message 'a' is in this thread already with another content"):
            await archive.add_messages(name, both[1])
        assert [m.message for m in await archive.messages(name)] == both[0]
    assert await Archive(UserRows(database, "bob")).add_messages("of-bob", [second]) == ["a"]


async def test_a_message_without_an_id_is_refused(archive: Archive) -> None:
    with pytest.raises(InputError, match="without an id cannot be archived"):
        await archive.add_messages("t", [HumanMessage("hello")])


async def test_an_edited_message_stands_in_its_place_and_what_it_was_has_left(
    graph: CompiledConversation, reopen: Callable[..., open_graph]
) -> None:
    """What was said is never lost: the earlier text, and the reply to it, are kept as having left."""
    texts = ["I live in Oslo.", "I live in Rome.", "I live in Bern."]
    changed: list[Any] = [HumanMessage(texts[1], id="mine"), {"role": "user", "content": texts[2], "id": "mine"}]
    await say(graph, {"messages": [HumanMessage(texts[0], id="mine")]})
    for text, message in zip(texts[1:], changed, strict=True):
        state = await say(graph, {"messages": [message]})
        assert [m.content for m in state["messages"]] == [text, f"You said: {text}"]
        assert state["messages"][0].id == "mine"
        assert state["after_reply"].error is None
    state = await say(graph, "Still there?")
    assert [m.content for m in state["messages"]][2:] == ["Still there?", "You said: Still there?"]
    archive = reopen().resources.of_user("ada").archive
    whole = await archive.messages("t1")
    assert [m.text for m in whole if m.left_at is None] == [m.content for m in state["messages"]]
    left = [(m.text, m.role) for m in whole if m.left_at is not None]
    assert sorted(left) == sorted([
        ("I live in Oslo.", "user"), ("You said: I live in Oslo.", "assistant"),
        ("I live in Rome.", "user"), ("You said: I live in Rome.", "assistant"),
    ])  # fmt: skip
    assert [m.text for m in await archive.page("t1")] == [m.content for m in state["messages"]]
    assert len(await archive.page("t1", with_left=True)) == len(whole) == 8


@pytest.mark.parametrize("profile", ["multi_strategy", "archive", "layered"])
async def test_a_question_that_is_edited_after_it_was_summarized_is_asked_and_nothing_after_it_is_told(
    settings: Settings, embeddings: Embeddings, profile: str
) -> None:
    model = EchoModel(prompts=[])
    async with open_graph(settings.but(profile=profile, facts=False), model=model, embeddings=embeddings) as graph:
        for n in range(14):
            text = f"Remark {n} about the garden and its roses number {n}."
            await say(graph, {"messages": [HumanMessage(text, id=f"q{n}")]})
        archive = graph.resources.of_user("ada").archive  # type: ignore[attr-defined]
        before = [message.text for message in await archive.page("t1")]
        assert not next(message for message in await archive.page("t1") if message.id == "q4").active
        state = await say(graph, {"messages": [HumanMessage("Rather tell me of zebras.", id="q4")]})
        prompt = "\n".join(message.text for message in model.prompts[-1])
        assert model.prompts[-1][-1].text.endswith("Rather tell me of zebras.")
        assert "number 3" in prompt
        assert not [n for n in range(4, 14) if f"Remark {n} " in prompt or f"number {n}." in prompt]
        assert [m.text for m in state["messages"]][:8] == before[:8]
        assert [m.text for m in state["messages"]][8:] == ["Rather tell me of zebras.", state["messages"][-1].text]
        assert (await examine(graph, "ada", "t1"))[0].findings == ()
        await say(graph, "And on.")
        assert (await examine(graph, "ada", "t1"))[0].findings == ()
        assert [m.text for m in await archive.page("t1")][:8] == before[:8]


async def test_a_history_that_goes_on_otherwise_is_told_without_what_it_replaces(
    settings: Settings, embeddings: Embeddings
) -> None:
    """Clients that send the whole history without ids: a summary of what was replaced is told no longer."""
    model = EchoModel(prompts=[])
    async with open_graph(settings.but(facts=False), model=model, embeddings=embeddings) as graph:
        said: list[Any] = []
        for n in range(6):
            said.append(("user", f"Question {n} about passport X11{n}, please."))
            state = await say(graph, {"messages": list(said)})
            said.append(("assistant", state["messages"][-1].text))
        state = await say(graph, {"messages": [*said[:4], ("user", "Rather tell me a story.")]})
        prompt = "\n".join(message.text for message in model.prompts[-1])
        assert "X110" in prompt
        assert "X111" in prompt
        assert not [n for n in range(2, 6) if f"X11{n}" in prompt]
        assert [m.text for m in state["messages"]][:5] == [*(text for _, text in said[:4]), "Rather tell me a story."]
        assert (await examine(graph, "ada", "t1"))[0].findings == ()


async def test_what_an_edited_message_was_is_not_recalled(graph: CompiledConversation) -> None:
    await say(graph, {"messages": [HumanMessage("My locker is QX-4471.", id="mine")]}, to="old")
    await graph.asettled()  # type: ignore[attr-defined]
    await say(graph, {"messages": [HumanMessage("My locker is ZB-1812.", id="mine")]}, to="old")
    await graph.asettled()  # type: ignore[attr-defined]
    recall = (await say(graph, "Which number does my locker have?", to="new"))["recall"]
    told = [fragment.content for memory in recall.memories for fragment in memory.fragments]
    assert any("ZB-1812" in text for text in told)
    assert not any("QX-4471" in text for text in told)


async def test_a_message_sent_again_is_known_and_a_changed_one_is_an_edit_in_a_sync_turn_too(
    settings: Settings, embeddings: Any
) -> None:
    def talk() -> None:
        with open_graph(settings, model=(model := EchoModel(prompts=[])), embeddings=embeddings) as graph:
            first = graph.invoke({"messages": [HumanMessage("one", id="x")]}, thread())
            assert graph.invoke({"messages": [HumanMessage("one", id="x")]}, thread())["messages"] == first["messages"]
            assert len(model.prompts) == 1
            state = graph.invoke({"messages": [HumanMessage("two", id="x")]}, thread())
            assert [m.content for m in state["messages"]] == ["two", "You said: two"]

    await asyncio.to_thread(talk)


class Stubborn(EchoModel):
    """A model that gives all its replies one id."""

    def _generate(self, messages: list[Any], stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
        result = super()._generate(messages, stop, run_manager, **more)
        result.generations[0].message.id = "always-the-same"
        return result


async def test_replies_that_share_an_id_are_all_kept(reopen: Callable[..., open_graph]) -> None:
    opened = reopen(model=Stubborn(prompts=[]))
    async with opened as graph:
        for text in ("one", "two", "three"):
            state = await say(graph, text)
            assert state["after_reply"].error is None
        texts = [m.text for m in await opened.resources.of_user("ada").archive.messages("t1")]
    assert len(texts) == len(set(texts)) == 6
    assert sorted(text.split()[-1] for text in texts) == ["one", "one", "three", "three", "two", "two"]


class Odd:
    """Something that JSON cannot say."""

    def __str__(self) -> str:
        return "odd"


async def test_what_json_cannot_say_is_kept_as_text(archive: Archive) -> None:
    artifact = {"at": MOMENT, "ratio": float("nan"), "odd": Odd(), "nul": "a\x00b", 3: {1.5}}
    await archive.add_messages("t", [ToolMessage("done", id="a", tool_call_id="c", artifact=artifact)])
    (kept,) = await archive.messages("t")
    assert kept.message.artifact == {
        "at": MOMENT.isoformat(), "ratio": None, "odd": "odd", "nul": "ab", "3": "{1.5}"
    }  # type: ignore[attr-defined]  # fmt: skip


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("2024-03-04T10:00:00", MOMENT),
        ("2024-03-04T10:00:00Z", MOMENT),
        ("2024-03-04T12:00:00+02:00", MOMENT),
        (datetime(2024, 3, 4, 10), MOMENT),
        (datetime(2024, 3, 4, 12, tzinfo=timezone(timedelta(hours=2))), MOMENT),
        (MOMENT.timestamp(), MOMENT),
        ("100,000 years ago", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-14:00", None),
        ("9999-12-31T23:59:59Z", None),
        (1e30, None),
        (True, None),
        ("", None),
        ([], None),
    ],
)
async def test_naive_and_aware_times_are_utc_and_impossible_ones_are_now(
    archive: Archive, stamp: Any, expected: datetime | None
) -> None:
    """Reports graphiti #988 (naive against aware), hindsight #3217 ("100,000 years ago")."""
    message = HumanMessage("hello", id="a", additional_kwargs={"created_at": stamp})
    await archive.add_messages("t", [message])
    (kept,) = await archive.messages("t")
    assert kept.created_at.utcoffset() == timedelta(0)
    if expected is None:
        assert abs(kept.created_at - datetime.now(UTC)) < timedelta(hours=1)
    else:
        assert kept.created_at == said_at(message) == expected


async def test_a_summary_is_traced_to_its_raw_messages_through_every_level(
    database: Database, archive: Archive
) -> None:
    await archive.add_messages("t", [HumanMessage(f"{n}", id=f"m{n}") for n in range(8)])
    made = [
        ("a", 1, ("m0", "m1")), ("b", 1, ("m2", "m3")), ("c", 2, ("a", "b")), ("d", 1, ("m4", "gone")),
        ("e", 0, ("c", "d")), ("f", 0, ("e", "m5", "f")),
    ]  # fmt: skip
    for id_, level, ids in made:
        await archive.add_summary("t", Summary(id=id_, content=id_, level=level, source_ids=ids))
    tree = await archive.sources("t", "f")
    assert tree is not None
    assert [m.id for m in tree.messages()] == ["m0", "m1", "m2", "m3", "m4", "m5"]
    assert tree.missing == ("f",)
    (below, raw) = tree.sources
    assert raw.text == "5"  # type: ignore[union-attr]
    assert [part.summary.id for part in below.sources] == ["c", "d"]  # type: ignore[union-attr]
    assert below.sources[1].missing == ("gone",)  # type: ignore[union-attr]
    assert await Archive(UserRows(database, "bob")).sources("t", "f") is None
    assert await archive.sources("elsewhere", "f") is None
