"""A thread is checked: the database is damaged by hand, the fault is found, and repaired; nothing is ever deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conversation import EVERYTHING, EchoModel, say, thread
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.graph import StateGraph
from langgraph.types import Command, interrupt
from scripted import ScriptedModel
from typer.testing import CliRunner
from variants import EACH_PROFILE, each

from bench.compressed import below
from everthread import Checkup, InputError, Settings, examine, open_graph, regenerate_rejected, thread_id
from everthread.cli.main import app
from everthread.cli.transfer import export, import_
from everthread.graph.build import ConversationGraph
from everthread.graph.conversation import CompiledConversation
from everthread.maintenance.checks import gaps, in_order
from everthread.state.chain import Chain, summary_ids
from everthread.state.messages import message_text
from everthread.storage.open import storage_of
from everthread.storage.user_rows import UserRows

PROFILES = ["multi_strategy", "sliding_summary", "hybrid", "archive", "layered"]


@pytest.fixture(scope="module")
def embeddings() -> Embeddings:
    """Meaning does not matter here."""
    return DeterministicFakeEmbedding(size=8)


def exchange(n: int) -> list[AnyMessage]:
    """What is said in turn n: every third time with a tool, and long ones and facts among it."""
    asked = HumanMessage(
        f"My dog is called Rex {n}. I live in Lisbon. Remark {n}. {'long ' * 300 * (n % 7 == 0)}", id=f"q{n}"
    )
    call = AIMessage("", tool_calls=[{"name": "look", "args": {"n": n}, "id": f"c{n}"}], id=f"a{n}")
    result = ToolMessage(f"found {n}", tool_call_id=f"c{n}", id=f"t{n}")
    reply = AIMessage(f"Reply {n} about the garden.", id=f"r{n}")
    return [asked, *([call, result] if n % 3 == 2 else []), reply]


async def feed(graph: CompiledConversation, turns: int, *, start: int = 0, to: str = "t1", **context: Any) -> Any:
    """Turns without a model, as `everthread replay` makes them; all is embedded and read for facts afterwards."""
    for n in range(start, start + turns):
        await graph.aupdate_state(thread(to), {"messages": exchange(n)}, as_node="llm_call")
        state = await graph.ainvoke(None, thread(to), context={"user_id": "ada", **context}, output_keys=EVERYTHING)
        assert state["after_reply"].error is None
    await graph.asettled()  # type: ignore[attr-defined]
    while await graph.resources.of_user("ada").vectors.embed_pending(timeout=60):
        pass
    return state


async def sql(graph: CompiledConversation, statement: Any, **values: Any) -> list[Any]:
    return await UserRows(graph.resources.database, "ada").fetch(
        statement + " AND thread_id = %(thread)s", thread="t1", **values
    )


async def checked(graph: CompiledConversation, *, repair: bool = False) -> Checkup:
    (checkup,) = await examine(graph, "ada", "t1", repair=repair)
    return checkup


async def texts(graph: CompiledConversation) -> list[tuple[int, str, str]]:
    return [(m.seq, m.id, m.text) for m in await graph.resources.of_user("ada").archive.messages("t1")]


async def chain(graph: CompiledConversation) -> Chain:
    found: Chain = (await graph.aget_state(thread())).values["chain"]
    return found


async def links(graph: CompiledConversation) -> list[str]:
    return [link["id"] for link in (await chain(graph))["links"]]


async def standing(graph: CompiledConversation) -> list[str]:
    """Ids of the messages that stand in the chain and are in no summary."""
    return [link["id"] for link in (await chain(graph))["links"] if "level" not in link and not link.get("kept")]


async def reached(graph: CompiledConversation) -> set[str]:
    """Ids of all that stands in the chain, or below a summary in it."""
    return below(await links(graph), await graph.resources.of_user("ada").archive.summaries("t1"))


async def rewrite(
    graph: CompiledConversation, *, without: Sequence[str] = (), kept: Sequence[str] = (), as_node: str = "command"
) -> None:
    """Take links out of the chain, or mark messages of it as being in a summary."""
    old = await chain(graph)
    new: list[Any] = [link for link in old["links"] if link["id"] not in without]
    new = [{**link, "kept": True} if link["id"] in kept else link for link in new]
    assert new != old["links"]
    await graph.aupdate_state(thread(), {"chain": {**old, "links": new}}, as_node=as_node)


async def repaired(graph: CompiledConversation, *kinds: str) -> Checkup:
    """The faults are found as these kinds, told the same by a look alone, repaired, and do not come back."""
    before = await checked(graph)
    assert {finding.kind for finding in before.findings} == set(kinds)
    assert before.left == before.findings
    assert not before.healthy
    after = await checked(graph, repair=True)
    assert after.findings == before.findings
    assert after.left == ()
    assert after.healthy
    while await graph.resources.of_user("ada").vectors.embed_pending(timeout=60):
        pass
    assert (await checked(graph)).findings == ()
    return before


@pytest.mark.parametrize("profile", EACH_PROFILE)
async def test_nothing_is_found_in_a_healthy_thread_under_any_profile(
    graph: CompiledConversation, profile: str
) -> None:
    await feed(graph, 31, profile=profile)
    assert (await checked(graph)).findings == ()
    await say(graph, "What is my dog called?", profile=profile)
    await say(graph, "/summary_now", profile=profile)
    await say(graph, "And where do I live?", profile=profile)
    before = await texts(graph)
    checkup = await checked(graph, repair=True)
    assert checkup.findings == checkup.left == ()
    assert checkup.messages == len(before) > 70
    assert checkup.summaries > 0
    assert await texts(graph) == before


async def test_a_profile_that_changes_leaves_a_healthy_thread(graph: CompiledConversation) -> None:
    thresholds = {"n_sum": 4, "message_threshold": 4, "keep_recent": 2, "summary_every_n": 2}
    for n in range(20):
        await feed(graph, 1, start=n, profile=PROFILES[n % 5], **thresholds)
    assert (await checked(graph)).findings == ()


async def test_a_message_of_the_chain_that_the_archive_lost_is_archived_again_in_its_place(
    graph: CompiledConversation,
) -> None:
    await feed(graph, 8)
    before = await texts(graph)
    live = next(id_ for id_ in await standing(graph) if id_.startswith("q"))
    await sql(graph, "DELETE FROM messages WHERE user_id = %(user_id)s AND id = %(id)s", id=live)
    assert len(await texts(graph)) == len(before) - 1
    await repaired(graph, "message not archived", "message missing")
    assert await texts(graph) == before


@pytest.mark.parametrize("visible", each([200, 4], quick=1))
@pytest.mark.parametrize("ids", each([["r1", "q1"], ["q0"], ["a2", "t2"], ["q0", "r0", "q1", "r1"]], quick=1))
async def test_a_summarized_message_that_the_archive_lost_comes_back_from_the_state_or_an_older_one(
    settings: Settings, embeddings: Embeddings, echo: EchoModel, ids: list[str], visible: int
) -> None:
    async with open_graph(settings.but(visible_messages=visible), model=echo, embeddings=embeddings) as graph:
        await feed(graph, 9, summary_window="oldest")
        await comes_back(graph, ids, "message not archived" if visible > 4 else "source missing")


async def comes_back(graph: CompiledConversation, ids: list[str], kind: str) -> None:
    before = await texts(graph)
    rows = "SELECT * FROM messages WHERE user_id = %(user_id)s AND id = ANY(%(ids)s)"
    old = {row["id"]: row for row in await sql(graph, rows, ids=ids)}
    await sql(graph, "DELETE FROM messages WHERE user_id = %(user_id)s AND id = ANY(%(ids)s)", ids=ids)
    found = await checked(graph)
    assert {kind, "message missing"} <= {finding.kind for finding in found.findings}
    after = await checked(graph, repair=True)
    assert after.left == ()
    assert await texts(graph) == before
    for row in await sql(graph, rows, ids=ids):
        assert row["message"] == old[row["id"]]["message"]
        assert row["facts_read"]
        assert abs((row["created_at"] - old[row["id"]]["created_at"]).total_seconds()) < 60


async def test_a_command_is_not_archived_by_a_repair(graph: CompiledConversation) -> None:
    await feed(graph, 4)
    await say(graph, "/summary_status")
    await feed(graph, 4, start=4)
    before = await texts(graph)
    await sql(graph, "DELETE FROM messages WHERE user_id = %(user_id)s AND id = ANY(%(ids)s)", ids=["q1", "q6"])
    assert (await checked(graph, repair=True)).left == ()
    assert await texts(graph) == before


async def test_a_message_that_nothing_has_any_longer_is_told_and_stays_found(
    settings: Settings, embeddings: Embeddings, echo: EchoModel
) -> None:
    """Report hindsight #3198: what was found in a message that is gone stayed behind, and nothing told it."""
    async with open_graph(settings.but(visible_messages=4), model=echo, embeddings=embeddings) as graph:
        await feed(graph, 8, summary_window="oldest")
        await graph.checkpointer.aprune(["t1"])
        await sql(graph, "DELETE FROM messages WHERE user_id = %(user_id)s AND id = 'q1'")
        after = await checked(graph, repair=True)
    assert {finding.kind for finding in after.left} == {"source missing", "message missing", "fact without source"}
    assert not after.healthy
    (missing,) = [finding for finding in after.left if finding.kind == "source missing"]
    assert missing.ids == ("q1",)
    assert missing.problem == "sources of summaries that the archive lacks: q1"


async def test_where_the_archive_lost_summaries_of_the_chain_their_sources_stand_there_again(
    graph: CompiledConversation, echo: EchoModel
) -> None:
    """The text of a summary is in the archive alone: what was said is told in its place, and summarized anew."""
    await feed(graph, 9)
    ids = summary_ids(await chain(graph))
    assert ids
    await sql(graph, "DELETE FROM summaries WHERE user_id = %(user_id)s AND id = ANY(%(ids)s)", ids=ids)
    await repaired(graph, "summary not archived", "lost from chain")
    assert set(ids).isdisjoint(await links(graph))
    everything = [id_ for _, id_, _ in await texts(graph)]
    assert set(everything) <= await reached(graph)
    stand = await links(graph)
    assert [id_ for id_ in everything if id_ in stand] == [id_ for id_ in stand if id_ in everything]
    state = await say(graph, "And on.")
    assert state["after_reply"].error is None
    assert {id_ for _, id_, _ in await texts(graph)} <= await reached(graph)
    assert (await checked(graph)).findings == ()


async def test_a_lower_summary_that_the_archive_lost_is_told_and_its_messages_stand_for_it(
    graph: CompiledConversation,
) -> None:
    await feed(graph, 9)
    before = await graph.resources.of_user("ada").archive.summaries("t1")
    higher = next(summary for summary in before if summary.level == 2)
    lower = next(summary for summary in before if summary.id == higher.source_ids[0])
    assert set(lower.source_ids).isdisjoint(await links(graph))
    await sql(graph, "DELETE FROM summaries WHERE user_id = %(user_id)s AND id = %(id)s", id=lower.id)
    after = await checked(graph, repair=True)
    assert [(finding.kind, finding.ids) for finding in after.left] == [("source missing", (lower.id,))]
    assert not after.healthy
    assert [id_ for id_ in await links(graph) if id_ in lower.source_ids] == list(lower.source_ids)
    assert higher.id in await reached(graph)


async def test_a_prompt_takes_a_summarys_text_from_the_archive(graph: CompiledConversation, echo: EchoModel) -> None:
    await feed(graph, 5)
    (id_, *_) = summary_ids(await chain(graph))
    text = "Another text about zebras."
    update = "UPDATE summaries SET content = %(text)s WHERE user_id = %(user_id)s AND id = %(id)s"
    await sql(graph, update, text=text, id=id_)
    assert (await checked(graph)).findings == ()
    await say(graph, "And on.", max_context_tokens=700, max_reply_tokens=100)
    assert text in "".join(message.text for message in echo.prompts[-1])


@pytest.mark.parametrize(("first", "last"), [("q1", "r1"), ("q1", None), ("r0", "q5"), ("q8", "r8")])
async def test_numbers_out_of_order_are_set_right(graph: CompiledConversation, first: str, last: str | None) -> None:
    """One of the messages, without its number, came after others: each of these has the number of the one before."""
    await feed(graph, 9)
    before = await texts(graph)
    numbers = {id_: seq for seq, id_, _ in before}
    end = numbers[last] if last is not None else len(before)
    number = "UPDATE messages SET seq = %(seq)s WHERE user_id = %(user_id)s AND id = %(id)s"
    await sql(graph, number, seq=-1, id=first)
    for id_, seq in numbers.items():
        if numbers[first] < seq <= end:
            await sql(graph, number, seq=seq - 1, id=id_)
    await sql(graph, number, seq=end, id=first)
    assert await texts(graph) != before
    await repaired(graph, "order")
    assert await texts(graph) == before


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM vectors WHERE user_id = %(user_id)s",
        "DELETE FROM vectors WHERE user_id = %(user_id)s AND source_id IN ('q0', 'r3')",
        "DELETE FROM vectors WHERE user_id = %(user_id)s AND source_id = 'q0' AND content LIKE 'My dog%%'",
        "DELETE FROM vectors WHERE user_id = %(user_id)s AND source_type = 'summary'",
        "UPDATE messages SET embedded_with = '' WHERE user_id = %(user_id)s",
    ],
)
async def test_what_lost_its_vector_is_queued_and_embedded(graph: CompiledConversation, damage: str) -> None:
    await feed(graph, 6)
    count = "SELECT count(*) AS n FROM vectors WHERE user_id = %(user_id)s"
    before = await sql(graph, count)
    await sql(graph, damage)
    await repaired(graph, "not embedded")
    assert await sql(graph, count) == before


async def test_what_is_queued_for_embedding_is_no_fault(graph: CompiledConversation) -> None:
    await feed(graph, 4)
    await sql(graph, "UPDATE messages SET embedded_with = NULL WHERE user_id = %(user_id)s")
    assert (await checked(graph)).findings == ()


@pytest.mark.parametrize("what", each(["both", "message", "summary"], quick=1))
async def test_what_fell_out_of_the_chain_is_put_back_in_its_place(graph: CompiledConversation, what: str) -> None:
    await feed(graph, 9)
    before = await chain(graph)
    messages, summaries = (await standing(graph))[-1:], summary_ids(before)[-1:]
    assert messages
    assert summaries
    gone = {"message": messages, "summary": summaries, "both": [*messages, *summaries]}[what]
    await rewrite(graph, without=gone)
    found = await repaired(graph, "lost from chain")
    assert set(found.findings[0].ids) == set(gone)
    assert (await chain(graph))["links"] == before["links"]
    state = await say(graph, "And on.")
    assert state["after_reply"].error is None


async def test_a_mark_of_a_summary_that_never_was_is_taken_away(graph: CompiledConversation) -> None:
    await feed(graph, 5)
    before = await chain(graph)
    marked = await standing(graph)
    await rewrite(graph, kept=marked)
    found = await checked(graph, repair=True)
    assert "mark without summary" in {finding.kind for finding in found.findings}
    assert found.left == ()
    assert (await chain(graph))["links"] == before["links"]


async def test_a_message_with_another_content_in_the_archive_is_kept_as_an_earlier_one(
    graph: CompiledConversation,
) -> None:
    """The archive takes the text of the state; the other one is kept as what has left."""
    state = await feed(graph, 5)
    live = (await standing(graph))[1]
    said = next(message for message in state["messages"] if message.id == live)
    before = await texts(graph)
    await sql(
        graph,
        "UPDATE messages SET text = 'Other.', message = jsonb_set(message, '{data,content}', '\"Other.\"') "
        "WHERE user_id = %(user_id)s AND id = %(id)s",
        id=live,
    )
    found = await repaired(graph, "message changed")
    assert found.findings[0].ids == (live,)
    kept = await graph.resources.of_user("ada").archive.messages("t1")
    assert [(m.seq, m.id, m.text) for m in kept if m.left_at is None] == before
    assert [m.text for m in kept if m.left_at is not None] == ["Other."]
    assert {m.id: m.text for m in kept}[live] == message_text(said)
    assert (await graph.aget_state(thread())).values["messages"] == state["messages"]


async def test_a_result_that_the_archive_lost_comes_back_or_its_call_is_told_to_have_none(
    settings: Settings, embeddings: Embeddings, echo: EchoModel
) -> None:
    async with open_graph(settings.but(visible_messages=4), model=echo, embeddings=embeddings) as graph:
        await feed(graph, 9)
        before = await texts(graph)
        await sql(graph, "DELETE FROM messages WHERE user_id = %(user_id)s AND id = 't2'")
        found = await checked(graph, repair=True)
        assert {finding.kind for finding in found.findings} >= {"call without result", "source missing"}
        assert found.left == ()
        assert await texts(graph) == before
        await graph.checkpointer.aprune(["t1"])
        await sql(graph, "DELETE FROM messages WHERE user_id = %(user_id)s AND id = 't2'")
        after = await checked(graph, repair=True)
        (told,) = [finding for finding in after.left if finding.kind == "call without result"]
        assert (told.ids, told.harmless, told.repairable) == (("c2",), True, False)
        assert [id_ for _, id_, _ in await texts(graph)] == [id_ for _, id_, _ in before if id_ != "t2"]


async def test_a_result_without_a_call_is_told_and_harmless(graph: CompiledConversation) -> None:
    lonely = ToolMessage("rain", tool_call_id="nobody", id="lonely")
    await graph.ainvoke(
        {"messages": [("user", "Weather?"), lonely, ("user", "Well?")]}, thread(), context={"user_id": "ada"}
    )
    checkup = await checked(graph, repair=True)
    assert [(finding.kind, finding.harmless) for finding in checkup.left] == [("result without call", True)]
    assert checkup.healthy


async def test_a_result_that_came_late_is_in_order(graph: CompiledConversation) -> None:
    call = AIMessage("", tool_calls=[{"name": "dial", "args": {}, "id": "late"}], id="call")
    for said in ([HumanMessage("Dial."), call, HumanMessage("Well?")], [ToolMessage("hello?", tool_call_id="late"),
                 HumanMessage("And now?")]):  # fmt: skip
        await graph.ainvoke({"messages": said}, thread(), context={"user_id": "ada"})
    await feed(graph, 9)
    assert {finding.kind for finding in (await checked(graph)).findings} == set()


async def test_many_faults_at_once_are_repaired_and_nothing_is_deleted(graph: CompiledConversation) -> None:
    await feed(graph, 12)
    before = await texts(graph)
    summaries = await graph.resources.of_user("ada").archive.summaries("t1")
    gone = [id_ for n, (_, id_, _) in enumerate(before) if n % 3 == 0]
    await sql(graph, "DELETE FROM messages WHERE user_id = %(user_id)s AND id = ANY(%(ids)s)", ids=gone)
    await sql(graph, "DELETE FROM summaries WHERE user_id = %(user_id)s AND level = 1")
    await sql(graph, "UPDATE messages SET embedded_with = '' WHERE user_id = %(user_id)s")
    left = (await checked(graph, repair=True)).left
    lost = {summary.id for summary in summaries if summary.level == 1}
    above = [summary for summary in summaries if summary.level > 1]
    # What a higher summary was made from cannot be made again; what was said stands for it.
    assert [finding.kind for finding in left] == ["source missing"]
    assert set(left[0].ids) == lost & {id_ for summary in above for id_ in summary.source_ids} != set()
    assert await texts(graph) == before
    assert await graph.resources.of_user("ada").archive.summaries("t1") == above
    assert {id_ for _, id_, _ in before} <= await reached(graph)


async def test_another_branch_of_the_history_is_not_lost(graph: CompiledConversation) -> None:
    await feed(graph, 3)
    fork = (await graph.aget_state(thread())).config
    for n in range(3):
        await say(graph, f"A side road, {n}.")
    await graph.ainvoke({"messages": [("user", "The main road.")]}, fork, context={"user_id": "ada"})
    await say(graph, "Further on the main road.")
    assert (await checked(graph)).findings == ()


async def test_an_imported_thread_is_healthy_before_and_after_it_is_gone_on_with(
    graph: CompiledConversation, settings: Settings, embeddings: Embeddings, tmp_path: Path
) -> None:
    await feed(graph, 9)
    file, there = tmp_path / "a.jsonl", settings.but(database_schema=f"{settings.database_schema}_b", user_id="ada")
    ours, theirs = storage_of(settings.but(user_id="ada")), storage_of(there)
    await export(ours, file)
    await import_(theirs, file, no_embed=True)
    await ours.close()
    await theirs.close()
    async with open_graph(there, embeddings=embeddings, model=EchoModel(prompts=[])) as other:
        assert (await checked(other)).findings == ()
        for n in range(4):
            await say(other, f"Going on, {n}.")
        checkup = await checked(other)
        assert checkup.findings == ()
        assert checkup.messages > 20


async def test_a_chain_whose_turn_waits_to_be_resumed_is_not_written(graph: CompiledConversation) -> None:
    await feed(graph, 5)
    await rewrite(graph, without=(await standing(graph))[1:2], as_node="pairing")
    checkup = await checked(graph, repair=True)
    (finding,) = checkup.left
    assert (finding.kind, finding.repairable) == ("lost from chain", False)
    assert finding.action.startswith("resume the turn of the thread that waits")


async def test_a_turn_that_waits_for_a_person_is_no_fault(settings: Settings, embeddings: Embeddings) -> None:
    @tool
    def ask(question: str) -> str:
        """Ask a person."""
        return str(interrupt(question))

    call = AIMessage("", tool_calls=[{"name": "ask", "args": {"question": "May I?"}, "id": "c1"}])
    model = ScriptedModel(script=["Hello.", call, "Thank you."], prompts=[])
    async with open_graph(settings, model=model, embeddings=embeddings, tools=[ask]) as graph:
        await say(graph, "Hello.")
        await say(graph, "Book it.")
        assert (await checked(graph, repair=True)).findings == ()
        state = await graph.ainvoke(Command(resume="yes"), thread(), context={"user_id": "ada"})
        assert state["messages"][-1].content == "Thank you."
        assert (await checked(graph)).findings == ()


async def test_vectors_in_a_store_of_ones_own_are_not_looked_for_in_our_table(
    settings: Settings, embeddings: Embeddings
) -> None:
    store = InMemoryVectorStore(embeddings)
    model = ScriptedModel(script=["Yes."], prompts=[])
    async with open_graph(settings, model=model, embeddings=embeddings, vector_store=store) as graph:
        await feed(graph, 5)
        assert store.store
        assert (await checked(graph)).findings == ()


def test_a_thread_is_checked_and_its_summaries_made_again_from_sync_code(
    settings: Settings, embeddings: Embeddings
) -> None:
    with open_graph(settings, model=ScriptedModel(script=["Yes."], prompts=[]), embeddings=embeddings) as graph:
        for n in range(4):
            graph.invoke({"messages": [("user", f"Remark {n}.")]}, thread(), context={"user_id": "ada"})
        (checkup,) = asyncio.run(examine(graph, "ada", "t1", repair=True))
        assert checkup.findings == ()
        assert checkup.messages == 8
        assert asyncio.run(regenerate_rejected(graph, "ada", "t1")) == []


async def test_a_check_finds_only_what_is_the_users(graph: CompiledConversation) -> None:
    await feed(graph, 3)
    await say(graph, "Mine.", to="t2", user="bob")
    assert [checkup.thread_id for checkup in await examine(graph, "ada")] == ["t1"]
    assert [checkup.thread_id for checkup in await examine(graph, "bob")] == ["t2"]
    assert await examine(graph, "ad") == []
    for user in ("bob", "ada%", "nobody"):
        with pytest.raises(InputError, match="There is no thread 't1'"):
            await examine(graph, user, "t1", repair=True)
    with pytest.raises(InputError, match="a graph with a checkpointer"):
        await examine(ConversationGraph(graph.resources).compile(), "ada")
    with pytest.raises(InputError, match="the graph that `open_graph` or"):
        await examine(StateGraph.compile(ConversationGraph(graph.resources)), "ada")


async def test_the_command_prints_one_line_a_finding_and_exits_with_one_until_it_is_repaired(
    graph: CompiledConversation, environment: dict[str, str]
) -> None:
    name = thread_id("work", "ada")
    await graph.resources.of_user("ada").archive.own_thread(name, "work")
    await feed(graph, 8, to=name, summary_window="oldest")
    rows = UserRows(graph.resources.database, "ada")
    await rows.fetch("DELETE FROM messages WHERE user_id = %(user_id)s AND id = 'r1'")
    await rows.fetch("DELETE FROM vectors WHERE user_id = %(user_id)s AND source_id = 'q2'")
    environment = {**environment, "EVERTHREAD_USER_ID": "ada"}

    async def doctor(*words: str) -> Any:
        return await asyncio.to_thread(CliRunner(env=environment).invoke, app, ["doctor", *words])

    looked = await doctor()
    assert looked.exit_code == 1
    assert "work: messages of the state that the archive lacks: r1. With --repair: archived from the" in looked.stdout
    assert "work: what lacks vectors, or some, and is not queued for them: q2. With --repair: queued" in looked.stdout
    repaired = await doctor("work", "--repair")
    assert repaired.exit_code == 0
    assert "is not queued for them: q2. Repaired: queued and embedded." in repaired.stdout
    assert len(repaired.stdout.splitlines()) == len(looked.stdout.splitlines())
    again = await doctor("work")
    assert again.exit_code == 0
    assert again.stdout.startswith("work: nothing is wrong (messages: 20, summaries: ")
    assert again.stdout.splitlines()[-1] == "Row-level security keeps users apart in this database."
    unknown = await doctor("other")
    assert str(unknown.exception) == "There is no thread 'other': `everthread threads` lists yours."


@given(st.lists(st.integers(1, 40), unique=True, max_size=12))
def test_numbers_come_into_order_and_stay_the_same(numbers: list[int]) -> None:
    given = {f"m{n}": number for n, number in enumerate(numbers)}
    new = {**given, **in_order(given)}
    assert list(new) == list(given)
    assert list(new.values()) == sorted(numbers)
    assert in_order(new) == {}


@given(st.lists(st.integers(1, 30), unique=True))
def test_gaps_are_all_numbers_that_are_not_there(numbers: list[int]) -> None:
    told: set[int] = set()
    for gap in gaps(numbers):
        first, _, last = gap.partition("-")
        told |= set(range(int(first), int(last or first) + 1))
    assert told == set(range(1, max(numbers, default=0) + 1)) - set(numbers)
