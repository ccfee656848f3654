"""Team spaces: several users share a memory, each with the right that was given, beside their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from conversation import EchoModel, say
from langchain.agents import create_agent
from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.memory import InMemorySaver

from everthread import (
    ConversationMemory,
    Everthread,
    EverthreadError,
    InputError,
    MemoryStore,
    RightsError,
    Settings,
    TeamSpace,
    ThreadOwnershipError,
    find_report,
    open_graph,
    open_memory,
)
from everthread.graph.build import ConversationGraph
from everthread.storage.open import checkpointer_of
from everthread.storage.spaces import owner_of_space
from everthread.storage.user_rows import UserRows

PLAN = [("user", "The regatta starts at seven in Kotka."), ("assistant", "Noted for the crew.")]


@pytest.fixture
async def ada(stored: Settings, embeddings: Embeddings) -> AsyncIterator[ConversationMemory]:
    async with open_memory(stored, user_id="ada", embeddings=embeddings) as memory:
        yield memory


@pytest.fixture
async def crew(ada: ConversationMemory) -> TeamSpace:
    """A space with a plan in it: ada may forget, bob write, cleo read, and dan nothing."""
    team = TeamSpace(ada, "crew")
    for user_id, right in (("ada", "forget"), ("bob", "write"), ("cleo", "read")):
        await team.agive(user_id, right)  # type: ignore[arg-type]  # a literal
    await ada.space("crew").aremember(PLAN, thread_id="plan")
    await ada.asettled()
    return team


async def test_what_one_member_keeps_another_recalls_and_is_told_from_where(
    ada: ConversationMemory, crew: TeamSpace
) -> None:
    cleo = ada.of("cleo")
    await cleo.aremember([("user", "The regatta starts at seven, I think.")], thread_id="own")
    await cleo.asettled()
    found = await cleo.arecall("When does the regatta start?", spaces=["crew"])
    assert {(memory.space, memory.thread_id) for memory in found} == {("crew", "plan"), (None, "own")}
    shared = cleo.space("crew")
    assert [row.text for row in await shared.ahistory("plan")] == [text for _, text in PLAN]
    assert [row["thread_id"] for row in await shared.athreads()] == ["plan"]
    assert await shared.afacts() == []
    assert await shared.apins() == []
    assert await cleo.aspaces() == {"crew": "read"}
    assert await crew.amembers() == {"ada": "forget", "bob": "write", "cleo": "read"}


async def test_a_turn_of_the_graph_and_of_an_agent_recalls_from_the_spaces_that_its_user_may_read(
    stored: Settings, embeddings: Embeddings, ada: ConversationMemory, crew: TeamSpace
) -> None:
    if stored.storage_kind == "json":
        pytest.skip("a JSON file takes one at a time: here are a memory, a graph and an agent")
    asked = "When does the regatta in Kotka start?"
    shown = "user of the team crew: The regatta starts at seven in Kotka."
    model = EchoModel(prompts=[])
    settings = stored.but(memory_scope="spaces")
    middleware = Everthread(settings, embeddings=embeddings)
    agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    async with open_graph(settings, model=model, embeddings=embeddings) as graph:
        for user_id, is_shown in (("cleo", True), ("dan", False)):
            state = await say(graph, asked, to=f"graph-{user_id}", user=user_id)
            assert [memory.space for memory in state["recall"].memories] == (["crew"] if is_shown else [])
            assert any(shown in text for text in map(str, model.prompts)) == is_shown
            model.prompts.clear()
            config: Any = {"configurable": {"thread_id": f"agent-{user_id}", "user_id": user_id}}
            await agent.ainvoke({"messages": [("user", asked)]}, config)
            assert any(shown in text for text in map(str, model.prompts)) == is_shown
            model.prompts.clear()
        (found,) = (await find_report(graph, "cleo", "graph-cleo")).memories
        assert found.space == "crew"
        await crew.atake("cleo")
        state = await say(graph, asked, to="graph-cleo-2", user="cleo")
        assert all(memory.space is None for memory in state["recall"].memories)
    await middleware.aclose()


async def test_by_default_nobody_shares_anything(ada: ConversationMemory, crew: TeamSpace) -> None:
    dan = ada.of("dan")
    assert await dan.arecall("When does the regatta start?") == []
    assert await ada.of("cleo").arecall("When does the regatta start?") == []
    assert await dan.aspaces() == {}
    for name in ("crew", "no such space"):
        space = dan.space(name)
        for asked in (
            space.arecall("regatta"), space.ahistory("plan"), space.athreads(), space.afacts(), space.apins(),
            space.asummaries("plan"), space.aremember(PLAN, thread_id="plan"), space.adelete(),
            space.adelete("plan"), space.aadd_fact("I live in Oslo"), dan.arecall("regatta", spaces=[name]),
            space.apin("x", thread_id="plan"), space.acontext("regatta?", thread_id="plan"),
            space.aexport("/nowhere"), MemoryStore(space).aget(("t",), "k"), MemoryStore(space).asearch(()),
            MemoryStore(space).aput(("t",), "k", {}),
        ):  # fmt: skip
            with pytest.raises(RightsError, match="may not"):
                await asked
    assert len(await ada.space("crew").ahistory("plan")) == 2


async def test_who_may_read_does_not_write_and_who_may_write_does_not_forget(
    ada: ConversationMemory, crew: TeamSpace
) -> None:
    reader, writer = ada.of("cleo").space("crew"), ada.of("bob").space("crew")
    store = MemoryStore(writer)
    await store.aput(("t",), "k", {"text": "rope"})
    (plan, _) = await reader.ahistory("plan")
    for refused in (
        reader.aremember([("user", "More.")], thread_id="plan"), reader.aremember([("user", "New.")], thread_id="new"),
        reader.aadd_fact("I live in Oslo"), reader.apin("x", thread_id="plan"), reader.adelete("plan"),
        reader.aforget("plan", messages=[plan.id]), MemoryStore(reader).aput(("t",), "k", {}),
        MemoryStore(reader).adelete(("t",), "k"),
        writer.adelete("plan"), writer.adelete(),
        writer.aforget("plan", messages=[plan.id]), store.adelete(("t",), "k"),
    ):  # fmt: skip
        with pytest.raises(RightsError, match="may not"):
            await refused
    assert await writer.aremember([("user", "Bring a rope.")], thread_id="plan") == 1
    (fact,) = await writer.aadd_fact("The boat is red")
    with pytest.raises(RightsError):
        await writer.aforget_fact(fact.id, keep_said=True)
    assert [row.text for row in await reader.ahistory("plan")][-1] == "Bring a rope."
    assert (await MemoryStore(reader).aget(("t",), "k")).value == {"text": "rope"}  # type: ignore[union-attr]
    assert (await ada.space("crew").aforget("plan", messages=[plan.id])).messages == 1
    assert (await ada.space("crew").adelete()).documents == 1
    assert await reader.athreads() == []


async def test_a_right_that_is_taken_holds_no_longer_nor_in_what_was_opened_before(
    ada: ConversationMemory, crew: TeamSpace
) -> None:
    opened = ada.of("bob").space("crew")
    assert await opened.arecall("When does the regatta start?")
    await crew.agive("bob", "read")
    assert await opened.arecall("When does the regatta start?")
    with pytest.raises(RightsError):
        await opened.aremember([("user", "More.")], thread_id="plan")
    await crew.atake("bob")
    for asked in (opened.arecall("When does the regatta start?"), opened.ahistory("plan"), opened.athreads()):
        with pytest.raises(RightsError):
            await asked
    with pytest.raises(InputError, match="no right 'own'"):
        await crew.agive("bob", "own")  # type: ignore[arg-type]  # that is what is refused


async def test_a_user_who_is_deleted_is_no_member_and_what_is_the_teams_stays(
    ada: ConversationMemory, crew: TeamSpace
) -> None:
    bob = ada.of("bob")
    await bob.space("crew").aremember([("user", "Bring a rope.")], thread_id="plan")
    await bob.aremember([("user", "I like tea.")], thread_id="bobs")
    await bob.adelete()
    assert await bob.aspaces() == {}
    with pytest.raises(RightsError):
        await bob.space("crew").ahistory("plan")
    assert len(await ada.space("crew").ahistory("plan")) == 3
    assert (await crew.adelete()).messages == 3
    assert await crew.amembers() == {}
    with pytest.raises(RightsError):
        await ada.space("crew").athreads()
    await crew.agive("cleo", "read")
    assert await ada.of("cleo").space("crew").athreads() == []


async def test_nobody_becomes_a_space_by_its_name(
    ada: ConversationMemory, crew: TeamSpace, stored: Settings, embeddings: Embeddings
) -> None:
    owner = owner_of_space("crew")
    with pytest.raises(RightsError):
        ada.of(owner)
    with pytest.raises(RightsError):
        UserRows(ada.resources.database, owner)
    with pytest.raises(EverthreadError):
        await TeamSpace(ada, "crew").agive(owner, "read")
    with pytest.raises(InputError):
        ada.space(" ")
    with pytest.raises(ThreadOwnershipError):
        await ada.of("dan").aremember([("user", "This thread is mine.")], thread_id="plan")
    if stored.storage_kind != "json":
        async with open_graph(stored, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
            for user, thread in ((owner, "t9"), ("dan", "plan")):
                with pytest.raises(EverthreadError):
                    await say(graph, "What is the plan?", to=thread, user=user)


async def test_no_door_of_the_graph_leads_into_a_space(ada: ConversationMemory, crew: TeamSpace) -> None:
    """Neither by its name as a user, nor by the id of a thread in it: for strangers and members alike."""
    graph = ConversationGraph(ada.resources).compile(checkpointer=checkpointer_of(ada.resources.database))
    middleware = Everthread(ada.resources.settings)
    middleware.resources = ada.resources
    model = EchoModel(prompts=[])
    agent: Any = create_agent(model, [], middleware=[middleware], checkpointer=InMemorySaver())
    asked: Any = {"messages": [("user", "When does the regatta start, and where?")]}
    owner = owner_of_space("crew")
    for user, thread in ((owner, "plan"), (owner, "own"), ("dan", "plan"), ("ada", "plan")):
        by_name: Any = {"configurable": {"thread_id": thread, "user_id": user}}
        ours: Any = {"configurable": {"thread_id": thread, "everthread": {"user_id": user}}}
        for tried in (
            graph.ainvoke(asked, {"configurable": {"thread_id": thread}}, context={"user_id": user}),
            graph.ainvoke(asked, by_name), graph.aget_state(by_name), graph.aupdate_state(by_name, asked),
            graph.adelete(user, thread), agent.ainvoke(asked, by_name), agent.ainvoke(asked, ours),
        ):  # fmt: skip
            with pytest.raises(EverthreadError) as refusal:
                await tried
            assert "Kotka" not in str(refusal.value)
    assert model.prompts == []
    assert [row.text for row in await ada.space("crew").ahistory("plan", with_left=True)] == [text for _, text in PLAN]


async def test_the_database_refuses_too_where_the_program_forgot_to_ask(
    settings: Settings, embeddings: Embeddings
) -> None:
    async with open_memory(settings, user_id="ada", embeddings=embeddings) as ada:
        team, owner = TeamSpace(ada, "crew"), owner_of_space("crew")
        await team.agive("ada", "write")
        await team.agive("cleo", "read")
        await ada.space("crew").aremember(PLAN, thread_id="plan")
        await ada.asettled()
        database = ada.resources.database

        async def done(member: str, statement: str) -> list[dict[str, object]]:
            async def work(connection):  # type: ignore[no-untyped-def]  # a connection of either kind
                await connection.execute(*database.scope(owner, member))
                return await (await connection.execute(statement)).fetchall()

            return await database.run(work)

        assert [len(await done(user, "SELECT id FROM messages")) for user in ("ada", "cleo", "dan")] == [2, 2, 0]
        delete = "DELETE FROM messages RETURNING id"
        assert [len(await done(user, delete)) for user in ("cleo", "dan")] == [0, 0]
        update = "UPDATE messages SET text = 'x' RETURNING id"
        with pytest.raises(EverthreadError, match="row-level security"):
            await done("cleo", update)
        assert await done("dan", update) == []
        assert [row.text for row in await ada.space("crew").ahistory("plan")] == [text for _, text in PLAN]


async def test_a_spaces_work_beside_is_done_whoever_asked(ada: ConversationMemory, crew: TeamSpace) -> None:
    bob = ada.of("bob").space("crew")
    await bob.aremember([("user", "We meet in Lahti, and the boat is called Heron.")], thread_id="plan")
    await crew.atake("bob")
    await ada.asettled()
    first = (await ada.of("cleo").space("crew").arecall("What is the boat called?", limit=1))[0]
    assert "Heron" in first.fragments[0].content
