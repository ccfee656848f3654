"""Runs, threads and streams through `langgraph_sdk` for Python, beyond what a chat page does."""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

import pytest
from clients.chat import Shown, Talk, state_messages
from clients.dev_server import BIN, CONTROL, GRAPH
from clients.fake_openai import CANARY, SLOWLY, FakeOpenAI
from clients.promises import notes
from clients.python_sdk import SdkChat
from langgraph_sdk.errors import NotFoundError

pytestmark = pytest.mark.clients


@pytest.fixture
def talk(url: str, model: FakeOpenAI) -> Talk:
    """A conversation that has not begun."""
    return Talk(SdkChat(url), model)


@pytest.fixture
def client(talk: Talk) -> Any:
    """The client of that conversation."""
    return talk.chat.client  # type: ignore[attr-defined]


def question(text: str) -> dict[str, Any]:
    """The input of a run."""
    return {"messages": [{"role": "user", "content": text}]}


def wait(talk: Talk, client: Any, text: str) -> Any:
    """A turn with `runs.wait`; gives the output."""
    output = client.runs.wait(talk.chat.thread_id(), GRAPH, input=question(text))
    talk.turns.append(talk.newest(text))
    return output


def test_the_output_of_a_run_is_the_whole_conversation_and_nothing_else(talk: Talk, client: Any) -> None:
    talk.say(*notes(6))
    output = wait(talk, client, "And one about a fern.")
    assert list(output) == ["messages"]
    assert state_messages(output["messages"]) == talk.expected
    alone = client.runs.wait(None, GRAPH, input=question("Without a thread."))
    assert list(alone) == ["messages"]
    assert state_messages(alone["messages"])[-1] == Shown("assistant", talk.newest("Without a thread.")[1])


def test_the_state_holds_types_ids_and_no_message_twice(talk: Talk, client: Any) -> None:
    talk.say(*notes(6))
    messages = client.threads.get_state(talk.chat.thread_id())["values"]["messages"]
    assert [message["type"] for message in messages] == ["human", "ai"] * 6
    assert len({message["id"] for message in messages}) == 12
    assert not [message for message in messages if message["name"]]


def test_a_client_may_send_all_that_was_said_with_the_new_question(talk: Talk, client: Any) -> None:
    """What has the id of a message that stands is that message, by the semantics of LangGraph."""
    talk.say(*notes(5))
    messages = client.threads.get_state(talk.chat.thread_id())["values"]["messages"]
    new = {"type": "human", "content": "And one about a fern."}
    client.runs.wait(talk.chat.thread_id(), GRAPH, input={"messages": [*messages, new]})
    talk.turns.append(talk.newest("And one about a fern."))
    assert talk.chat.shown() == talk.expected


@pytest.mark.parametrize("mode", ["values", "messages-tuple", "updates", "custom"])
def test_no_stream_shows_a_summary(talk: Talk, client: Any, mode: str) -> None:
    talk.say(*notes(2))
    summaries = talk.model.summaries
    for text in [f"And one about a {plant}." for plant in ("fern", "moss", "reed", "lily")]:
        parts = list(client.runs.stream(talk.chat.thread_id(), GRAPH, input=question(text), stream_mode=mode))
        talk.turns.append(talk.newest(text))
        assert "error" not in [part.event for part in parts]
        if mode == "values":
            assert state_messages(parts[-1].data["messages"]) == talk.expected
        if mode == "messages-tuple":
            tokens = [part.data[0] for part in parts if part.event == "messages"]
            assert "".join(token["content"] for token in tokens) == talk.turns[-1][1]
            assert len({token["id"] for token in tokens}) == 1
        assert CANARY not in json.dumps([drawn(mode, part.data) for part in parts if part.event != "metadata"])
    assert talk.model.summaries > summaries


def drawn(mode: str, data: Any) -> Any:
    """What a client draws of a part of a stream."""
    if mode == "values":
        return data.get("messages")
    if mode == "updates":
        return [update.get("messages") for update in data.values() if isinstance(update, dict)]
    return data


def test_a_run_can_be_joined(talk: Talk, client: Any) -> None:
    talk.say(*notes(3))
    thread = talk.chat.thread_id()
    run = client.runs.create(thread, GRAPH, input=question("And one about a fern."))
    output = client.runs.join(thread, run["run_id"])
    talk.turns.append(talk.newest("And one about a fern."))
    assert list(output) == ["messages"]
    assert state_messages(output["messages"]) == talk.expected
    text = f"Tell me {SLOWLY} about a moss."
    run = client.runs.create(thread, GRAPH, input=question(text), stream_mode=["messages-tuple", "values"])
    parts = list(client.runs.join_stream(thread, run["run_id"], stream_mode=["values"]))
    talk.turns.append(talk.newest(text))
    assert state_messages([part for part in parts if part.event == "values"][-1].data["messages"]) == talk.expected
    assert talk.chat.shown() == talk.expected


def test_a_cancelled_run_leaves_the_model_and_the_thread(talk: Talk, client: Any) -> None:
    talk.say(*notes(2))
    broken_off = talk.model.broken_off
    talk.chat.say_and_cancel(f"Tell me {SLOWLY} about a palm.")
    (run, *_) = client.runs.list(talk.chat.thread_id())
    assert run["status"] == "interrupted"
    end = time.monotonic() + 5
    while talk.model.broken_off == broken_off:
        assert time.monotonic() < end, "the request to the model goes on"
        time.sleep(0.1)
    assert client.threads.get(talk.chat.thread_id())["status"] in ("idle", "interrupted")


def test_the_history_has_at_most_three_states_a_turn(talk: Talk, client: Any) -> None:
    """Each state's messages are a beginning of the conversation, without a summary, and the newest has all."""
    known = 0
    for text in notes(7):
        talk.say(text)
        history = client.threads.get_history(talk.chat.thread_id(), limit=200)
        assert 1 <= len(history) - known <= 3
        known = len(history)
    for state in history:
        messages = state_messages(state["values"].get("messages", []))
        assert messages == talk.expected[: len(messages)]
    assert state_messages(history[0]["values"]["messages"]) == talk.expected
    assert not history[0]["next"]


def test_a_copy_goes_on_by_itself(talk: Talk, client: Any, url: str) -> None:
    talk.say(*notes(5))
    copy = Talk(SdkChat(url), talk.model)
    copy.chat.open(client.threads.copy(talk.chat.thread_id())["thread_id"])
    copy.turns = list(talk.turns)
    assert copy.chat.shown() == copy.expected
    copy.say("And one about a fern.", "And one about a moss.")
    talk.say("And one about a reed.")
    assert copy.chat.shown() == copy.expected
    assert talk.chat.shown() == talk.expected


@pytest.mark.skipif(CONTROL, reason="the archive is this repository's")
def test_the_archive_of_a_copy_is_whole(talk: Talk, client: Any, served_environment: dict[str, str]) -> None:
    """The terminal shows all that was said before the copy and since, and finds nothing wrong."""
    talk.say(*notes(5))
    talk.chat.open(client.threads.copy(talk.chat.thread_id())["thread_id"])
    talk.say("And one about a fern.", "And one about a moss.")
    shown = terminal(served_environment, "history", talk.chat.thread_id())
    assert [text for _, text in talk.expected if text not in shown] == []
    assert "nothing is wrong" in terminal(served_environment, "doctor", talk.chat.thread_id())


def terminal(environment: dict[str, str], *arguments: str) -> str:
    """What a command prints, on one line."""
    done = subprocess.run(
        [str(BIN / "everthread"), *arguments], env={**environment, "COLUMNS": "500"}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    return " ".join(done.stdout.split())


def test_a_deleted_thread_is_forgotten(talk: Talk, client: Any, url: str) -> None:
    talk.say("My PIN for the safe is 4711 and my sister is called Olga.", "My boat is called Lorelei.")
    client.threads.delete(talk.chat.thread_id())
    with pytest.raises(NotFoundError):
        client.threads.get_state(talk.chat.thread_id())
    other = Talk(SdkChat(url), talk.model)
    other.say("What is my PIN for the safe?", "What is my sister called?")
    assert "4711" not in json.dumps(talk.model.prompts[-1]) + json.dumps(talk.model.prompts[-2])
    assert "Olga" not in json.dumps(talk.model.prompts[-1])


def test_a_refused_message_does_no_harm(talk: Talk, client: Any) -> None:
    """The error says what was wrong, and the thread goes on; the message may stand, as what was said."""
    talk.say(*notes(2))
    parts = list(client.runs.stream(talk.chat.thread_id(), GRAPH, input=question(" ")))
    assert "empty" in str([part.data for part in parts if part.event == "error"])
    if not CONTROL:
        talk.say("And one about a fern.")
        assert [shown for shown in talk.chat.shown() if shown.text.strip()] == talk.expected
