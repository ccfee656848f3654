"""Exports of other products: every visible message, in its order, at its time, once."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tracemalloc
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from command import EVERTHREAD, run_process
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict
from test_cli import run

from everthread import InputError, Settings, open_memory
from everthread.maintenance.foreign import read
from everthread.maintenance.foreign.convert import converted
from everthread.maintenance.foreign.said import ExportedMessage, ExportedNode, on_branches
from everthread.maintenance.transfer_format import check_file, read_body
from everthread.maintenance.transfer_lines import MessageLine
from everthread.text.moments import moment

NINE = "2024-05-01T09:00:00+00:00"
NINE_SECONDS = 1714554000.0


def chatgpt() -> list[dict[str, Any]]:
    def node(id_: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
        content = {"content_type": more.pop("kind", "text"), "parts": [text]}
        message = {"author": {"role": role}, "content": content, "create_time": NINE_SECONDS, "recipient": "all"}
        return {"id": id_, "parent": parent, "children": [], "message": {**message, **more}}

    nodes = [
        {"id": "root", "parent": None, "children": [], "message": None},
        node("sys", "root", "system", ""),
        node("q1", "sys", "user", "Plan a trip to Rome"),
        node("a1", "q1", "assistant", "Three days in Rome."),
        node("q2", "sys", "user", "Plan a trip to Vienna"),
        node("call", "q2", "assistant", "search('Vienna')", recipient="browser"),
        node("think", "call", "assistant", "hm", kind="thoughts"),
        node("out", "think", "tool", "results"),
        node("a2", "out", "assistant", "Four days in Vienna.\u2028Enjoy."),
        node("hidden", "a2", "user", "x", metadata={"is_visually_hidden_from_conversation": True}),
    ]
    trip = {
        "title": "Trip", "create_time": NINE_SECONDS, "conversation_id": "c1", "current_node": "hidden",
        "mapping": {node["id"]: node for node in nodes},
    }  # fmt: skip
    return [trip, {**trip, "conversation_id": "c2", "title": "Trip again"}]


CLAUDE = [{
    "uuid": "c", "name": "Trip", "created_at": NINE, "chat_messages": [
        {"uuid": "1", "sender": "human", "text": "Plan a trip", "created_at": NINE,
         "attachments": [{"file_name": "tickets.pdf", "extracted_content": "..."}]},
        {"uuid": "2", "sender": "assistant", "text": "", "created_at": NINE,
         "content": [{"type": "text", "text": "Three days."}, {"type": "tool_use", "name": "x"}]},
    ],
}]  # fmt: skip
OPEN_WEBUI = [{
    "id": "w", "title": "Trip", "created_at": NINE_SECONDS, "chat": {"title": "Trip", "history": {
        "currentId": "c", "messages": {
            "a": {"id": "a", "parentId": None, "role": "user", "content": "Plan a trip", "timestamp": NINE_SECONDS},
            "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "Two days.", "timestamp": NINE_SECONDS},
            "c": {"id": "c", "parentId": "a", "role": "assistant", "content": "Three days.", "timestamp": NINE_SECONDS},
        }}},
}]  # fmt: skip
LIBRECHAT = {
    "conversationId": "l", "title": "Trip", "messages": [
        {"messageId": "1", "parentMessageId": "0000", "isCreatedByUser": True, "text": "Plan a trip", "createdAt": NINE,
         "children": [{"messageId": "2", "parentMessageId": "1", "isCreatedByUser": False, "createdAt": NINE,
                       "text": "", "content": [{"type": "text", "text": {"value": "Three days."}}]}]},
    ],
}  # fmt: skip
GEMINI = [
    {"header": "Gemini Apps", "title": "Prompted Thanks", "time": "2024-05-01T09:05:00.000Z",
     "safeHtmlItem": [{"html": "<p>You&#39;re welcome.</p>"}]},
    {"header": "Gemini Apps", "title": "Prompted Plan a trip", "time": "2024-05-01T09:00:00.000Z",
     "safeHtmlItem": [{"html": "<p>Three <b>days</b>.</p>"}]},
]  # fmt: skip
SILLY_TAVERN = [
    {"user_name": "Ada", "character_name": "Seraphina", "create_date": "2024-05-01@09h00m00s"},
    {"name": "Ada", "is_user": True, "is_system": False, "mes": "Plan a trip", "send_date": "May 1, 2024 9:00am"},
    {"name": "Seraphina", "is_user": False, "mes": "Three days.", "send_date": "2024-05-01@09h00m05s"},
]
LANGGRAPH = {
    "values": {"messages": [
        {"type": "human", "content": [{"type": "text", "text": "Plan a trip"}], "id": "1"},
        {"type": "ai", "content": "", "id": "0", "tool_calls": [{"name": "look", "args": {}, "id": "c"}]},
        {"type": "tool", "content": "found", "id": "t", "tool_call_id": "c"},
        {"type": "ai", "content": "Three days.", "id": "2"},
    ]},
    "next": [], "tasks": [], "metadata": {}, "checkpoint": {"thread_id": "t1", "checkpoint_id": "c1"},
    "created_at": NINE, "parent_checkpoint": None, "interrupts": [],
}  # fmt: skip
BLOCKS = [{"id": "block-0", "label": "human", "value": "First name: Ada"}, {"id": "block-1", "label": "persona"}]
LETTA = {
    "blocks": BLOCKS, "agents": [{"name": "Sam", "id": "agent-0", "block_ids": ["block-0", "block-1"], "messages": [
        {"id": "message-0", "role": "system", "content": [{"type": "text", "text": "You are"}], "created_at": NINE},
        {"id": "message-1", "role": "user", "content": [{"type": "text", "text": "Plan a trip"}], "created_at": NINE},
        {"id": "message-2", "role": "assistant", "created_at": NINE, "content": [
            {"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Three days."}]},
    ]}],
}  # fmt: skip
LETTA_BEFORE = {
    "name": "Sam", "agent_type": "memgpt_agent", "core_memory": BLOCKS, "messages": [
        {"role": "user", "created_at": NINE, "content": json.dumps({"type": "login", "time": "now"})},
        {"role": "user", "created_at": NINE, "content": json.dumps({"type": "user_message", "message": "Plan a trip"})},
        {"role": "assistant", "created_at": NINE, "content": [{"type": "text", "text": "A thought"}], "tool_calls": [
            {"function": {"name": "send_message", "arguments": json.dumps({"message": "Three days."})}}]},
        {"role": "tool", "created_at": NINE, "content": "sent"},
    ],
}  # fmt: skip
MEM0 = {"results": [
    {"id": "b", "memory": "I live in Oslo.", "user_id": "ada", "created_at": NINE, "updated_at": "2024-06-01T09:00Z"},
    {"id": "a", "memory": "Plans a trip to Vienna", "user_id": "ada", "created_at": NINE, "updated_at": None},
]}  # fmt: skip
DATED = ("2024-05-01", "May 1, 2024", str(NINE_SECONDS))
SAID = [HumanMessage("Plan a trip", id="1"), AIMessage("Three days.", id="2")]
TRIP = [("user", "Plan a trip"), ("assistant", "Three days.")]


def lines(file: Path) -> list[MessageLine]:
    """The messages of an export, as they would be imported; the whole file is checked first."""
    with converted(file, "ada") as found:
        assert check_file(found.file).header.counts.messages == found.messages
        return [line for _, line in read_body(found.file) if isinstance(line, MessageLine)]


def written(folder: Path, data: Any, name: str = "export.json") -> Path:
    file = folder / name
    file.write_text(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return file


def shown(found: list[MessageLine]) -> list[tuple[str, str]]:
    return [(line.role, line.text()) for line in found if line.left_at is None]


@pytest.mark.parametrize(
    ("product", "data", "expected"),
    [
        ("Claude", CLAUDE, [("user", "Plan a trip\n[attached: tickets.pdf]"), TRIP[1]]),
        ("Open WebUI", OPEN_WEBUI, TRIP),
        ("Open WebUI", OPEN_WEBUI[0], TRIP),
        ("LibreChat", LIBRECHAT, TRIP),
        ("Gemini", GEMINI, [*TRIP, ("user", "Thanks"), ("assistant", "You're welcome.")]),
        ("SillyTavern", "\n".join(map(json.dumps, SILLY_TAVERN)), TRIP),
        ("LangChain", messages_to_dict(SAID), TRIP),
        ("LangChain", [dumpd(message) for message in SAID], TRIP),
        (
            "LangChain",
            [{"role": "user", "content": "Plan a trip"}, {"role": "assistant", "content": "Three days."}],
            TRIP,
        ),
        ("LangChain", {"messages": [message.model_dump() for message in SAID]}, TRIP),
        ("LangGraph", {"values": {"messages": messages_to_dict(SAID)}, "config": {}}, TRIP),
        ("LangGraph", LANGGRAPH, TRIP),
        ("LangGraph", [LANGGRAPH], TRIP),
        ("Letta", LETTA, [*TRIP, ("user", "First name: Ada")]),
        ("Letta", LETTA_BEFORE, [*TRIP, ("user", "First name: Ada")]),
        ("mem0", MEM0, [("user", "Plans a trip to Vienna"), ("user", "I live in Oslo.")]),
        ("mem0", MEM0["results"], [("user", "Plans a trip to Vienna"), ("user", "I live in Oslo.")]),
    ],
)
def test_all_visible_messages_come_in_their_order(
    tmp_path: Path, product: str, data: Any, expected: list[tuple[str, str]]
) -> None:
    file = written(tmp_path, data)
    with converted(file, "ada") as found:
        assert (found.product, found.conversations) == (product, 1)
        assert found.undated == (0 if any(name in json.dumps(data) for name in DATED) else 2)
    read = lines(file)
    assert shown(read) == expected
    if any(name in json.dumps(data) for name in DATED):
        assert read[0].created_at == datetime(2024, 5, 1, 9, tzinfo=UTC)
    assert [line.id for line in lines(file)] == [line.id for line in read]


def test_of_chatgpt_comes_the_branch_that_is_shown_and_what_was_left(tmp_path: Path) -> None:
    found = lines(written(tmp_path, chatgpt()))
    vienna = [("user", "Plan a trip to Vienna"), ("assistant", "Four days in Vienna.\u2028Enjoy.")]
    assert shown(found) == vienna * 2
    left = [line.text() for line in found if line.left_at is not None]
    assert left == ["Plan a trip to Rome", "Three days in Rome."] * 2
    # The same messages in two conversations are four, not two.
    assert len({line.id for line in found}) == len(found) == 8


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-16-le-bom"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    text = json.dumps(CLAUDE, ensure_ascii=False).replace("Plan a trip", "Planen für Zürich 日本")
    data = b"\xff\xfe" + text.encode("utf-16-le") if encoding == "utf-16-le-bom" else text.encode(encoding)
    (tmp_path / "export.json").write_bytes(data)
    assert lines(tmp_path / "export.json")[0].text().startswith("Planen für Zürich 日本")


def test_line_ends_of_windows_and_a_zip_as_it_was_downloaded(tmp_path: Path) -> None:
    file = written(tmp_path, "\r\n".join(map(json.dumps, SILLY_TAVERN)) + "\r\n", "chat.jsonl")
    assert shown(lines(file)) == TRIP
    with zipfile.ZipFile(tmp_path / "download.zip", "w") as packed:
        packed.writestr("export/conversations.json", json.dumps(chatgpt()))
        packed.writestr("export/user.json", "{}")
    assert len(lines(tmp_path / "download.zip")) == 8


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            "Müller hieß früher Groß, und das weiß er noch ganz genau, öfter als ihm lieb ist".encode("latin-1"),
            r"not in UTF-8 \(it looks like",
        ),
        (b'[{"mapping": {"a": ', "no JSON"),
        (b'{"hello": 1}', "no export that is known"),
        (b"", "no export that is known"),
        (b"just text", "no export that is known"),
        (b'[{"uuid": "c", "chat_messages": [{"sender": "human", "content": 7}]}]', "Conversation 1 of"),
    ],
)
def test_what_is_no_export_is_refused_in_one_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "export.json").write_bytes(content)
    with pytest.raises(InputError, match=words), converted(tmp_path / "export.json", "ada"):
        pass
    with pytest.raises(InputError, match="cannot be read"), converted(tmp_path / "nowhere.json", "ada"):
        pass


@pytest.mark.parametrize(
    "value",
    [
        NINE_SECONDS, NINE_SECONDS * 1000, "1714554000", "1714554000000", NINE, "2024-05-01T09:00:00Z",
        "2024-05-01 09:00:00", "Wed, 01 May 2024 09:00:00 +0000", "Wed, 01 May 2024 11:00:00 +0200",
        "May 1, 2024 9:00am", "05/01/2024 09:00:00", "5/1/2024, 9:00:00 AM", "2024-05-01@09h00m00s",
        "2024-05-01 @09h 00m 00s 000ms", "May 1, 2024, 9:00:00\u202fAM", "05/01/2024 09:00", "5/1/2024, 9:00 AM",
        NINE_SECONDS * 1_000_000, "1714554000000000000", {"$date": "2024-05-01T09:00:00Z"},
        {"$date": {"$numberLong": "1714554000000"}}, "2024/05/01 09:00:00",
    ],
)  # fmt: skip
def test_times_in_every_usual_form(value: Any) -> None:
    assert moment(value) == datetime(2024, 5, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize("value", [None, "", "yesterday", True, float("nan"), 1e300, [], {}])
def test_what_is_no_time_is_none(value: Any) -> None:
    assert moment(value) is None


@given(st.data())
def test_a_tree_gives_every_message_once_and_the_shown_branch_in_order(data: st.DataObject) -> None:
    nodes: dict[str, ExportedNode] = {}
    for number in range(data.draw(st.integers(1, 12))):
        parent = data.draw(st.sampled_from([None, *nodes])) if nodes else None
        nodes[str(number)] = ExportedNode(parent, ExportedMessage(str(number), "user", "x", None))
    current = data.draw(st.sampled_from([*nodes, "gone"]))
    found = on_branches(nodes, current)
    assert sorted(said.id for said in found) == sorted(nodes)
    way = [current if current in nodes else list(nodes)[-1]]
    while (parent := nodes[way[0]].parent) is not None:
        way.insert(0, parent)
    assert [said.id for said in found if not said.left] == way


def test_the_states_of_a_thread_are_one_conversation_each_message_when_it_first_stood_there(tmp_path: Path) -> None:
    def state(hour: int, *said: str) -> dict[str, Any]:
        messages = [{"type": "ai" if id_[0] == "a" else "human", "content": id_, "id": id_} for id_ in said]
        at = {"created_at": f"2024-05-01T{hour:02}:00:00Z", "checkpoint": {"thread_id": "t1"}}
        return {"values": {"messages": messages}, **at}

    history = [
        state(12, "q2", "a2", "q4"),
        state(11, "q2", "a2", "q3", "a3"),
        state(10, "q1", "a1", "q2", "a2"),
        state(9, "q1"),
    ]
    for name, whole in {"newest-first": history, "oldest-first": history[::-1]}.items():
        found = lines(written(tmp_path, whole, f"{name}.json"))
        assert [(line.text(), line.created_at.hour, line.left_at is None) for line in found] == [
            ("q1", 9, True), ("a1", 10, True), ("q2", 10, True), ("a2", 10, True), ("q3", 11, False), ("a3", 11, False),
            ("q4", 12, True),
        ]  # fmt: skip
    checkpoint = {"ts": NINE, "channel_values": history[1]["values"]}
    config = {"configurable": {"thread_id": "t1"}}
    (first, *_) = lines(written(tmp_path, [{"config": config, "checkpoint": checkpoint, "metadata": {}}], "saver.json"))
    assert (first.text(), first.created_at.hour) == ("q2", 9)


def test_a_message_of_langchain_is_dated_by_what_stands_beside_it(tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": "Plan a trip", "createdAt": NINE},
        AIMessage("Three days.", response_metadata={"created_at": NINE}).model_dump(),
        {"type": "human", "data": {"content": "Thanks", "additional_kwargs": {"timestamp": NINE_SECONDS}}},
    ]
    assert {line.created_at for line in lines(written(tmp_path, {"messages": said}))} == {moment(NINE)}


def test_memories_of_mem0_are_known_and_those_of_two_users_are_refused(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    file = written(tmp_path, MEM0)
    assert "2 messages, 2 facts" in run(environment, "import", str(file), "--dry-run").stdout
    assert "2 facts and 0 pins, 2 of them new" in run(environment, "import", str(file)).stdout
    known = run(environment, "facts", "--json").stdout
    assert "I live in Oslo" in known
    assert "Plans a trip to Vienna" in known
    assert "2 facts and 0 pins, 0 of them new" in run(environment, "import", str(file)).stdout
    others = written(tmp_path, [*MEM0["results"], {**MEM0["results"][0], "user_id": "bob"}])
    with pytest.raises(InputError, match="about 2 users"), converted(others, "ada"):
        pass


def test_two_files_of_one_name_whose_messages_have_no_ids_are_two_conversations(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    for number, text in enumerate(["Plan a trip", "Bake a cake"]):
        (tmp_path / str(number)).mkdir()
        said = [{"role": "user", "content": text}, {"role": "assistant", "content": "Gladly."}]
        file = written(tmp_path / str(number), said)
        assert "2 messages, 2 of them new" in run(environment, "import", str(file), "--no-embed").stdout
    assert "2 messages, 0 of them new" in run(environment, "import", str(file), "--no-embed").stdout


def test_conversations_without_ids_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    ends = ["A red one.", "A blue one.", "A red one."]
    talks = [
        {"messages": [{"role": "user", "content": text} for text in ("Hello.", "Which one?", end)]} for end in ends
    ]
    file = written(tmp_path, "\n".join(map(json.dumps, talks)), "talks.jsonl")
    found = lines(file)
    assert [line.text() for line in found] == [text for end in ends for text in ("Hello.", "Which one?", end)]
    assert len({line.thread for line in found}) == 3
    assert len({line.id for line in found}) == 9
    assert [line.id for line in lines(file)] == [line.id for line in found]


def test_a_large_export_of_chatgpt_comes_in_numbered_files(tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w") as packed:
        for number, conversation in enumerate(chatgpt()):
            packed.writestr(f"conversations-{number:03}.json", json.dumps([conversation]))
        packed.writestr("user.json", "{}")
    assert [line.text() for line in lines(file)] == [line.text() for line in lines(written(tmp_path, chatgpt()))]


def test_what_the_assistant_said_is_no_fact_about_the_user_of_mem0(tmp_path: Path) -> None:
    said = {**MEM0["results"][0], "id": "c", "memory": "Recommended a bakery in Oslo"}
    file = written(tmp_path, [{**said, "attributed_to": "assistant"}, {**said, "id": "d", "role": "assistant"}])
    with converted(file, "ada") as found:
        assert (found.messages, found.facts) == (2, 0)
    assert {line.role for line in lines(file)} == {"assistant"}


def test_an_import_is_found_and_twice_is_once(tmp_path: Path, environment: dict[str, str]) -> None:
    history = written(tmp_path, chatgpt())
    assert (
        "2 conversations from 2024-05-01 to 2024-05-01, 8 messages, 4 of them on branches that were left"
        in run(environment, "import", str(history), "--dry-run").stdout
    )
    assert "Trip" not in run(environment, "threads").stdout
    assert "8 messages, 8 of them new" in run(environment, "import", str(history)).stdout
    assert "8 messages, 0 of them new" in run(environment, "import", str(history)).stdout
    assert "Trip again" in run(environment, "threads").stdout


def test_what_was_said_of_oneself_in_an_import_is_known(tmp_path: Path, environment: dict[str, str]) -> None:
    (trip, _) = chatgpt()
    trip["mapping"]["q2"]["message"]["content"]["parts"] = ["I live in Bergen. Plan a trip to Vienna"]
    assert "1 fact read in what was said" in run(environment, "import", str(written(tmp_path, [trip]))).stdout
    assert "I live in Bergen" in run(environment, "facts", "--json").stdout


async def test_what_was_said_of_oneself_is_known_at_once_where_a_memory_imports_it(
    tmp_path: Path, settings: Settings
) -> None:
    said = [{"role": "user", "content": "I live in Bergen.", "created_at": NINE}]
    async with open_memory(settings, user_id="ada", embeddings=DeterministicFakeEmbedding(size=8)) as memory:
        assert (await memory.aimport_(written(tmp_path, said))).messages == 1
        assert [fact.value for fact in await memory.afacts()] == ["bergen"]
        assert (await memory.aimport_(written(tmp_path, MEM0))).facts == 2


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize("points", [(0, 1, 600), (1_100, 2_400)])
async def test_an_import_that_is_killed_at_any_point_goes_on(
    tmp_path: Path, environment: dict[str, str], settings: Settings, embeddings: Embeddings, points: tuple[int, ...]
) -> None:
    talks = [
        {"uuid": f"c{c}", "name": f"Talk {c}", "created_at": NINE, "chat_messages": [
            {"uuid": f"{c}-{m}", "sender": ("human", "assistant")[m % 2], "created_at": NINE,
             "text": f"I have {m} goats in valley {c}."} for m in range(80)]}
        for c in range(30)
    ]  # fmt: skip
    file = written(tmp_path, talks)
    async with open_memory(settings, user_id="default", embeddings=embeddings) as memory:
        for point in points:
            with subprocess.Popen(
                [EVERTHREAD, "import", str(file)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as process:
                while process.poll() is None and sum(row["messages"] for row in await memory.athreads()) < point:
                    await asyncio.sleep(0.02)
                process.kill()
        done = await asyncio.to_thread(run_process, environment, "import", str(file))
        assert done.returncode == 0, done.stderr
        assert " 0 of them new; 0 summaries" in " ".join(run(environment, "import", str(file)).stdout.split())
        threads = await memory.athreads()
        assert {row["name"] for row in threads} == {talk["name"] for talk in talks}
        for row in threads:
            said = [message.text for message in await memory.ahistory(row["thread_id"], limit=200)]
            assert said == [f"I have {m} goats in valley {str(row['name']).split()[1]}." for m in range(80)]
        assert await memory.user.vectors.embed_pending(timeout=60) == 0


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "many.json"
    (trip, _) = chatgpt()
    with file.open("w") as out:
        out.write("[")
        for number in range(300):
            words = "word " * 2_000
            trip["conversation_id"] = f"c{number}"
            trip["mapping"]["a1"]["message"]["content"]["parts"] = [words]
            out.write(("," if number else "") + json.dumps(trip))
        out.write("]")
    tracemalloc.start()
    try:
        with converted(file, "ada") as found:
            assert found.messages == 1_200
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < file.stat().st_size / 2


BOMBS = {
    "lists": b"[" * 100_000 + b"]" * 100_000,
    "objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "lists in a conversation": b'[{"mapping":' + b"[" * 50_000 + b"]" * 50_000 + b"}]",
    "with quotes": b'[{"a\\\\\\"]":"\\\\","b":' + b"[" * 300 + b"]" * 300 + b"}]",
}


@pytest.mark.parametrize("nested", BOMBS)
def test_a_file_that_is_nested_without_end_is_refused_before_it_is_parsed(tmp_path: Path, nested: str) -> None:
    """The parser takes memory by the square of the depth: 400 kB were enough to have the process killed."""
    (tmp_path / "bomb.json").write_bytes(BOMBS[nested])
    with pytest.raises(InputError, match="nested deeper than 200"), converted(tmp_path / "bomb.json", "ada"):
        pass


@given(st.recursive(st.text('ab"\\[]{}é'), lambda inner: st.lists(inner) | st.dictionaries(st.text('"\\[}'), inner)))
def test_brackets_in_strings_are_no_nesting(value: Any) -> None:
    def depth(part: Any) -> int:
        inner = [*part, *part.values()] if isinstance(part, dict) else part if isinstance(part, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    text, around = json.dumps(value, ensure_ascii=False).encode(), read.MOST_NESTED - depth(value)
    for levels, wanted in ((around, False), (around + 1, True)):
        block, counted = b"[" * levels + text + b"]" * levels, read.Nesting()
        assert any(counted.is_too_deep(block[at : at + 7]) for at in range(0, len(block), 7)) is wanted


def test_a_zip_that_becomes_a_thousand_times_larger_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("conversations.json", b"[" + b" " * 30_000_000 + b"]")
    with (
        pytest.raises(InputError, match="more than 100 times larger unpacked"),
        converted(tmp_path / "bomb.zip", "ada"),
    ):
        pass
