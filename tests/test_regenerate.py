"""Summaries made again: by the user's word, or by a later turn where the model's text had been rejected."""

from __future__ import annotations

import asyncio
import itertools
import re
from typing import Any

import pytest
from conversation import EchoModel, say, thread, view_in
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import StateGraph
from typer.testing import CliRunner

from everthread import InputError, Settings, Summary, TurnReport, open_graph, regenerate, regenerate_rejected, thread_id
from everthread.cli.main import app
from everthread.compression.thread import control_of
from everthread.graph.build import ConversationGraph
from everthread.graph.conversation import Conversation
from everthread.storage.archive import Archive  # fmt: skip
from everthread.storage.postgres.database import Database
from everthread.storage.summary_rows import SummaryRows
from everthread.storage.user_rows import UserRows


class MoodyModel(EchoModel):
    """A chat model that echoes; its summaries are as its mood is: a text, an error, or the words it was given."""

    mood: list[Any]
    """The first is its mood; None gives good summaries."""
    asked: list[str] = []  # noqa: RUF012  # a pydantic field

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
        found = re.search(r"<excerpt id=\w+>\n(.*)\n</excerpt", messages[-1].text, re.DOTALL)
        if found is None:
            return super()._generate(messages, stop, run_manager, **more)
        self.asked.append(found[1])
        mood = self.mood[0]
        if isinstance(mood, Exception):
            raise mood
        numbers = sorted(set(re.findall(r"number (\d+)", found[1])), key=int, reverse=True)
        text = mood if mood is not None else f"Remarks on the garden: number {', number '.join(numbers)}."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


def moody(mood: Any = None) -> MoodyModel:
    return MoodyModel(prompts=[], mood=[mood], asked=[])


async def talk(graph: Conversation, turns: int, *, start: int = 0, **more: Any) -> Any:
    for n in range(start, start + turns):
        state = await say(graph, f"Remark on the garden, number {n}, with a few more words about it.", **more)
        await graph.asettled()
    return state


async def standing(graph: Conversation, to: str = "t1") -> list[Summary]:
    """The summaries that stand in the chain once the next turn has begun."""
    found = await graph.resources.of_user("ada").archive.standing(to, recent=0, limit=100)
    return list(found.summaries.values())


@pytest.fixture(scope="module")
def embeddings() -> Embeddings:
    """Meaning does not matter here."""
    return DeterministicFakeEmbedding(size=8)


@pytest.fixture
def ours(settings: Settings, eager: None) -> Settings:
    return settings.but(summary_model=None)


async def test_a_rejected_summary_is_made_again_in_a_later_turn_once_the_model_behaves(
    ours: Settings, embeddings: Embeddings
) -> None:
    model = moody("I'm sorry, I cannot help with that.")
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await talk(graph, 3)
        (before,) = await standing(graph)
        assert before.rejected == "it is a refusal"
        assert before.version == 1
        model.mood[0] = None
        regenerated: list[str] = []
        for n in range(3, 9):
            state = await talk(graph, 1, start=n)
            regenerated += state["after_reply"].regenerated
            assert len(state["after_reply"].regenerated) <= 1
            assert state["after_reply"].error is None
        assert before.id in regenerated
        kept = {summary.id: summary for summary in await graph.resources.of_user("ada").archive.summaries("t1")}
        assert (kept[before.id].version, kept[before.id].method, kept[before.id].rejected) == (2, "model", None)
        assert kept[before.id].created_at == before.created_at
        assert all(summary.rejected is None for summary in [*kept.values(), *await standing(graph)])
        (old,) = await graph.resources.of_user("ada").summaries.versions("t1", before.id)
        assert (old.content, old.method, old.rejected) == (before.content, "extractive", "it is a refusal")
        assert all(kept[summary.id] == summary for summary in await standing(graph))
        in_chain = [link["id"] for link in state["chain"]["links"] if "level" in link]
        assert in_chain
        assert all(state["chain_texts"][id_] == kept[id_] for id_ in in_chain)


@pytest.mark.slow
async def test_a_model_that_keeps_failing_is_asked_ever_less_often(ours: Settings, embeddings: Embeddings) -> None:
    model = moody(ConnectionError("down"))
    async with open_graph(ours.but(n_sum=4, facts=False), model=model, embeddings=embeddings) as graph:
        tries: list[int] = []
        for n in range(1, 28):
            state = await talk(graph, 1, start=n)
            if state["after_reply"].not_regenerated:
                assert "the model failed (ConnectionError)" in state["after_reply"].not_regenerated
                assert state["after_reply"].regenerated == ()
                tries.append(n)
    waits = [later - earlier for earlier, later in itertools.pairwise(tries)]
    assert len(waits) >= 2
    # A summary that is rejected in the turn itself puts the try off to a later one.
    assert all(wait >= 2**n for n, wait in enumerate(waits, start=1))


async def test_the_report_of_the_turn_tells_what_was_made_again(ours: Settings, embeddings: Embeddings) -> None:
    model = moody("")
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        for n in range(8):
            report = TurnReport.model_validate((await talk(graph, 1, start=n))["report"])
            if report.after_reply is not None and report.after_reply.not_regenerated is not None:
                break
        assert report.after_reply is not None
        assert report.after_reply.not_regenerated is not None
        assert "it is empty" in report.after_reply.not_regenerated
        assert f"in turn {report.turn + 2}" in report.after_reply.not_regenerated
        model.mood[0] = None
        told = [(await talk(graph, 1, start=n))["report"]["after_reply"]["regenerated"] for n in range(8, 13)]
    assert any(told)


async def test_a_summary_that_is_rejected_and_no_longer_in_the_chain_is_made_again_too(
    ours: Settings, embeddings: Embeddings
) -> None:
    model = moody("")
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await talk(graph, 5)
        model.mood[0] = None
        state = await talk(graph, 14, start=5)
        summaries = await graph.resources.of_user("ada").archive.summaries("t1")
    assert any(summary.version == 2 for summary in summaries)
    assert not any(summary.rejected for summary in summaries)
    assert not control_of(state).regeneration_owed


async def test_without_a_summary_model_nothing_is_owed(graph: Conversation) -> None:
    for n in range(6):
        state = await talk(graph, 1, start=n)
        assert state["after_reply"].not_regenerated is None
        assert state["after_reply"].regenerated == ()


async def test_where_summaries_are_off_none_is_made_again(ours: Settings, embeddings: Embeddings) -> None:
    model = moody("")
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await talk(graph, 3)
        await say(graph, "/summary_off")
        asked = len(model.asked)
        await talk(graph, 5, start=3)
        assert len(model.asked) == asked


async def test_regenerate_gives_a_summary_a_new_text_under_its_id_everywhere(
    ours: Settings, embeddings: Embeddings
) -> None:
    model = moody()
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await talk(graph, 7)
        before = (await standing(graph))[-1]
        model.mood[0] = "Remarks on the garden with zebras, a few more words about it, number 1."
        (made,) = await regenerate(graph, "ada", before.id[:12])
        assert made.replaced
        assert (made.summary.id, made.summary.version, made.summary.content) == (before.id, 2, model.mood[0])
        assert made.summary in await standing(graph)
        archive = graph.resources.of_user("ada").archive
        assert made.summary in await archive.summaries("t1")
        tree = await archive.sources("t1", before.id)
        assert tree is not None
        assert tree.summary == made.summary
        await graph.resources.of_user("ada").vectors.embed_pending(timeout=60)
        rows = await UserRows(graph.resources.database, "ada").fetch(
            "SELECT content FROM vectors WHERE user_id = %(user_id)s AND source_id = %(id)s", id=before.id
        )
        assert [row["content"] for row in rows] == [model.mood[0]]
        found = await graph.resources.of_user("ada").search.nearest(str(model.mood[0]), limit=1, timeout=60)
        assert found[0].source_id == before.id
        model.mood[0] = None
        state = await talk(graph, 1, start=7)
        assert "zebras" in " ".join(message.text for message in view_in(state))
        for parent in await archive.summaries("t1"):
            assert set(parent.source_ids) <= {
                *(message.id for message in await archive.messages("t1")),
                *(summary.id for summary in await archive.summaries("t1")),
            }


async def test_a_higher_summary_is_made_again_from_the_newest_texts_of_its_sources(
    ours: Settings, embeddings: Embeddings
) -> None:
    model = moody()
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await talk(graph, 10)
        summaries = await graph.resources.of_user("ada").archive.summaries("t1")
        higher = next(summary for summary in summaries if summary.level == 2)
        model.mood[0] = "Remarks on the garden: a few words about it, number 0 and the walrus."
        done = await regenerate(graph, "ada", higher.source_ids[0], above=True)
        assert [made.summary.level for made in done][:2] == [1, 2]
        assert "walrus" in model.asked[-1]
        assert "more words about it" not in model.asked[-1]
        versions = await graph.resources.of_user("ada").summaries.versions("t1", higher.source_ids[0])
        assert len(versions) == 1


@pytest.mark.parametrize("mood", ["", "I'm sorry, but I can't help with that.", ConnectionError("down")])
async def test_a_new_text_that_is_not_accepted_changes_nothing(
    ours: Settings, embeddings: Embeddings, mood: Any
) -> None:
    model = moody()
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await talk(graph, 4)
        before = await standing(graph)
        model.mood[0] = mood
        (made,) = await regenerate(graph, "ada", before[0].id)
        assert not made.replaced
        assert made.reason
        assert await standing(graph) == before
        assert await graph.resources.of_user("ada").summaries.versions("t1", before[0].id) == []


async def test_a_text_that_lost_most_of_what_the_one_before_said_does_not_take_its_place(
    ours: Settings, embeddings: Embeddings
) -> None:
    """Seed 004, drift detection: both texts are good summaries of the same messages."""
    model = moody()
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await talk(graph, 4)
        (before, *_) = await standing(graph)
        model.mood[0] = "Few more words about it."
        (made,) = await regenerate(graph, "ada", before.id)
        assert not made.replaced
        assert "drift" in made.reason
        assert made.drift > 0.75
        model.mood[0] = f"{before.content} Few more words."
        (made,) = await regenerate(graph, "ada", before.id)
        assert (made.replaced, made.drift) == (True, 0.0)


async def test_the_same_text_again_is_no_new_version(graph: Conversation) -> None:
    await talk(graph, 4)
    (made,) = await regenerate(graph, "ada", (await standing(graph))[0].id)
    assert (made.replaced, made.reason) == (False, "it came out the same")


async def test_all_rejected_summaries_of_a_thread_are_made_again_and_no_others(
    ours: Settings, embeddings: Embeddings
) -> None:
    model = moody("")
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await talk(graph, 8)
        model.mood[0] = None
        await talk(graph, 3, to="t2")
        rejected = [s.id for s in await graph.resources.of_user("ada").archive.summaries("t1") if s.rejected]
        assert len(rejected) > 2
        done = await regenerate_rejected(graph, "ada", "t1")
        assert [made.summary.id for made in done] == rejected
        assert all(made.replaced for made in done)
        assert not [s.id for s in await graph.resources.of_user("ada").archive.summaries("t1") if s.rejected]
        assert not any(summary.rejected for summary in await standing(graph))
        assert await regenerate_rejected(graph, "ada", "t1") == []


async def test_nobody_makes_a_summary_of_somebody_else_again(ours: Settings, embeddings: Embeddings) -> None:
    model = moody()
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await talk(graph, 3)
        (summary,) = await standing(graph)
        asked = len(model.asked)
        for user in ("bob", "ad", "ada%"):
            with pytest.raises(InputError, match="There is no summary"):
                await regenerate(graph, user, summary.id)
            with pytest.raises(InputError, match="There is no thread 't1'"):
                await regenerate_rejected(graph, user, "t1")
        assert len(model.asked) == asked


async def test_what_cannot_be_made_again_is_told_in_one_sentence(graph: Conversation) -> None:
    await talk(graph, 8)
    summaries = await graph.resources.of_user("ada").archive.summaries("t1")
    with pytest.raises(InputError, match="There is no summary 'x'"):
        await regenerate(graph, "ada", "x")
    with pytest.raises(InputError, match="There is no summary ''"):
        await regenerate(graph, "ada", "")
    with pytest.raises(InputError, match="There is no summary"):
        await regenerate(graph, "ada", summaries[0].id, thread_id="other")
    with pytest.raises(InputError, match="a graph with a checkpointer"):
        await regenerate(ConversationGraph(graph.resources).compile(), "ada", summaries[0].id)
    with pytest.raises(InputError, match="the graph that `open_graph` or"):
        await regenerate(StateGraph.compile(ConversationGraph(graph.resources)), "ada", summaries[0].id)
    await UserRows(graph.resources.database, "ada").fetch(
        "DELETE FROM messages WHERE user_id = %(user_id)s AND id = %(id)s", id=summaries[0].source_ids[0]
    )
    with pytest.raises(InputError, match=r"its source .* is not in the archive"):
        await regenerate(graph, "ada", summaries[0].id)


async def test_a_thread_whose_turn_waits_to_be_resumed_is_left_alone(graph: Conversation) -> None:
    await talk(graph, 4)
    await graph.aupdate_state(thread(), {"messages": [HumanMessage("and now?", id="q")]}, as_node="pairing")
    with pytest.raises(InputError, match="has not come to its end"):
        await regenerate(graph, "ada", (await standing(graph))[0].id)


async def test_a_summary_of_an_imported_thread_keeps_its_id(ours: Settings, embeddings: Embeddings) -> None:
    """A thread that is imported for another user has another id than the one its summaries' ids were made from."""
    model = moody()
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        said = [HumanMessage(f"Remark number {n} on roses and tulips in the garden.", id=f"m{n}") for n in range(3)]
        await graph.resources.of_user("ada").archive.add_messages("elsewhere", said)
        summary = Summary(id="s", content="Of the garden.", level=1, source_ids=("m0", "m1", "m2"), rejected="it is")
        await graph.resources.of_user("ada").archive.add_summary("elsewhere", summary)
        model.mood[0] = "Remarks on roses and tulips in the garden."
        (made,) = await regenerate_rejected(graph, "ada", "elsewhere")
    assert (made.summary.id, made.summary.covers) == ("s", 3)


async def test_a_summary_made_again_while_its_old_text_is_embedded_is_embedded_again(
    ours: Settings, embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = moody()
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await talk(graph, 3)
        (before,) = await standing(graph)
        await graph.resources.of_user("ada").vectors.embed_pending(timeout=60)
        rows, resources = UserRows(graph.resources.database, "ada"), graph.resources
        query = "SELECT content FROM vectors WHERE user_id = %(user_id)s AND source_id = %(id)s ORDER BY content"

        async def put(version: int, text: str) -> None:
            summary = before.model_copy(update={"content": text, "version": version})
            await resources.of_user("ada").summaries.replace("t1", summary)

        async def embedded() -> list[str]:
            await resources.of_user("ada").vectors.embed_pending(timeout=60)
            return [row["content"] for row in await rows.fetch(query, id=before.id)]

        await put(2, "third " * 400)
        assert len(await embedded()) > 2
        await put(3, "fourth")
        assert await embedded() == ["fourth"]

        await put(4, "fifth")
        real = resources.embedder.documents

        async def meanwhile(*texts: Any, **options: Any) -> Any:
            await put(5, "sixth")
            return await real(*texts, **options)

        monkeypatch.setattr(resources.embedder, "documents", meanwhile)
        assert await embedded() == ["fourth"]  # what was replaced meanwhile comes no more
        monkeypatch.undo()
        assert await embedded() == ["sixth"]


def command(environment: dict[str, str], *words: str) -> Any:
    """What the command prints; its exit code and its error are in the result."""
    return CliRunner(env={**environment, "COLUMNS": "200"}).invoke(app, words)


async def test_the_command_makes_again_and_trace_shows_the_versions(
    ours: Settings, embeddings: Embeddings, environment: dict[str, str]
) -> None:
    name = thread_id("work", "ada")
    model = moody("")
    async with open_graph(ours, model=model, embeddings=embeddings) as graph:
        await graph.resources.of_user("ada").archive.own_thread(name, "work")
        await talk(graph, 3, to=name)
        (summary,) = await standing(graph, to=name)
    ada = {**environment, "EVERTHREAD_USER_ID": "ada"}
    database = Database(ours)
    new = summary.model_copy(update={"content": "A newer text.", "version": 2, "rejected": None, "method": "model"})
    await SummaryRows(UserRows(database, "ada")).replace(name, new)
    assert await Archive(UserRows(database, "ada")).has_thread(name)
    await database.close()

    shown = await asyncio.to_thread(command, ada, "trace", "work", summary.id[:8])
    assert "version 2" in shown.stdout
    assert "A newer text." in shown.stdout
    assert "version 1 until" in shown.stdout
    assert "the model's was rejected: it is empty" in shown.stdout
    alone = await asyncio.to_thread(command, ada, "trace", summary.id)
    assert alone.stdout == shown.stdout
    done = await asyncio.to_thread(command, ada, "regenerate", summary.id[:8])
    assert done.exit_code == 0
    assert "is made again, version 3 by extractive" in done.stdout
    again = await asyncio.to_thread(command, ada, "regenerate", summary.id[:8], "--thread", "work")
    assert again.exit_code == 1
    assert "stays as it is: it came out the same." in again.stdout
    other = await asyncio.to_thread(command, environment, "regenerate", summary.id)
    assert other.exit_code == 1
    assert str(other.exception).startswith(f"There is no summary '{summary.id}'")
    none = await asyncio.to_thread(command, ada, "regenerate", "--all-rejected", "--thread", "work")
    assert (none.exit_code, none.stdout) == (0, "No summary of this thread was rejected.\n")
    unclear = await asyncio.to_thread(command, ada, "regenerate", "--all-rejected")
    assert "give the thread with --thread" in str(unclear.exception)
