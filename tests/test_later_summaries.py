"""Summaries by a slow model: no turn waits for them, they are those that would have been made at once, none is lost."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
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
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from test_summaries import Writer
from variants import EACH_PROFILE, costly

from bench.compressed import below
from everthread import Settings, Summary, examine, open_graph
from everthread.compression.chain import Batch
from everthread.compression.ends import ended, first_due, outline, planned
from everthread.compression.engine import compress, outdated_ids
from everthread.compression.summarizer import Summarizer
from everthread.compression.together import write_due
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
    model = slow(60)
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await remark(graph, 0)
        ends, firsts = [], []
        for n in range(1, 13):
            started = time.monotonic()
            first = None
            message: Any = {"messages": [("user", f"In the garden I see remark{n}, and a few more words about it.")]}
            async for _ in graph.astream(message, thread(), context={"user_id": "ada"}, stream_mode="messages"):
                first = first or time.monotonic() - started
            ends.append(time.monotonic() - started)
            firsts.append(first)
        assert max(ends) < 30
        assert max(filter(None, firsts)) < 30
        async with asyncio.timeout(60):
            while not model.asked:
                await asyncio.sleep(0.05)
        # Until they are there, the prompt holds the messages themselves.
        assert all(f"remark{n}" in " ".join(m.text for m in model.prompts[-1]) for n in range(13))


async def test_what_was_written_beside_the_turns_stands_in_the_chain_of_the_next(
    ours: Settings, embeddings: Embeddings
) -> None:
    async with open_graph(ours, model=slow(0.2), embeddings=embeddings) as graph:
        for n in range(12):
            state = await remark(graph, n)
        await graph.asettled()
        made = await archived(graph)
        assert made
        state = await remark(graph, 12)
        assert {summary.id for summary in made} >= set(summary_ids(state["chain"]))
        assert summary_ids(state["chain"])
        assert set(state["after_reply"].summaries)
        assert {summary["id"] for summary in state["report"]["summaries"]} == set(state["after_reply"].summaries)


def test_sync_code_need_not_wait_either(ours: Settings, embeddings: Embeddings) -> None:
    with open_graph(ours, model=slow(0.5), embeddings=embeddings) as graph:
        for n in range(12):
            graph.invoke({"messages": [("user", f"I see remark{n}.")]}, thread(), context={"user_id": "ada"})
        graph.settled()
        graph.invoke({"messages": [("user", "I see remark12.")]}, thread(), context={"user_id": "ada"})
        assert summary_ids(graph.get_state(thread()).values["chain"])


def test_an_event_loop_for_each_turn_ends_no_work(ours: Settings, embeddings: Embeddings) -> None:
    with open_graph(ours, model=slow(0.5), embeddings=embeddings) as graph:
        for n in range(12):
            asyncio.run(remark(graph, n))
        graph.settled()
        state = asyncio.run(remark(graph, 12))
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
        for n in range(12):
            await remark(graph, n)
        print("said", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.slow
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
        await remark(graph, 12)  # begins it again
        await graph.asettled()
        assert await archived(graph)
        state = await remark(graph, 13)
        assert summary_ids(state["chain"])


async def test_a_summary_that_the_archive_has_is_not_worded_anew(ours: Settings, embeddings: Embeddings) -> None:
    """The process was killed between archive and checkpoint, and its model words it differently."""
    async with open_graph(ours, model=slow(0.05, "first"), embeddings=embeddings) as graph:
        for n in range(12):
            await remark(graph, n)
        await graph.asettled()
        before = {summary.id: summary.content for summary in await archived(graph)}
    again = slow(0.05, "second")
    async with open_graph(ours, model=again, embeddings=embeddings) as graph:
        state = await remark(graph, 12)
        shown = {message.id: message.text for message in view_in(state) if is_summary(message)}
        assert shown
        assert shown.items() <= before.items()
        assert {s.id: s.content for s in await archived(graph) if s.id in before} == before


async def test_what_is_forgotten_while_it_is_summarized_comes_back_in_no_summary(
    ours: Settings, embeddings: Embeddings
) -> None:
    model = slow(1.5)
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        for n in range(12):
            await remark(graph, n)
        async with asyncio.timeout(60):
            while not model.asked:
                await asyncio.sleep(0.02)
        messages = await graph.resources.of_user("ada").archive.messages("t1")
        secret = [message.id for message in messages if "remark1," in message.text or "remark2," in message.text]
        await graph.aforget("ada", "t1", messages=secret)
        await graph.asettled()
        for n in range(12, 16):
            await remark(graph, n)
            await graph.asettled()
        for summary in await archived(graph):
            assert "remark1," not in summary.content
            assert "remark2," not in summary.content


async def test_the_doctor_finds_nothing_in_a_thread_whose_summaries_are_not_in_its_chain_yet(
    ours: Settings, embeddings: Embeddings
) -> None:
    async with open_graph(ours, model=slow(0.05), embeddings=embeddings) as graph:
        for n in range(12):
            await remark(graph, n)
        await graph.asettled()
        assert await archived(graph)
        (checkup,) = await examine(graph, "ada", "t1")
        assert checkup.findings == ()
        await remark(graph, 12)
        (checkup,) = await examine(graph, "ada", "t1")
        assert checkup.findings == ()


class Together(SlowSummarizer):
    """Writes several summaries in one call, in the form that is asked for."""

    fail: list[Any] = []  # noqa: RUF012  # a pydantic field
    """What its next replies are instead: a text, or an error."""

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> ChatResult:
        text = messages[-1].text
        if "<excerpt" not in text:
            return self._generate(messages)
        self.asked.append(text)
        await asyncio.sleep(self.seconds)
        if self.fail and isinstance(reply := self.fail.pop(0), Exception):
            raise reply
        parts = re.findall(r"<part \d+ id=\w+ words=\d+>\n(.*?)(?=\n<part|\n</excerpt)", text, re.DOTALL)
        made: list[str] = []
        for part in parts or [text]:
            whole = re.sub(r"\(summary (\d+)\)", lambda named: made[int(named[1]) - 1], part)
            words = dict.fromkeys(word for word in whole.split() if word.startswith("remark"))
            made.append(f"In the garden the user sees {' '.join(words)}")
        told = json.dumps({"summaries": made, "facts": []}) if parts else made[0]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(told))])


def together(seconds: float = 0.0, *fail: Any) -> Together:
    return Together(prompts=[], asked=[], seconds=seconds, fail=list(fail))


@pytest.mark.slow
async def test_several_summaries_come_with_one_call(ours: Settings, embeddings: Embeddings) -> None:
    model = together()
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        for n in range(40):
            state = await remark(graph, n)
            await graph.asettled()
        made = await archived(graph)
        assert {summary.rejected for summary in made} == {None}
        assert {summary.level for summary in made} == {1, 2, 3}
        assert len(made) > 30
        assert len(model.asked) <= 0.4 * 40
        reached = below([link["id"] for link in state["chain"]["links"]], made)
        messages = await graph.resources.of_user("ada").archive.messages("t1")
        assert {message.id for message in messages} <= reached


@pytest.mark.slow
async def test_a_thread_that_was_brought_in_is_caught_up_with_over_several_turns(
    ours: Settings, embeddings: Embeddings
) -> None:
    model = together()
    said = [("user" if n % 2 == 0 else "assistant", f"Long ago there was remark{n} in the garden.") for n in range(120)]
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await graph.aupdate_state(thread(), {"messages": said}, as_node="llm_call")
        made, calls = [0], [0]
        for n in range(12):
            await remark(graph, 200 + n)
            await graph.asettled()
            made.append(len(await archived(graph)))
            calls.append(len(model.asked))
        steps = [after - before for before, after in itertools.pairwise(made)]
        asked = [after - before for before, after in itertools.pairwise(calls)]
        assert max(steps) <= 24  # what a turn begins, and goes on with
        assert max(asked) <= 8
        assert steps[-1] <= 6
        assert sum(asked) <= 30


@pytest.mark.parametrize("failure", ["no JSON at all", ConnectionError("down")])
async def test_a_model_that_gives_none_of_several_is_asked_singly_or_not_at_all(
    ours: Settings, embeddings: Embeddings, failure: Any
) -> None:
    model = slow(0) if isinstance(failure, str) else together(0, failure, failure)
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        for n in range(13):
            await remark(graph, n)
            await graph.asettled()
        made = await archived(graph)
        assert made
        if isinstance(failure, str):
            assert {summary.rejected for summary in made} == {None}
            assert len(model.asked) <= len(made) + 4
        else:
            assert {summary.rejected for summary in made if summary.rejected} == {"the model failed (ConnectionError)"}
            assert len(model.asked) < len(made) + 2


async def test_of_several_the_one_that_is_refused_is_asked_for_alone_and_once() -> None:
    def reply(messages: list[BaseMessage]) -> str:
        if "<part" in messages[-1].text:
            return json.dumps({"summaries": ["I'm sorry, I cannot.", "The user likes roses."], "facts": []})
        return "The user likes tulips."

    model = Writer(replies=[reply], prompts=[])
    plan = [
        Batch(1, (HumanMessage("I like tulips very much, they are fine.", id="1"),)),
        Batch(1, (HumanMessage("I like roses very much, they are fine.", id="2"),)),
    ]
    written = await write_due(plan, Settings(), thread_id="t", summarizer=Summarizer(model, {}, timeout=10))
    assert [one.summary.content for one in written] == ["The user likes tulips.", "The user likes roses."]
    assert [one.summary.rejected for one in written] == [None, None]
    assert len(model.prompts) == 2
    assert "was not accepted: it is a refusal" in model.prompts[1][0].text


THRESHOLDS = {
    "multi_strategy": {"n_sum": 6, "sum_window": 3, "n_sum_sum": 3, "max_sum_lvl": 2},
    "sliding_summary": {"message_threshold": 6, "keep_recent": 3, "token_threshold": 100},
    "hybrid": {"message_threshold": 5, "keep_recent": 4, "max_active_summaries": 2},
    "archive": {"summary_every_n": 2, "max_level_summaries": 2, "max_active_summaries": 3},
    "layered": {"message_threshold": 3, "keep_recent": 2, "token_threshold": 150, "n_sum_sum": 2},
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


@pytest.mark.parametrize("profile", EACH_PROFILE)
@costly
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
