"""So many turns run at once, users in rotation; who would wait too long is told when to come back."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from conversation import EchoModel, open_with, say, thread
from hypothesis import given
from hypothesis import strategies as st

from everthread import OverloadError, Settings
from everthread.runtime.admission import Admission
from everthread.settings.operator import Turns


class Line:
    """Turns of users, which end when they are told to, and the order in which they began."""

    def __init__(self, **turns: Any) -> None:
        self.admission = Admission(Turns(**turns))
        self.begun: list[str] = []
        self.refused: list[tuple[str, float]] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.most = 0

    async def turn(self, name: str) -> None:
        self.ends[name] = asyncio.Event()
        try:
            async with self.admission.admitted(name[0]):
                self.begun.append(name)
                self.most = max(self.most, self.admission.running)
                await self.ends[name].wait()
        except OverloadError as error:
            self.refused.append((name, error.retry_after))

    async def begin(self, *names: str) -> list[asyncio.Task[None]]:
        tasks = []
        for name in names:
            tasks.append(asyncio.create_task(self.turn(name)))
            await settle()
        return tasks

    async def end(self, name: str) -> None:
        self.ends[name].set()
        await settle()


async def settle() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


async def test_users_take_turns_however_much_one_of_them_asks_for() -> None:
    line = Line(at_once=1)
    await line.begin("a1", "a2", "a3", "a4", "b1", "c1", "b2")
    for _ in range(7):
        await line.end(line.begun[-1])
    assert line.begun == ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]
    assert (line.admission.running, line.admission.waiting, line.most) == (0, 0, 1)


async def test_who_would_wait_too_long_is_refused_at_once_with_the_time_to_retry() -> None:
    line = Line(at_once=2, wait=2)
    await line.begin("a1", "a2", "b1", "c1", "d1", "f1")  # a turn is taken to last a second, before any has ended
    await line.begin("e1")
    assert line.refused == [("e1", 3)]
    await line.end("a1")
    await line.begin("e2")
    assert [name for name, _ in line.refused] == ["e1"]


async def test_where_the_line_is_full_the_greediest_gives_a_place_to_another() -> None:
    line = Line(at_once=1, wait=4)
    await line.begin("a1", "a2", "a3", "a4", "a5", "a6")
    assert [name for name, _ in line.refused] == ["a6"]
    await line.begin("b1")
    assert [name for name, _ in line.refused] == ["a6", "a5"]
    await line.end("a1")
    await line.end("a2")
    assert line.begun == ["a1", "a2", "b1"]


async def test_nobody_waits_longer_than_the_setting_and_who_leaves_leaves_nothing() -> None:
    line = Line(at_once=1, wait=0.3)
    line.admission._seconds = 0.01
    first, second, third = await line.begin("a1", "b1", "c1")
    third.cancel()
    await asyncio.wait([second, third], timeout=60)
    assert [name for name, _ in line.refused] == ["b1"]
    assert line.admission.waiting == 0
    await line.end("a1")
    await first
    assert line.admission.running == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["end", "cancel", "keep"])), max_size=20))
def test_places_are_neither_lost_nor_made_whatever_becomes_of_turns(turns: list[tuple[str, str]]) -> None:
    async def run() -> None:
        line = Line(at_once=2)
        tasks = {}
        for number, (user, what) in enumerate(turns):
            name = f"{user}{number}"
            (tasks[name],) = await line.begin(name)
            if what == "cancel":
                tasks[name].cancel()
                await settle()
            elif what == "end" and line.begun:
                await line.end(line.begun[number % len(line.begun)])
            assert line.admission.running <= 2
        for end in line.ends.values():
            end.set()
        await asyncio.wait_for(asyncio.gather(*tasks.values(), return_exceptions=True), 60)
        assert (line.admission.running, line.admission.waiting) == (0, 0)

    asyncio.run(run())


def test_threads_wait_as_tasks_do() -> None:
    admission, begun = Admission(Turns(at_once=1, wait=45)), []
    admission._seconds = 30
    held = threading.Event()

    def second() -> None:
        with admission.admitted_sync("b"):
            begun.append("b")

    with admission.admitted_sync("a"):
        waits = threading.Thread(target=second)
        waits.start()
        while not admission.waiting:
            held.wait(0.01)
        with pytest.raises(OverloadError, match="retry in 60 s"), admission.admitted_sync("c"):
            pass
    waits.join(60)
    assert (begun, admission.running, admission.waiting) == (["b"], 0, 0)


class Counts(EchoModel):
    """Counts how many requests it answers at once."""

    now: int = 0
    most: int = 0

    async def _agenerate(self, *args: Any, **more: Any) -> Any:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.05)
        self.now -= 1
        return self._generate(*args, **more)


async def test_a_burst_of_turns_runs_a_few_at_a_time_and_all_are_answered(settings: Settings) -> None:
    model = Counts(prompts=[])
    async with open_with(settings, model=model, turns="at_once=3") as graph:
        turns = [say(graph, f"I am {n}.", to=f"t{n}", user=f"u{n}") for n in range(12)]
        states = await asyncio.gather(*turns)
        assert [state["messages"][-1].text for state in states] == [f"You said: I am {n}." for n in range(12)]
        assert model.most <= 3


async def test_a_run_that_is_refused_leaves_no_trace(settings: Settings) -> None:
    class Waits(EchoModel):
        async def _agenerate(self, *args: Any, **more: Any) -> Any:
            await go.wait()
            return self._generate(*args, **more)

    go = asyncio.Event()
    async with open_with(settings, model=Waits(prompts=[]), turns="at_once=1,wait=0.2") as graph:
        first = asyncio.create_task(say(graph, "I am first.", to="t1", user="u1"))
        while not graph.resources.admission.running:
            await asyncio.sleep(0.01)
        with pytest.raises(OverloadError, match="retry in") as refused:
            await say(graph, "I am second.", to="t2", user="u2")
        assert refused.value.retry_after >= 1
        assert (await graph.aget_state(thread("t2"))).values == {}
        go.set()
        await first
        assert graph.resources.admission.running == 0


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_durability_is_the_operators_to_say(settings: Settings, durability: str) -> None:
    async with open_with(settings, model=EchoModel(prompts=[]), turns=f"durability={durability}") as graph:
        for n in range(3):
            await say(graph, f"Remark {n}.")
        stored = [state async for state in graph.aget_state_history(thread())]
        assert len(stored) == (3 if durability == "exit" else 7)  # the first turn has the start of its thread, too
        assert len(stored[0].values["messages"]) == 6
    async with open_with(settings, model=EchoModel(prompts=[])) as graph:
        assert len((await say(graph, "And on."))["messages"]) == 8
