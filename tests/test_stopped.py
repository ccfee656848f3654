"""A reply that is stopped: what the user has seen is kept and marked, and the next turn goes on."""

from __future__ import annotations

import asyncio
import io
import itertools
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conversation import EchoModel, open_with, say, thread
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from rich.console import Console
from variants import on_storage

from everthread import Settings, open_graph
from everthread.cli.reply import PlainReply
from everthread.cli.session import Session

WORDS = [f"word{n} " for n in range(40)]


class SlowModel(EchoModel):
    """A chat model that streams forty words, and waits for good after the tenth where it is asked about it."""

    at_ten: Any = staticmethod(lambda: None)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: Any = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> Iterator[ChatGenerationChunk]:
        self.prompts.append(messages)
        for n, word in enumerate(WORDS):
            if n == 10 and "slowly" in messages[-1].text:
                time.sleep(0.5)
            chunk = ChatGenerationChunk(message=AIMessageChunk(word))
            if run_manager:
                run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: Any = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.prompts.append(messages)
        for n, word in enumerate(WORDS):
            if n == 10 and "slowly" in messages[-1].text:
                self.at_ten()
                await asyncio.sleep(30)
            chunk = ChatGenerationChunk(message=AIMessageChunk(word))
            if run_manager:
                await run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk


@pytest.fixture(params=["postgres", "sqlite"])
def opened(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> Callable[..., open_graph]:
    stored = on_storage(request.param, settings, tmp_path)

    def again(**values: Any) -> open_graph:
        return open_with(
            stored, **{"model": SlowModel(prompts=[]), "embeddings": DeterministicFakeEmbedding(size=8), **values}
        )

    return again


async def read_until(graph: Any, seen: list[str], words: int | None) -> None:
    """Stream a turn, and leave it after so many words."""
    question = {"messages": [("user", "Tell me slowly.")]}
    async for part, _ in graph.astream(question, thread(), context={"user_id": "ada"}, stream_mode="messages"):
        seen.append(part.text)
        if words is not None and len(seen) >= words:
            break


async def assert_kept(graph: Any, seen: str) -> None:
    """What was seen is the reply, marked, archived and reported; the next turn goes on after it."""
    state = (await graph.aget_state(thread())).values
    assert (await graph.aget_state(thread())).next == ()
    question, reply = state["messages"][-2:]
    assert (question.text, reply.text) == ("Tell me slowly.", seen)
    assert reply.response_metadata["stopped"] is True
    assert state["report"]["stopped"] is True
    archived = await graph.ahistory("ada", "t1")
    assert [message.text for message in archived][-2:] == ["Tell me slowly.", seen]
    assert archived[-1].message.response_metadata["stopped"] is True
    after = await say(graph, "And now?")
    assert [message.type for message in after["messages"]][-4:] == ["human", "ai", "human", "ai"]
    assert after["messages"][-1].text == "You said: And now?"
    assert after["report"]["turn"] == state["report"]["turn"] + 1
    assert after["report"]["stopped"] is False


async def cancelled_after_ten(task: asyncio.Task[None], seen: list[str], *reason: object) -> None:
    """Cancel a turn once ten parts of its reply were seen."""
    async with asyncio.timeout(60):
        while len(seen) < 10:
            await asyncio.sleep(0.01)
    task.cancel(*reason)
    with pytest.raises(asyncio.CancelledError):
        await task


async def assert_kept_when_left(graph: Any, config: Any) -> None:
    """Leave a turn after five parts of its reply: what was shown is kept, those at least."""
    seen: list[str] = []
    question = {"messages": [("user", "Tell me slowly.")]}
    parts = graph.astream(question, config, context={"user_id": "ada"}, stream_mode="messages")
    async for part, _ in parts:
        seen.append(part.text)
        if len(seen) == 5:
            break
    await parts.aclose()
    reply = (await graph.aget_state(thread())).values["messages"][-1].text
    assert reply.startswith("".join(seen))
    await assert_kept(graph, reply)


@pytest.mark.parametrize("turns_before", [0, 1])
async def test_a_cancelled_stream_keeps_what_was_seen(opened: Callable[..., open_graph], turns_before: int) -> None:
    async with opened() as graph:
        for _ in range(turns_before):
            await say(graph, "Hello.")
        seen: list[str] = []
        task = asyncio.create_task(read_until(graph, seen, None))
        await cancelled_after_ten(task, seen)
        assert len(seen) == 10
        await assert_kept(graph, "".join(seen))


class UserRollback(Exception):  # noqa: N818  # as the LangGraph server names it
    """What the LangGraph server cancels a run with that is to be undone."""


async def test_of_a_run_that_is_rolled_back_no_reply_is_kept(opened: Callable[..., open_graph]) -> None:
    """The server deletes the states of such a run afterwards, as if it had never been."""
    async with opened() as graph:
        await say(graph, "Hello.")
        seen: list[str] = []
        task = asyncio.create_task(read_until(graph, seen, None))
        await cancelled_after_ten(task, seen, UserRollback())
        state = (await graph.aget_state(thread())).values
        assert [message.text for message in state["messages"]][2:] == ["Tell me slowly."]
        assert len(await graph.ahistory("ada", "t1")) == 2


async def test_a_run_of_a_server_without_authentication_keeps_what_was_seen(opened: Callable[..., open_graph]) -> None:
    """Found with real servers: such a server puts an empty `user_id` into each run, and the reply was dropped."""
    served = {"configurable": {"thread_id": "t1", "assistant_id": "a", "graph_id": "everthread", "user_id": ""}}
    async with opened() as graph:
        await assert_kept_when_left(graph, served)


async def test_a_client_that_leaves_in_the_middle(opened: Callable[..., open_graph]) -> None:
    async with opened() as graph:
        await assert_kept_when_left(graph, thread())


async def test_an_invoke_that_is_cancelled_keeps_what_the_model_had_streamed_to_a_listener(
    opened: Callable[..., open_graph],
) -> None:
    async with opened() as graph:
        seen: list[str] = []

        async def listen() -> None:
            question = {"messages": [("user", "Tell me slowly.")]}
            events = graph.astream_events(question, thread(), context={"user_id": "ada"}, version="v2")
            async for event in events:
                if event["event"] == "on_chat_model_stream":
                    seen.append(event["data"]["chunk"].text)  # noqa: PERF401  # it is watched as it grows

        task = asyncio.create_task(listen())
        await cancelled_after_ten(task, seen)
        await assert_kept(graph, "".join(WORDS[:10]))


async def test_an_invoke_of_which_nothing_was_shown_leaves_the_question_to_be_answered(
    opened: Callable[..., open_graph],
) -> None:
    begun, go = threading.Event(), threading.Event()

    class Waits(EchoModel):
        def _generate(self, *args: Any, **more: Any) -> Any:
            begun.set()
            go.wait(30)
            return super()._generate(*args, **more)

    model = Waits(prompts=[])
    async with opened(model=model) as graph:
        task = asyncio.create_task(say(graph, "Is anybody there?"))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        state = await graph.aget_state(thread())
        assert [message.text for message in state.values["messages"]] == ["Is anybody there?"]
        after = await say(graph, "Hello?")
        assert [message.type for message in after["messages"]] == ["human", "human", "ai"]
        assert [m.text for m in await graph.ahistory("ada", "t1")][:2] == ["Is anybody there?", "Hello?"]


async def test_a_turn_that_is_stopped_after_its_reply_is_remembered(opened: Callable[..., open_graph]) -> None:
    async with opened() as graph:
        count = itertools.count(1)
        parts = graph.astream(
            {"messages": [("user", "Tell me.")]}, thread(), context={"user_id": "ada"}, stream_mode="messages"
        )
        async for _ in parts:
            if next(count) == len(WORDS):
                break
        await parts.aclose()
        state = (await graph.aget_state(thread())).values
        assert state["messages"][-1].text == "".join(WORDS)
        assert [m.text for m in await graph.ahistory("ada", "t1")] == ["Tell me.", "".join(WORDS)]


def test_the_blocking_stream_that_is_closed(opened: Callable[..., open_graph]) -> None:
    with opened() as graph:
        parts = graph.stream(
            {"messages": [("user", "Tell me.")]}, thread(), context={"user_id": "ada"}, stream_mode="messages"
        )
        first, _ = next(parts)
        parts.close()
        state = graph.get_state(thread()).values
        assert state["messages"][-1].text.startswith(first.text)
        assert [m.text for m in graph.history("ada", "t1")] == [m.text for m in state["messages"]]
        assert graph.invoke({"messages": [("user", "On.")]}, thread(), context={"user_id": "ada"})["messages"]


def test_ctrl_c_in_the_terminal(opened: Callable[..., open_graph], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everthread.models.chat.describe_model", str)  # it looks for files, before the chat begins
    # A shell that runs tests in its background has them ignore Ctrl-C.
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.default_int_handler)
    own = opened(model=SlowModel(prompts=[], at_ten=lambda: signal.raise_signal(signal.SIGINT)))
    console = Console(file=io.StringIO())
    with asyncio.Runner() as runner:
        graph = runner.run(own.__aenter__())
        session = Session(graph, own.resources.settings, "work", console, PlainReply())
        runner.run(session.greet(resumed=False))
        with pytest.raises(KeyboardInterrupt):
            runner.run(session.turn("Tell me slowly."))
        assert runner.run(session.turn("And now?"))
        user = own.resources.settings.user_id
        thread_id = runner.run(graph.resources.of_user(user).archive.thread_named("work"))
        said = [message.text for message in runner.run(graph.ahistory(user, thread_id))]
        runner.run(own.__aexit__(None, None, None))
    assert said == ["Tell me slowly.", "".join(WORDS[:10]), "And now?", "".join(WORDS)]
