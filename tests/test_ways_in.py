"""All ways in lead to the same: what the conversation, the chain, the archive, facts and recall hold after each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from conversation import BrokenModel, EchoModel, counting_model, say, thread
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from everthread import InputError, ModelError, Settings, ThreadOwnershipError, open_graph
from everthread.graph.conversation import Conversation
from everthread.maintenance.transfer import export_rows, import_rows
from everthread.maintenance.transfer_format import check_file
from everthread.storage.user_rows import UserRows

ADA: Any = {"user_id": "ada"}


@pytest.fixture
async def talk(settings: Settings, embeddings: Embeddings) -> AsyncIterator[Conversation]:
    """The graph with a model that numbers its replies."""
    async with open_graph(settings, model=counting_model(), embeddings=embeddings) as graph:
        yield graph


async def shown(graph: Conversation, to: str = "t1") -> list[str]:
    """What a chat client shows: the texts of `messages`."""
    return [message.text for message in (await graph.aget_state(thread(to))).values.get("messages", [])]


async def told(graph: Conversation, to: str = "t1") -> list[str]:
    """The chain: texts of messages, and S1, S2, ... for summaries."""
    values = (await graph.aget_state(thread(to))).values
    texts = {message.id: message.text for message in values["messages"]}
    return [f"S{link['level']}" if "level" in link else texts[link["id"]] for link in values["chain"]["links"]]


async def kept(graph: Conversation, to: str = "t1", *, left: bool = False) -> list[str]:
    """The texts of the archive: of the conversation, or of what has left it."""
    page = await graph.resources.of_user("ada").archive.page(to, limit=1000, with_left=True)
    return [message.text for message in page if (message.left_at is not None) is left]


async def recalled(graph: Conversation, question: str) -> str:
    """What another thread remembers for a question."""
    await graph.asettled()
    state = await say(graph, question, to="elsewhere")
    return str([fragment.content for memory in state["recall"].memories for fragment in memory.fragments])


async def facts_told(graph: Conversation, question: str) -> str:
    """The facts that another thread is told."""
    await graph.asettled()
    return str((await say(graph, question, to="elsewhere"))["facts"].lines)


async def clean(graph: Conversation, to: str = "t1") -> None:
    """The doctor finds nothing in the thread."""
    from everthread import examine

    await graph.asettled()
    (checkup,) = await examine(graph, "ada", to)
    assert [finding.problem for finding in checkup.findings if not finding.harmless] == []


async def checkpoint_before(graph: Conversation, text: str, to: str = "t1") -> Any:
    """The config of the checkpoint before a text was said, as chat clients find it: the parent of the first with it."""
    history = [snapshot async for snapshot in graph.aget_state_history(thread(to), limit=10)]
    first = [s for s in history if text in [m.text for m in s.values.get("messages", [])]][-1]
    return first.parent_config


async def test_new_messages_are_shown_told_archived_and_recalled(talk: Conversation) -> None:
    await say(talk, "My dog is called Biscuit.")
    assert await shown(talk) == await told(talk) == await kept(talk) == ["My dog is called Biscuit.", "Reply 1."]
    assert "Biscuit" in await recalled(talk, "What is the name of my dog?")
    await clean(talk)


async def test_summaries_never_stand_among_the_messages(talk: Conversation) -> None:
    said = []
    for n in range(1, 13):
        await say(talk, f"Remark {n} about the garden.")
        said += [f"Remark {n} about the garden.", f"Reply {n}."]
    assert await shown(talk) == await kept(talk) == said
    assert any(text.startswith("S") for text in await told(talk))
    values = (await talk.aget_state(thread())).values
    assert all(isinstance(message, (HumanMessage, AIMessage)) for message in values["messages"])
    assert not any(message.additional_kwargs for message in values["messages"])
    await clean(talk)


async def test_the_same_message_again_gives_the_reply_there_is(talk: Conversation) -> None:
    question = {"messages": [{"role": "user", "content": "My dog is called Biscuit.", "id": "q1"}]}
    first = await talk.ainvoke(question, thread(), context=ADA)
    again = await talk.ainvoke(question, thread(), context=ADA)
    assert [m.text for m in again["messages"]] == [m.text for m in first["messages"]] == await shown(talk)
    assert await kept(talk) == await told(talk) == ["My dog is called Biscuit.", "Reply 1."]
    await say(talk, "And now?")
    older = await talk.ainvoke(question, thread(), context=ADA)
    assert [m.text for m in older["messages"]][-1] == "Reply 2."
    await clean(talk)


async def test_the_same_message_again_resumes_a_turn_that_broke_off(settings: Settings, embeddings: Embeddings) -> None:
    question = {"messages": [{"role": "user", "content": "Do not lose this.", "id": "q1"}]}
    async with open_graph(settings, model=BrokenModel(prompts=[]), embeddings=embeddings) as graph:
        with pytest.raises(ModelError):
            await graph.ainvoke(question, thread(), context=ADA)
    model = EchoModel(prompts=[])
    async with open_graph(settings, model=model, embeddings=embeddings) as graph:
        await graph.ainvoke(question, thread(), context=ADA)
        assert await shown(graph) == await kept(graph) == ["Do not lose this.", "You said: Do not lose this."]
        assert len(model.prompts) == 1
        await clean(graph)


@pytest.mark.parametrize("with_ids", [True, False], ids=["with ids", "without ids"])
async def test_the_whole_history_again_adds_only_what_is_new(talk: Conversation, with_ids: bool) -> None:
    said: list[AnyMessage] = []
    for n in range(1, 6):
        said.append(HumanMessage(f"Question {n}?", id=f"q{n}" if with_ids else None))
        state = await talk.ainvoke({"messages": list(said)}, thread(), context=ADA)
        reply = state["messages"][-1]
        said.append(AIMessage(reply.text, id=reply.id if with_ids else None))
    texts = [text for n in range(1, 6) for text in (f"Question {n}?", f"Reply {n}.")]
    assert await shown(talk) == await kept(talk) == texts
    await clean(talk)


async def test_the_whole_history_again_is_known_beyond_what_the_state_holds(
    settings: Settings, embeddings: Embeddings
) -> None:
    few = settings.but(visible_messages=4)
    async with open_graph(few, model=counting_model(), embeddings=embeddings) as graph:
        said: list[Any] = []
        for n in range(1, 9):
            said.append(("user", f"Question {n}?"))
            await graph.ainvoke({"messages": list(said)}, thread(), context=ADA)
            said.append(("assistant", f"Reply {n}."))
        assert await kept(graph) == [text for _, text in said]
        assert (await shown(graph))[-2:] == ["Question 8?", "Reply 8."]
        assert len(await shown(graph)) <= 5


async def test_history_without_ids_that_goes_on_otherwise_leaves_what_it_replaces(talk: Conversation) -> None:
    for text in ("My passport number is X111.", "What now?"):
        await say(talk, text)
    edited = [("user", "My passport number is X111."), ("assistant", "Reply 1."), ("user", "Rather tell me a story.")]
    await talk.ainvoke({"messages": edited}, thread(), context=ADA)
    texts = ["My passport number is X111.", "Reply 1.", "Rather tell me a story.", "Reply 3."]
    assert await shown(talk) == await told(talk) == await kept(talk) == texts
    assert await kept(talk, left=True) == ["What now?", "Reply 2."]
    await clean(talk)


async def test_new_messages_that_are_no_history_are_all_new(talk: Conversation) -> None:
    await say(talk, "Hello.")
    await talk.ainvoke(
        {"messages": [("user", "One."), ("assistant", "Two."), ("user", "Three.")]}, thread(), context=ADA
    )
    assert await shown(talk) == await kept(talk) == ["Hello.", "Reply 1.", "One.", "Two.", "Three.", "Reply 2."]


async def test_an_edit_from_an_earlier_checkpoint_leaves_the_branch(talk: Conversation) -> None:
    await say(talk, "Hello.")
    await say(talk, "My passport number is X111 and my son is called Peter.")
    await say(talk, "What next?")
    before = await checkpoint_before(talk, "My passport number is X111 and my son is called Peter.")
    await talk.ainvoke(
        {"messages": [("user", "My passport number is X222 and my son is called Paul.")]}, before, context=ADA
    )
    texts = ["Hello.", "Reply 1.", "My passport number is X222 and my son is called Paul.", "Reply 4."]
    assert await shown(talk) == await told(talk) == await kept(talk) == texts
    assert await kept(talk, left=True) == [
        "My passport number is X111 and my son is called Peter.", "Reply 2.", "What next?", "Reply 3.",
    ]  # fmt: skip
    memory = await recalled(talk, "What is my passport number?")
    assert "X222" in memory
    assert "X111" not in memory
    facts = await facts_told(talk, "What is my son called?")
    assert "Paul" in facts
    assert "Peter" not in facts
    await clean(talk)


async def test_the_first_message_can_be_edited(talk: Conversation) -> None:
    await say(talk, "birch")
    await say(talk, "What next?")
    before = await checkpoint_before(talk, "birch")
    await talk.ainvoke({"messages": [("user", "oak")]}, before, context=ADA)
    assert await shown(talk) == await told(talk) == await kept(talk) == ["oak", "Reply 3."]
    await clean(talk)


async def test_regenerate_answers_the_question_anew(talk: Conversation) -> None:
    await say(talk, "Hello.")
    await say(talk, "Tell me a story.")
    before = await checkpoint_before(talk, "Reply 2.")
    await talk.ainvoke(None, before, context=ADA)
    assert await shown(talk) == await told(talk) == ["Hello.", "Reply 1.", "Tell me a story.", "Reply 3."]
    assert await kept(talk, left=True) == ["Reply 2."]
    await clean(talk)


async def test_going_back_to_a_branch_makes_it_the_conversation_again(talk: Conversation) -> None:
    await say(talk, "Hello.")
    await say(talk, "My cat is called Minka.")
    old_end = (await talk.aget_state(thread())).config
    await talk.ainvoke(None, await checkpoint_before(talk, "Reply 2."), context=ADA)
    assert await kept(talk, left=True) == ["Reply 2."]
    await talk.ainvoke({"messages": [("user", "And on with the first.")]}, old_end, context=ADA)
    assert await shown(talk) == await kept(talk)
    assert "Reply 2." in await shown(talk)
    assert await kept(talk, left=True) == ["Reply 3."]
    await clean(talk)


async def test_update_state_adds_what_the_next_turn_tells_and_archives(talk: Conversation) -> None:
    await say(talk, "Hello.")
    await talk.aupdate_state(thread(), {"messages": [("user", "Noted by hand."), ("assistant", "Indeed.")]})
    assert await shown(talk) == ["Hello.", "Reply 1.", "Noted by hand.", "Indeed."]
    state = await say(talk, "And now?")
    assert "Noted by hand." in str(state["context"].messages)
    assert await kept(talk) == await shown(talk)
    await clean(talk)


async def test_update_state_replaces_a_message_by_its_id(talk: Conversation) -> None:
    await say(talk, {"messages": [{"role": "user", "content": "My dog is called Rex.", "id": "q1"}]})
    await talk.aupdate_state(thread(), {"messages": [HumanMessage("My dog is called Biscuit.", id="q1")]})
    await say(talk, "Well?")
    assert await shown(talk) == await kept(talk)
    assert (await shown(talk))[0] == "My dog is called Biscuit."
    assert await kept(talk, left=True) == ["My dog is called Rex."]
    memory = await recalled(talk, "What is the name of my dog?")
    assert "Biscuit" in memory
    assert "Rex" not in memory
    await clean(talk)


async def test_the_last_question_sent_with_another_content_is_an_edit(talk: Conversation) -> None:
    await say(talk, "Hello.")
    await say(talk, {"messages": [{"role": "user", "content": "birch", "id": "q2"}]})
    await say(talk, {"messages": [{"role": "user", "content": "oak", "id": "q2"}]})
    assert await shown(talk) == await kept(talk) == ["Hello.", "Reply 1.", "oak", "Reply 3."]
    assert sorted(await kept(talk, left=True)) == ["Reply 2.", "birch"]
    await clean(talk)


async def test_an_edited_source_has_its_summary_made_again(talk: Conversation) -> None:
    for n in range(3):
        await say(talk, f"Remark {n} about the garden with its old roses and the long wall.")
    (summary,) = await talk.resources.of_user("ada").archive.summaries("t1")
    last = (await talk.aget_state(thread())).values["messages"][-2]
    await talk.aupdate_state(thread(), {"messages": [HumanMessage("The garden has a pond full of frogs.", id=last.id)]})
    await say(talk, "Well?")
    await say(talk, "And?")
    (again, *_) = await talk.resources.of_user("ada").archive.summaries("t1")
    assert again.id == summary.id
    assert again.rejected or again.version > summary.version


async def test_a_removed_message_is_neither_shown_nor_told_nor_recalled(talk: Conversation) -> None:
    await say(talk, "My dog is called Biscuit.")
    await say(talk, "I live in Oslo.")
    first = (await talk.aget_state(thread())).values["messages"][0]
    state = await say(talk, {"messages": [RemoveMessage(id=str(first.id)), ("user", "And now?")]})
    assert "Biscuit" not in str(state["context"].messages)
    assert await shown(talk) == await told(talk) == await kept(talk)
    assert await kept(talk, left=True) == ["My dog is called Biscuit."]
    assert "Biscuit" not in await recalled(talk, "What is the name of my dog?")
    await clean(talk)


async def test_several_and_all_messages_can_be_removed_and_summaries_stay(talk: Conversation) -> None:
    for n in range(1, 5):
        await say(talk, f"Remark {n} about the garden.")
    assert any(text.startswith("S") for text in await told(talk))
    await say(talk, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), ("user", "Begin anew.")]})
    assert await shown(talk) == ["Begin anew.", "Reply 5."]
    chain = await told(talk)
    assert chain[-2:] == ["Begin anew.", "Reply 5."]
    assert all(text.startswith("S") for text in chain[:-2])
    assert len(await kept(talk, left=True)) == 8
    await clean(talk)


async def test_the_removal_of_nothing_changes_nothing(talk: Conversation) -> None:
    await say(talk, "Hello.")
    before = await shown(talk)
    await say(talk, {"messages": [RemoveMessage(id="unknown")]})
    assert await shown(talk) == await told(talk) == await kept(talk) == before


async def test_removing_the_reply_answers_the_question_anew(talk: Conversation) -> None:
    await say(talk, "Hello.")
    reply = (await talk.aget_state(thread())).values["messages"][-1]
    await say(talk, {"messages": [RemoveMessage(id=str(reply.id))]})
    assert await shown(talk) == await told(talk) == ["Hello.", "Reply 2."]
    assert await kept(talk, left=True) == ["Reply 1."]


async def test_a_thread_that_existed_before_everthread_is_taken_in(settings: Settings, embeddings: Embeddings) -> None:
    from langgraph.graph import START, MessagesState, StateGraph

    from everthread.storage.open import checkpointer_of, storage_of

    storage = storage_of(settings)
    await storage.open()
    plain = StateGraph(MessagesState).add_node("n", lambda _: {}).add_edge(START, "n")
    compiled = plain.compile(checkpointer=checkpointer_of(storage))  # type: ignore[arg-type]
    old = [m for n in range(4) for m in (("user", f"Old question {n}"), ("assistant", f"Old reply {n}"))]
    await compiled.ainvoke({"messages": [*old, ("user", "My dog is called Biscuit.")]}, thread())  # type: ignore[arg-type]
    await storage.close()
    async with open_graph(settings, model=counting_model(), embeddings=embeddings) as graph:
        await say(graph, "Do you know?")
        assert len(await shown(graph)) == 11
        assert await shown(graph) == await kept(graph)
        assert "Biscuit" in await recalled(graph, "What is the name of my dog?")
        await clean(graph)


async def test_a_thread_whose_state_is_gone_goes_on_with_its_messages_and_chain(talk: Conversation) -> None:
    for n in range(1, 7):
        await say(talk, f"Remark {n} about the garden.")
    messages, chain = await shown(talk), await told(talk)
    await talk.checkpointer.adelete_thread("t1")  # type: ignore[union-attr]
    await say(talk, "And now?")
    assert await shown(talk) == [*messages, "And now?", "Reply 7."]
    assert chain[3:] == ["S2"]
    assert (await told(talk))[: len(chain)] == chain
    await clean(talk)


async def test_a_cancelled_turn_keeps_the_question_and_the_order(settings: Settings, embeddings: Embeddings) -> None:
    async with open_graph(settings, model=counting_model("one two three {n}"), embeddings=embeddings) as graph:
        await say(graph, "Hello.")
        stream = graph.astream({"messages": [("user", "Stop me.")]}, thread(), context=ADA, stream_mode="messages")
        async for _ in stream:
            break
        await stream.aclose()  # type: ignore[attr-defined]
        await say(graph, "Go on.")
        texts = await shown(graph)
        assert [text for text in texts if not text.startswith("one")] == ["Hello.", "Stop me.", "Go on."]
        assert await kept(graph) == texts
        await clean(graph)


async def test_commands_stay_on_the_screen_and_out_of_everything_else(talk: Conversation) -> None:
    await say(talk, "Hello.")
    await say(talk, "/summary_status")
    state = await say(talk, "And now?")
    texts = await shown(talk)
    assert texts[2] == "/summary_status"
    assert texts[3].startswith("- Summaries: on")
    assert "/summary_status" not in str(state["context"].messages)
    assert await told(talk) == await kept(talk) == ["Hello.", "Reply 1.", "And now?", "Reply 2."]
    await clean(talk)


async def test_another_users_input_leaves_no_trace(talk: Conversation) -> None:
    await say(talk, "My dog is called Biscuit.")
    first = (await talk.aget_state(thread())).values["messages"][0]
    for given in ([("user", "my IBAN for payouts is DE00")], [RemoveMessage(id=str(first.id)), ("user", "hi")]):
        with pytest.raises(ThreadOwnershipError):
            await talk.ainvoke({"messages": given}, thread(), context={"user_id": "bob"})
    with pytest.raises(ThreadOwnershipError):
        await talk.aupdate_state(
            {"configurable": {"thread_id": "t1", "user_id": "bob"}}, {"messages": [("user", "my IBAN is DE00")]}
        )
    await say(talk, "Well?")
    assert await shown(talk) == await kept(talk) == ["My dog is called Biscuit.", "Reply 1.", "Well?", "Reply 2."]


@pytest.mark.parametrize(
    "given",
    [
        [{"role": "user", "content": ""}], [{"role": "banana", "content": "hi"}], [{"role": "user"}],
 [("user",)], [None], [],
    ],
    ids=["empty", "unknown role", "no content", "half a pair", "nothing", "no message"],
)  # fmt: skip
async def test_refused_input_is_one_sentence_and_leaves_no_trace(talk: Conversation, given: Any) -> None:
    await say(talk, "Hello.")
    with pytest.raises(InputError) as raised:
        await talk.ainvoke({"messages": given}, thread(), context=ADA)
    assert "\n" not in str(raised.value)
    assert await shown(talk) == ["Hello.", "Reply 1."]
    assert (await talk.aget_state(thread())).next == ()
    await say(talk, "And on.")
    assert await shown(talk) == await kept(talk) == ["Hello.", "Reply 1.", "And on.", "Reply 2."]


async def test_keys_of_ours_in_a_clients_message_do_nothing(talk: Conversation) -> None:
    forged: list[dict[str, Any]] = [
        {"everthread_summary": {"level": 1, "source_ids": ["x"]}}, {"everthread_command": True},
        {"everthread_covered": True}, {"everthread_kept": True}, {"everthread_unreadable": "x"},
    ]  # fmt: skip
    for n, keys in enumerate(forged):
        message = HumanMessage(f"Remark {n}.", additional_kwargs={**keys, "mine": 1})
        await say(talk, {"messages": [message]})
    assert len(await shown(talk)) == 10
    assert await shown(talk) == await kept(talk)
    values = (await talk.aget_state(thread())).values
    assert [m.additional_kwargs for m in values["messages"][::2]] == [{"mine": 1}] * 5
    await clean(talk)


async def test_a_client_can_neither_forge_nor_empty_the_chain(talk: Conversation) -> None:
    for n in range(1, 4):
        await say(talk, f"Remark {n} about the garden.")
    chain = await told(talk)
    forged: Any = {"messages": [("user", "hi")], "chain": {"links": [], "known": {}, "last": None}}
    await talk.ainvoke(forged, thread(), context=ADA)
    assert (await told(talk))[: len(chain)] == chain


async def test_two_messages_of_one_id_and_a_result_without_its_call_do_no_harm(talk: Conversation) -> None:
    twice = [HumanMessage("One.", id="same"), HumanMessage("Two.", id="same")]
    await say(talk, {"messages": twice})
    assert await shown(talk) == ["Two.", "Reply 1."]
    await say(talk, {"messages": [ToolMessage("found", tool_call_id="nobody"), HumanMessage("Go on.")]})
    assert (await shown(talk))[-2:] == ["Go on.", "Reply 2."]
    await say(talk, "And on.")
    assert await shown(talk) == await kept(talk)


async def test_an_id_that_is_a_number_is_taken_as_its_text(talk: Conversation) -> None:
    await say(talk, {"messages": [{"role": "user", "content": "hi", "id": 7}]})
    assert (await talk.aget_state(thread())).values["messages"][0].id == "7"
    assert await shown(talk) == await kept(talk) == ["hi", "Reply 1."]


async def test_a_thousand_messages_at_once_are_taken_in_and_caught_up_with(talk: Conversation) -> None:
    many = [m for n in range(500) for m in (("user", f"Question {n}?"), ("assistant", f"Answer {n}."))]
    await say(talk, {"messages": [*many, ("user", "And now?")]})
    assert len(await kept(talk)) == 1000 or len(await talk.resources.of_user("ada").archive.messages("t1")) == 1002
    assert len(await shown(talk)) <= 250
    first = len(await talk.resources.of_user("ada").archive.summaries("t1"))
    await say(talk, "And on?")
    assert first < len(await talk.resources.of_user("ada").archive.summaries("t1"))


async def test_history_comes_in_pages(talk: Conversation) -> None:
    for n in range(1, 6):
        await say(talk, f"Remark {n}.")
    archive = talk.resources.of_user("ada").archive
    newest = await archive.page("t1", limit=4)
    assert [message.text for message in newest] == ["Remark 4.", "Reply 4.", "Remark 5.", "Reply 5."]
    before = await archive.page("t1", before=newest[0].id, limit=100)
    assert [message.text for message in before] == [t for n in range(1, 4) for t in (f"Remark {n}.", f"Reply {n}.")]
    assert await talk.resources.of_user("bob").archive.page("t1") == []


async def test_an_imported_thread_goes_on_with_the_same_prompt(
    settings: Settings, embeddings: Embeddings, tmp_path: Path
) -> None:
    model, other = EchoModel(prompts=[]), EchoModel(prompts=[])
    file = tmp_path / "ada.jsonl"
    async with open_graph(settings, model=model, embeddings=embeddings) as graph:
        for n in range(1, 12):
            await say(graph, f"Remark {n} about the garden and its {n} roses.")
        await graph.asettled()
        storage = graph.resources.database
        await export_rows(UserRows(storage, "ada"), file, written=lambda _done, _all: None)
        moved = Settings(database_url="sqlite", data_dir=tmp_path, web_search="off", summary_model="extractive")
        async with open_graph(moved, model=other, embeddings=embeddings) as imported:
            checked = check_file(file)
            await import_rows(UserRows(imported.resources.database, "ada"), file, checked, added=lambda _added: None)
            imported.resources.of_user("ada").embed_later(60)
            await imported.asettled()
            for asked in (graph, imported):
                await say(asked, "How many roses are there?")
            assert [message.text for message in other.prompts[-1]] == [message.text for message in model.prompts[-1]]
            assert (await shown(imported))[:-1] == (await shown(graph))[:-1]
