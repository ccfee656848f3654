"""Dates, decisions and needs of others, pinned by themselves, with a model and without (seed `002`)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conversation import EchoModel, say
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from everthread import Settings, open_graph
from everthread.facts.marked import marked


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Hello! Grandma's appointment is on Nov 5. How are you?", ["Grandma's appointment is on Nov 5."]),
        ("We decided to use Postgres.", ["We decided to use Postgres."]),
        ("My sister needs insulin twice a day.", ["My sister needs insulin twice a day."]),
        ("The deadline is 2026-12-01, by the way.", ["The deadline is 2026-12-01, by the way."]),
        ("The meeting is at 10:30 on Friday.", ["The meeting is at 10:30 on Friday."]),
        ("Wir haben beschlossen, nach Wien zu ziehen.", ["Wir haben beschlossen, nach Wien zu ziehen."]),
        ("Nous avons décidé de partir.", ["Nous avons décidé de partir."]),
        ("我们决定用Postgres。", ["我们决定用Postgres。"]),
        ("Did we decide on anything for the meeting on May 3?", []),
        ("If we decided to use Redis, it would be slow.", []),
        ("Imagine we decided to fly.", []),
        ("I went to a meeting yesterday.", []),
        ("The code needs tests.", []),
        ("This function takes 3 arguments.", []),
        ("The weather is fine on Nov 5.", []),
        ("", []),
    ],
)
def test_what_is_kept_in_sight_without_a_model(text: str, kept: list[str]) -> None:
    assert marked(text) == kept


class Lister(EchoModel):
    """A model whose summaries come with a list of what is to be kept."""

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
        if "<excerpt" not in messages[-1].text:
            return super()._generate(messages, stop, run_manager, **more)
        listed = [
            {"kind": "date", "text": "the vet comes to the stable at the end of spring"},
            {"kind": "decision", "text": "they sold the car to an uncle"},
            {"kind": "preference", "text": "I prefer tea"},
        ]
        reply = json.dumps({"summary": "The vet comes to the stable at the end of spring.", "facts": listed})
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply))])


async def test_they_are_pinned_in_their_thread_with_their_source_and_shown_when_it_is_gone_from_the_chain(
    settings: Settings, embeddings: Embeddings, echo: EchoModel
) -> None:
    async with open_graph(settings.but(auto_pin_score=0.95), model=echo, embeddings=embeddings) as graph:
        await say(graph, "Hello there, good morning.")
        await say(graph, "I slept well.")
        await say(graph, "It rains. Grandma's appointment is on Nov 5.")
        for n in range(4):
            await say(graph, f"Remark number {n} about the garden.")
        await graph.resources.background.settled()
        user = graph.resources.of_user("ada")
        (pin,) = await user.facts.pins()
        sources = {row.id: row.text for row in await user.archive.messages("t1")}
        weights = await user.importance.of("t1", [pin.source_id])
        await say(graph, "And now?")
        shown = echo.prompts[-1][-1].text
        elsewhere = await say(graph, "And here?", to="t2")
    assert (pin.text, pin.kind, pin.score) == ("Grandma's appointment is on Nov 5.", "automatic", 0.75)
    assert sources[pin.source_id].startswith("It rains.")
    assert weights[pin.source_id] >= 0.75  # recalled for a remark, it has gained
    assert "pinned: Grandma's appointment is on Nov 5." in shown
    assert elsewhere["facts"].pins == ()


@pytest.mark.usefixtures("eager")
async def test_with_a_model_what_the_user_said_is_pinned_and_nothing_else(
    settings: Settings, embeddings: Embeddings
) -> None:
    chosen = settings.but(summary_model=None, auto_pin_score=0.95)
    async with open_graph(chosen, model=Lister(prompts=[]), embeddings=embeddings) as graph:
        await say(graph, "Good morning to you.")
        await say(graph, "The horse is well. So the vet comes to the stable at the end of spring, they say here.")
        await say(graph, "The vet comes to the stable at the end of spring, and brings all that the horse wants.")
        await graph.resources.background.settled()
        pins = [pin for pin in await graph.resources.of_user("ada").facts.pins() if pin.kind == "automatic"]
    assert [pin.text for pin in pins] == ["the vet comes to the stable at the end of spring"]


async def test_by_default_none_is_pinned(settings: Settings, embeddings: Embeddings, echo: EchoModel) -> None:
    async with open_graph(settings, model=echo, embeddings=embeddings) as graph:
        await say(graph, "We decided to use Postgres.")
        await graph.resources.background.settled()
        assert await graph.resources.of_user("ada").facts.pins() == []
