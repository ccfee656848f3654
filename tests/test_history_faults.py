"""Faults that others reported of summaries and facts, and odd conversations: nothing is lost, nothing is too long."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from chains import parted_calls
from conversation import EVERYTHING, EchoModel, say, thread, view_in
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from typer.testing import CliRunner
from variants import EACH_PROFILE

from bench.compressed import below
from everthread import Settings, examine, open_graph
from everthread.cli.main import app
from everthread.facts.extraction import Occasion, extract
from everthread.facts.ledger import merge
from everthread.graph.conversation import CompiledConversation
from everthread.state.chain import is_summary, summary_of
from everthread.state.fact_records import Fact
from everthread.storage.user_rows import UserRows
from everthread.text.tokens import count_message_tokens

SMALL = {"n_sum": 4, "message_threshold": 4, "keep_recent": 2, "summary_every_n": 2}
IMAGE = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]


@pytest.fixture(scope="module")
def embeddings() -> Embeddings:
    """Meaning does not matter here."""
    return DeterministicFakeEmbedding(size=8)


async def feed(graph: CompiledConversation, messages: list[AnyMessage], to: str = "t1", **context: Any) -> Any:
    """A turn whose messages are given."""
    await graph.aupdate_state(thread(to), {"messages": messages}, as_node="llm_call")
    return await graph.ainvoke(None, thread(to), context={"user_id": "ada", **context}, output_keys=EVERYTHING)


async def nothing_is_lost(graph: CompiledConversation, state: Any, to: str = "t1") -> int:
    """Every archived message is in the chain or below a summary of it; returns how many there are."""
    archive = graph.resources.of_user("ada").archive  # type: ignore[attr-defined]
    archived = {message.id for message in await archive.messages(to)}
    live = [str(message.id) for message in view_in(state)]
    assert archived <= below(live, await archive.summaries(to))
    return len(archived)


@pytest.mark.parametrize("profile", EACH_PROFILE)
async def test_a_conversation_of_nothing_but_tool_calls_is_summarized_and_no_call_is_parted(
    graph: CompiledConversation, profile: str
) -> None:
    """Reports langmem #111, langchain #39261: after tool calls, nothing but system messages was left."""
    for n in range(8):
        call = {"name": "look", "args": {"n": n}, "id": f"c{n}"}
        said = [AIMessage("", id=f"a{n}", tool_calls=[call]), ToolMessage("", id=f"t{n}", tool_call_id=f"c{n}")]
        state = await feed(graph, said, profile=profile, **SMALL)
        assert state["after_reply"].error is None
        assert parted_calls(view_in(state)) == []
    assert await nothing_is_lost(graph, state) == 16
    state = await say(graph, "What did you find?", profile=profile, **SMALL)
    assert state["messages"][-1].content.endswith("What did you find?")


@pytest.mark.parametrize("profile", EACH_PROFILE)
async def test_empty_messages_of_the_assistant_are_neither_kept_nor_in_the_way(
    graph: CompiledConversation, echo: EchoModel, profile: str
) -> None:
    for n in range(6):
        said = [HumanMessage(f"Remark {n}.", id=f"q{n}"), AIMessage("", id=f"e{n}"), AIMessage("Yes.", id=f"r{n}")]
        state = await feed(graph, said, profile=profile, **SMALL)
        assert state["after_reply"].error is None
    assert await nothing_is_lost(graph, state) == 12
    await say(graph, "And now?", profile=profile, **SMALL)
    assert all(message.text.strip() for message in echo.prompts[-1])
    assert any(is_summary(message) for message in view_in(state))


async def test_images_stay_in_the_archive_when_their_messages_are_summarized(graph: CompiledConversation) -> None:
    """Reports deepagents #2873, #3990: media was lost from archived messages."""
    for _ in range(6):
        state = await say(graph, {"messages": [HumanMessage(IMAGE)]})
    assert any(is_summary(message) for message in view_in(state))
    kept = await graph.resources.of_user("ada").archive.messages("t1")  # type: ignore[attr-defined]
    assert [message.message.content for message in kept if message.role == "user"] == [IMAGE] * 6


async def test_the_same_ids_in_two_threads_are_kept_apart(graph: CompiledConversation) -> None:
    """Report deepagents #5470: the offloaded history of one session overwrote that of another."""
    for n in range(4):
        for to in ("t1", "t2"):
            said: list[AnyMessage] = [HumanMessage(f"Remark {n} of {to}.", id=f"q{n}"), AIMessage(to, id=f"r{n}")]
            await feed(graph, said, to)
    archive = graph.resources.of_user("ada").archive  # type: ignore[attr-defined]
    for to in ("t1", "t2"):
        assert [message.text for message in await archive.messages(to)][::2] == [
            f"Remark {n} of {to}." for n in range(4)
        ]
    of_one, of_other = [{summary.id for summary in await archive.summaries(to)} for to in ("t1", "t2")]
    assert of_one
    assert not of_one & of_other


class NoUsage(EchoModel):
    """A chat model that reports no tokens, or none that were used."""

    def _generate(self, *args: Any, **more: Any) -> ChatResult:
        said = super()._generate(*args, **more).generations[0].message
        usage: Any = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said.text, usage_metadata=usage))])


async def test_tokens_are_estimated_where_the_provider_reports_none(settings: Settings, embeddings: Embeddings) -> None:
    """Report letta #2541: with one provider, the summarizer never ran."""
    model = NoUsage(prompts=[])
    values = settings.but(profile="sliding_summary", token_threshold=500, keep_recent=2)
    async with open_graph(values, model=model, embeddings=embeddings) as graph:
        for n in range(4):
            state = await say(graph, f"Remark {n}: " + "the garden is green " * 40)
    assert any(is_summary(message) for message in view_in(state))


@pytest.mark.parametrize("profile", EACH_PROFILE)
async def test_after_summaries_the_prompt_is_within_its_budget_however_long_the_messages(
    graph: CompiledConversation, echo: EchoModel, profile: str
) -> None:
    """Reports mastra #19767, letta #1635: after compaction the next call was too long; so was what was recalled."""
    for n in range(6):
        state = await say(graph, f"Garden {n}: " + "the green garden of the house " * 700, profile=profile,
                          max_context_tokens=2000, max_reply_tokens=200, **SMALL)  # fmt: skip
        assert count_message_tokens(echo.prompts[-1]) <= state["context_report"].budget <= 2000
    assert state["after_reply"].error is None
    assert all(summary_of(m).content for m in view_in(state) if is_summary(m))


_DEEP = """
INSERT INTO summaries (user_id, thread_id, id, level, content, source_ids, method, tokens, created_at)
SELECT %(user_id)s, 't1', 's' || n, 1, 'Summary ' || n, CASE n WHEN 1 THEN ARRAY['q0'] ELSE ARRAY['s' || (n - 1)] END,
       'model', 1, now() FROM generate_series(1, 1500) AS n
"""


@pytest.mark.slow
async def test_a_summary_that_stands_on_a_thousand_others_leads_down_to_what_was_said(
    graph: CompiledConversation, environment: dict[str, str]
) -> None:
    """Under sliding_summary, each summary is made from the one before it: after ten thousand messages, that is deep."""
    await feed(graph, [HumanMessage("The first remark.", id="q0"), AIMessage("Yes.", id="r0")])
    resources = graph.resources  # type: ignore[attr-defined]
    await UserRows(resources.database, "ada").fetch(_DEEP)
    tree = await resources.of_user("ada").archive.sources("t1", "s1500")
    assert [message.text for message in tree.messages()] == ["The first remark."]
    environment = {**environment, "EVERTHREAD_USER_ID": "ada", "COLUMNS": "40000"}
    shown = await asyncio.to_thread(CliRunner(env=environment).invoke, app, ["trace", "s1500"])
    assert shown.exit_code == 0
    assert "The first remark." in shown.stdout
    (checkup,) = await examine(graph, "ada", "t1")
    assert checkup.findings == ()


def facts_of(*texts: str) -> list[Fact]:
    """What a user's messages say, one after the other."""
    kept: tuple[Fact, ...] = ()
    for n, text in enumerate(texts):
        found = extract(text, Occasion("t1", f"m{n}", datetime(2026, 1, 1, 0, n, tzinfo=UTC)))
        kept = tuple(merge(kept, found))
    return list(kept)


def test_what_is_said_many_times_is_one_fact() -> None:
    """Reports MemOS #880, netclaw #379 (212 memories from 253 turns), rho #34, graphiti #955 (in one message)."""
    said = [
        "I live in Lisbon.",
        "I LIVE in Lisbon!",
        "By the way, I live in Lisbon.",
        "I live in Lisbon. I live in Lisbon.",
    ]
    facts = facts_of(*(said * 15)[:59])
    assert [fact.state for fact in facts] == ["current"]
