"""Summaries by a slow model: no turn waits for them, they are those that would have been made at once, none is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from chains import chat
from conversation import EchoModel, say, thread, view_in
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from everthread import Settings, Summary, open_graph
from everthread.compression.ends import ended, first_due, outline, planned
from everthread.compression.engine import compress, outdated_ids
from everthread.settings.profiles import PROFILES
from everthread.state.chain import Chain, ChainView, empty_chain, is_summary, summary_ids, taken_in, view_of, without


class SlowSummarizer(EchoModel):
    """A chat model that echoes at once, and takes its time for a summary."""

    seconds: float = 1.0
    asked: list[str] = []  # noqa: RUF012  # a pydantic field
    word: str = ""

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> ChatResult:
        if "<excerpt" not in messages[-1].text:
            return self._generate(messages)
        self.asked.append(messages[-1].text)
        await asyncio.sleep(self.seconds)
        words = [word for word in messages[-1].text.split() if word.startswith("remark")]
        text = f"Remarks on the garden: {' '.join(dict.fromkeys(words))} {self.word}".strip() + "."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


def slow(seconds: float = 1.0, word: str = "") -> SlowSummarizer:
    return SlowSummarizer(prompts=[], asked=[], seconds=seconds, word=word)


@pytest.fixture
def ours(settings: Settings) -> Settings:
    return settings.but(summary_model=None)


async def remark(graph: Any, n: int, **context: Any) -> Any:
    return await say(graph, f"In the garden I see remark{n}, and a few more words about it.", **context)


async def archived(graph: Any, to: str = "t1") -> list[Summary]:
    summaries: list[Summary] = await graph.resources.of_user("ada").archive.summaries(to)
    return summaries


async def test_no_turn_waits_for_a_slow_summarizer(ours: Settings, embeddings: Embeddings) -> None:
    model = slow(6)
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await remark(graph, 0)
        ends, firsts = [], []
        for n in range(1, 10):
            started = time.monotonic()
            first = None
            message: Any = {"messages": [("user", f"In the garden I see remark{n}, and a few more words about it.")]}
            async for _ in graph.astream(message, thread(), context={"user_id": "ada"}, stream_mode="messages"):
                first = first or time.monotonic() - started
            ends.append(time.monotonic() - started)
            firsts.append(first)
        assert max(ends) < 3
        assert max(filter(None, firsts)) < 3
        assert model.asked
        # Until they are there, the prompt holds the messages themselves.
        assert all(f"remark{n}" in " ".join(m.text for m in model.prompts[-1]) for n in range(10))


async def test_what_was_written_beside_the_turns_stands_in_the_chain_of_the_next(
    ours: Settings, embeddings: Embeddings
) -> None:
    async with open_graph(ours, model=slow(0.2), embeddings=embeddings) as graph:
        for n in range(8):
            state = await remark(graph, n)
        await graph.asettled()
        made = await archived(graph)
        assert made
        state = await remark(graph, 8)
        assert {summary.id for summary in made} >= set(summary_ids(state["chain"]))
        assert summary_ids(state["chain"])
        assert set(state["after_reply"].summaries)
        assert {summary["id"] for summary in state["report"]["summaries"]} == set(state["after_reply"].summaries)


def test_sync_code_need_not_wait_either(ours: Settings, embeddings: Embeddings) -> None:
    with open_graph(ours, model=slow(0.5), embeddings=embeddings) as graph:
        for n in range(8):
            graph.invoke({"messages": [("user", f"I see remark{n}.")]}, thread(), context={"user_id": "ada"})
        graph.settled()
        graph.invoke({"messages": [("user", "I see remark8.")]}, thread(), context={"user_id": "ada"})
        assert summary_ids(graph.get_state(thread()).values["chain"])


def test_an_event_loop_for_each_turn_ends_no_work(ours: Settings, embeddings: Embeddings) -> None:
    with open_graph(ours, model=slow(0.5), embeddings=embeddings) as graph:
        for n in range(8):
            asyncio.run(remark(graph, n))
        graph.settled()
        state = asyncio.run(remark(graph, 8))
        assert summary_ids(state["chain"])


CHILD = """
import asyncio, sys
sys.path[:0] = [{tests!r}]
from test_later_summaries import slow, remark
from conversation import say
from everthread import open_graph, Settings
from fakes.embeddings import WORDS

async def main():
    async with open_graph(Settings(summary_model=None), model=slow(600), embeddings=WORDS) as graph:
        for n in range(8):
            await remark(graph, n)
        print("said", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_a_killed_process_leaves_it_to_the_next(
    ours: Settings, environment: dict[str, str], embeddings: Embeddings
) -> None:
    code = CHILD.format(tests=str(Path(__file__).parent))
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, env={**environment, "EVERTHREAD_MODEL": "offline"}, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    assert await asyncio.wait_for(child.stdout.readline(), 120) == b"said\n"
    os.kill(child.pid, signal.SIGKILL)
    await child.wait()
    async with open_graph(ours, model=slow(0.05), embeddings=embeddings) as graph:
        assert not await archived(graph)
        await remark(graph, 8)  # begins it again
        await graph.asettled()
        assert await archived(graph)
        state = await remark(graph, 9)
        assert summary_ids(state["chain"])


async def test_a_summary_that_the_archive_has_is_not_worded_anew(ours: Settings, embeddings: Embeddings) -> None:
    """The process was killed between archive and checkpoint, and its model words it differently."""
    async with open_graph(ours, model=slow(0.05, "first"), embeddings=embeddings) as graph:
        for n in range(8):
            await remark(graph, n)
        await graph.asettled()
        before = {summary.id: summary.content for summary in await archived(graph)}
    again = slow(0.05, "second")
    async with open_graph(ours, model=again, embeddings=embeddings) as graph:
        state = await remark(graph, 8)
        shown = {message.id: message.text for message in view_in(state) if is_summary(message)}
        assert shown
        assert shown.items() <= before.items()
        assert {s.id: s.content for s in await archived(graph) if s.id in before} == before


async def test_what_is_forgotten_while_it_is_summarized_comes_back_in_no_summary(
    ours: Settings, embeddings: Embeddings
) -> None:
    model = slow(1.5)
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        for n in range(8):
            await remark(graph, n)
        async with asyncio.timeout(60):
            while not model.asked:
                await asyncio.sleep(0.02)
        messages = await graph.resources.of_user("ada").archive.messages("t1")
        secret = [message.id for message in messages if "remark1," in message.text or "remark2," in message.text]
        await graph.aforget("ada", "t1", messages=secret)
        await graph.asettled()
        for n in range(8, 12):
            await remark(graph, n)
            await graph.asettled()
        for summary in await archived(graph):
            assert "remark1," not in summary.content
            assert "remark2," not in summary.content


THRESHOLDS = {
    "multi_strategy": {"n_sum": 6, "sum_window": 3, "n_sum_sum": 3, "max_sum_lvl": 2},
    "sliding_summary": {"message_threshold": 6, "keep_recent": 3, "regenerate_after": 3, "token_threshold": 100},
    "hybrid": {"message_threshold": 5, "keep_recent": 4, "max_active_summaries": 2},
    "archive": {"summary_every_n": 2, "max_level_summaries": 2, "max_active_summaries": 3},
    "layered": {"message_threshold": 3, "keep_recent": 2, "batch_limit": 5, "layer_tokens": 150, "n_sum_sum": 2},
}


class Talk:
    """A conversation whose summaries are laid into its chain when they are ready."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.chain, self.made = settings, empty_chain(), dict[str, Summary]()
        self.said: list[Any] = []

    @property
    def view(self) -> ChainView:
        return view_of(self.chain, {str(message.id): message for message in self.said}, self.made)

    def turn(self, count: int) -> None:
        """What is said in a turn, and its end."""
        self.said += (new := chat(2 * count, start=len(self.said) + 1))
        self.chain = taken_in(self.chain, new)
        self.chain = without(self.chain, outdated_ids(self.view, self.settings))
        self.chain = ended(self.chain, self.view, self.settings)

    def lay(self, most: int) -> None:
        """Up to so many summaries take their places."""
        for _ in range(most):
            if (batch := first_due(self.chain, self.view, self.settings)) is None:
                return
            summary = outline(batch, "t").model_copy(update={"content": f"{len(batch.sources)} words. " * 9})
            self.made[summary.id] = summary
            self.chain = compress(self.chain, batch, summary)


@pytest.mark.parametrize("profile", list(PROFILES))
@given(turns=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3)), min_size=3, max_size=30), window=st.booleans())
def test_summaries_that_come_late_are_those_that_would_have_come_at_once(
    profile: Any, turns: list[tuple[int, int]], window: bool
) -> None:
    settings = Settings(profile=profile, summary_window="last" if window else "oldest", **THRESHOLDS[profile])
    at_once, late = Talk(settings), Talk(settings)
    for count, most in turns:
        at_once.turn(count)
        at_once.lay(1000)
        late.turn(count)
        late.lay(most)
    late.lay(1000)
    for talk in (at_once, late):
        talk.chain = without(talk.chain, outdated_ids(talk.view, settings))
    assert late.chain["links"] == at_once.chain["links"]
    assert late.made.keys() == at_once.made.keys()


@given(turns=st.lists(st.integers(1, 3), min_size=3, max_size=30))
def test_a_plan_names_the_summaries_that_follow_from_each_other(turns: list[int]) -> None:
    settings = Settings(**THRESHOLDS["multi_strategy"])
    talk = Talk(settings)
    for count in turns:
        talk.turn(count)
    plan: list[str] = [
        outline(batch, "t").id for batch in planned(talk.chain, talk.view, settings, thread_id="t", most=1000)
    ]
    talk.lay(1000)
    assert plan == list(talk.made)


def test_a_chain_of_an_earlier_version_has_no_ends() -> None:
    chain: Chain = {"links": [], "known": {}, "last": None}
    assert "ends" not in ended(chain, ChainView(), Settings())
