"""What goes on after a turn: it is done once, the next turn knows of it, and nothing is lost when the process ends."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from conversation import EchoModel, say, thread
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from everthread import StorageError, open_graph
from everthread.runtime.background import Background
from everthread.state.observer import Observer
from everthread.storage.loop_thread import io_thread


class Slow(DeterministicFakeEmbedding):
    """Embeds what tells of a kayak when it is let, and counts it."""

    def __init__(self) -> None:
        super().__init__(size=8)
        self.__dict__.update(let=threading.Event(), texts=[])

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if any("kayak" in text for text in texts):
            assert self.__dict__["let"].wait(60)
            self.__dict__["texts"].extend(texts)
        return super().embed_documents(texts)


async def test_the_turn_ends_before_its_messages_are_embedded_and_the_next_one_finds_them(
    reopen: Callable[..., open_graph],
) -> None:
    slow = Slow()
    async with reopen(embeddings=slow) as graph:
        await asyncio.wait_for(say(graph, "The kayak is blue.", to="one"), 30)
        asked = asyncio.create_task(say(graph, "The kayak is blue.", to="two"))
        assert not (await asyncio.wait([asked], timeout=0.5))[0]
        slow.__dict__["let"].set()
        state = await asked
        assert state["recall"].hits[0].similarity == pytest.approx(1.0, abs=1e-4)
        await graph.asettled()  # type: ignore[attr-defined]
    # What the second turn says was embedded with the first one's: it is in the cache.
    assert sorted(set(slow.__dict__["texts"])) == sorted(slow.__dict__["texts"])


def test_sync_code_can_wait_for_it(reopen: Callable[..., open_graph], embeddings: Embeddings) -> None:
    opened = reopen()
    with opened as graph:
        graph.invoke({"messages": [("user", "I live in Oslo.")]}, thread("one"), context={"user_id": "ada"})
        graph.settled()  # type: ignore[attr-defined]
        facts = asyncio.run(opened.resources.of_user("ada").facts.all_facts())
    assert [fact.text for fact in facts] == ["I live in Oslo"]


async def test_what_was_not_done_when_the_process_ended_is_done_by_the_next(reopen: Callable[..., open_graph]) -> None:
    slow = Slow()
    opened = reopen(embeddings=slow)
    async with opened as graph:
        await say(graph, "The kayak is blue.", to="one")
        started = time.monotonic()
    assert time.monotonic() - started < 30
    slow.__dict__["let"].set()
    async with reopen(embeddings=slow) as graph:
        state = await say(graph, "The kayak is blue.", to="two")
    assert state["recall"].hits[0].similarity == pytest.approx(1.0, abs=1e-4)


async def test_jobs_of_one_kind_do_not_run_twice_and_look_again_for_what_came_meanwhile() -> None:
    queue, done, running = ["a"], [], 0

    async def step() -> bool:
        nonlocal running
        running += 1
        assert running == 1
        await asyncio.sleep(0.02)
        done.extend(queue)
        queue.clear()
        running -= 1
        return False

    background = Background()
    for word in "abc":
        queue.append(word)
        background.begin("facts", "ada", step)
        await background.caught_up("facts", "ada")
        assert word in done
    await asyncio.gather(*(background.caught_up("facts", user) for user in ("ada", "nobody")))
    await background.settled()
    assert done == ["a", "a", "b", "c"]


class Undone(Observer):
    """Keeps what could not be done."""

    def __init__(self, parts: list[str]) -> None:
        self._parts = parts

    def left_undone(self, part: str) -> None:
        self._parts.append(part)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (StorageError("The disk is full."), "Work in the background stopped (embedding): The disk is full."),
        (ValueError("my secret"), "Work in the background stopped (embedding): ValueError"),
    ],
)
async def test_a_job_that_fails_is_told_and_can_be_begun_again(
    error: Exception, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    failed: list[Any] = []
    broken = True

    async def step() -> bool:
        if broken:
            raise error
        return False

    background = Background()
    background.observer = Undone(failed)
    with caplog.at_level(logging.WARNING):
        background.begin("embedding", "ada", step)
        await background.caught_up("embedding", "ada")
        await background.settled()
    assert failed == ["embedding"]
    assert told in caplog.text
    assert "secret" not in caplog.text
    broken = False
    background.begin("embedding", "ada", step)
    await background.settled()
    assert failed == ["embedding"]


async def test_waiting_has_an_end_though_the_work_has_none() -> None:
    never = asyncio.Event()

    async def step() -> bool:
        await never.wait()
        return False

    background = Background()
    background.begin("embedding", "ada", step)
    await asyncio.wait_for(background.settled(0.3), 30)
    background.cancel()
    await asyncio.wait_for(background.settled(), 30)
    assert io_thread.loop.is_running()


async def test_a_graph_whose_embedding_model_hangs_is_closed_in_time(reopen: Callable[..., open_graph]) -> None:
    slow = Slow()
    async with reopen(embeddings=slow, model=EchoModel(prompts=[])) as graph:
        await say(graph, "The kayak hangs.", to="one")
        started = time.monotonic()
    assert time.monotonic() - started < 20
    slow.__dict__["let"].set()
