"""`everthread replay`: real conversations, exactly once, even when it is killed in the middle."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import EVERTHREAD, run, run_process
from conversation import say

from everthread import InputError, Settings, open_graph, thread_id
from everthread.cli.conversations import read_conversation, read_exchanges
from everthread.storage.archive import Archive
from everthread.storage.postgres.database import Database
from everthread.storage.user_rows import UserRows

SESSIONS = Path(__file__).parent / "data" / "sessions.json"


def small(count: int) -> list[dict[str, str]]:
    return [
        {"role": ("assistant" if n % 2 else "user"), "content": f"Remark number {n} on the weather."}
        for n in range(count)
    ]


@pytest.mark.parametrize("form", ["json", "jsonl", "object"])
def test_json_jsonl_and_objects_are_read_alike(tmp_path: Path, form: str) -> None:
    records = small(5)
    text = {
        "json": json.dumps(records),
        "jsonl": "\n".join(map(json.dumps, records)),
        "object": json.dumps({"title": "x", "messages": records}),
    }[form]
    file = tmp_path / "chat.json"
    file.write_text(text)
    messages = read_conversation(file, "t")
    assert [message.type for message in messages] == ["human", "ai", "human", "ai", "human"]
    assert [len(group) for group in read_exchanges(messages)] == [2, 2, 1]
    assert [message.id for message in read_conversation(file, "t")] == [message.id for message in messages]


def test_locomo_keeps_speakers_times_and_ids(tmp_path: Path) -> None:
    conversation = {
        "speaker_a": "Ann", "speaker_b": "Bo", "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "later"}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "hi", "blip_caption": "a cat"}],
    }  # fmt: skip
    file = tmp_path / "locomo.json"
    file.write_text(json.dumps([{"sample_id": "c1", "conversation": conversation}]))
    first, second = read_conversation(file, "t")
    assert (first.id, first.type, first.name, first.content) == ("D1:1", "human", "Ann", "hi [shares a photo: a cat]")
    assert first.additional_kwargs["created_at"] == "2023-05-08T13:56:00+00:00"
    assert (second.id, second.type) == ("D2:1", "ai")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("not json", "is neither JSON nor JSONL"),
        ("[]", "holds no conversation"),
        ('{"a": 1}', "holds no conversation"),
        ('[{"role": "wizard", "content": "x"}]', "Message 1 of the file cannot be read"),
        ('[{"id": "a", "messages": []}, {"id": "b", "messages": []}]', "holds the conversations a, b: choose one"),
    ],
)
def test_a_file_that_cannot_be_used_gets_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "chat.json"
    file.write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_conversation(file, "t")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_encodings_ends_of_lines_and_times(tmp_path: Path, encoding: str, ends: str) -> None:
    said = [
        {"role": "user", "content": "Möhren\u2028und Kohl\x85", "timestamp": 1683194400},
        {"role": "assistant", "content": "ok", "send_date": "05/04/2023 10:00:01"},
    ]
    file = tmp_path / "chat.jsonl"
    file.write_bytes(ends.join(json.dumps(one, ensure_ascii=False) for one in said).encode(encoding))
    found = read_conversation(file, "t")
    assert [message.content for message in found] == [one["content"] for one in said]
    assert [message.additional_kwargs["created_at"][:19] for message in found] == [
        "2023-05-04T10:00:00", "2023-05-04T10:00:01",
    ]  # fmt: skip


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_bytes(json.dumps([{"role": "user", "content": "Süße Möhren"}], ensure_ascii=False).encode("cp1252"))
    with pytest.raises(InputError, match="is not in UTF-8"):
        read_conversation(file, "t")


def test_equal_words_at_an_equal_place_of_two_files_are_two_messages_and_a_longer_file_goes_on(tmp_path: Path) -> None:
    def ids(*texts: str) -> list[str | None]:
        file = tmp_path / "chat.json"
        file.write_text(json.dumps([{"role": "user", "content": text} for text in texts]))
        return [message.id for message in read_conversation(file, "t")]

    assert not set(ids("Hello.", "ok")) & set(ids("Good day.", "ok"))
    assert ids("Hello.", "ok", "And now?")[:2] == ids("Hello.", "ok")


async def archived(settings: Settings, name: str) -> list[Any]:
    database = Database(settings)
    try:
        return await Archive(UserRows(database, settings.user_id)).messages(thread_id(name))
    finally:
        await database.close()


@pytest.mark.slow
def test_killed_in_the_middle_and_started_again_every_message_is_there_exactly_once(
    tmp_path: Path, environment: dict[str, str], settings: Settings
) -> None:
    import asyncio

    file = tmp_path / "chat.json"
    file.write_text(json.dumps(small(160)))
    for _ in range(2):
        process = subprocess.Popen(
            [EVERTHREAD, "replay", str(file), "--thread", "r"], env=environment, stdout=subprocess.DEVNULL
        )
        before = len(asyncio.run(archived(settings, "r")))
        deadline = time.monotonic() + 60
        while len(asyncio.run(archived(settings, "r"))) < before + 10 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert 10 <= len(asyncio.run(archived(settings, "r"))) < 160
    done = run_process(environment, "replay", str(file), "--thread", "r")
    assert done.returncode == 0, done.stderr
    texts = [message.text for message in asyncio.run(archived(settings, "r"))]
    assert texts == [record["content"] for record in small(160)]
    assert "0 of them new" in run_process(environment, "replay", str(file), "--thread", "r").stdout


async def test_a_fact_from_an_early_session_reaches_the_context(
    environment: dict[str, str], reopen: Callable[..., open_graph]
) -> None:
    done = run(environment, "replay", str(SESSIONS), "--thread", "real", "--conversation", "shed")
    assert done.returncode == 0, done.stderr
    async with reopen() as graph:
        state = await say(graph, "Why is Nils out of work?", to=thread_id("real"), user="default")
    context = "\n".join(message.text for message in state["context"].messages)
    assert "the cannery closed on Friday" in context
