"""Prompts from turn to turn, through the graph and other doors: what was just said, and what a cache would serve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from conversation import EchoModel, say, thread
from langchain.agents import create_agent
from langchain_core.embeddings import Embeddings
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from variants import EACH_PROFILE

from everthread import Everthread, Settings, open_graph, open_memory
from everthread.graph.conversation import CompiledConversation
from everthread.text.tokens import count_message_tokens

FLOWERS = ("roses", "tulips", "lilies", "asters", "poppies", "irises", "daisies")


def remark(n: int) -> str:
    return f"Remark {n}: " + f"the {FLOWERS[n % 7]} of garden {n} are in bloom. " * 3


def text_of(prompt: Sequence[BaseMessage]) -> str:
    return "\n".join(f"{message.type}: {message.text}" for message in prompt)


def begins(new: Sequence[BaseMessage], old: Sequence[BaseMessage]) -> bool:
    """Whether a prompt begins with what another has before its last message, byte for byte."""
    return text_of(new).startswith(text_of(old[:-1]))


@pytest.mark.parametrize("profile", EACH_PROFILE)
async def test_each_prompt_begins_with_the_one_before_it_and_shows_what_was_just_said(
    graph: CompiledConversation, echo: EchoModel, profile: str
) -> None:
    budget = 3000 if profile == "hybrid" else 4000  # the tokens of hybrid's model
    said: list[str] = []
    for n in range(36):
        state = await say(graph, remark(n), profile=profile, max_context_tokens=budget)
        assert all(text.strip() in text_of(echo.prompts[-1]) for text in said[-4:])
        assert count_message_tokens(echo.prompts[-1]) <= state["context_report"].budget
        said += [remark(n), state["messages"][-1].text]
    assert any(section.items for section in state["context_report"].sections if section.name == "summaries")
    cuts = sum(not begins(new, old) for old, new in pairwise(echo.prompts))
    assert cuts <= 7


async def test_a_question_with_memories_leaves_nothing_of_them_in_the_next_prompt(
    graph: CompiledConversation, echo: EchoModel
) -> None:
    await say(graph, "The parcel of the bakery is number 4471.", to="elsewhere")
    for n in range(6):
        await say(graph, remark(n))
    await say(graph, "Which number is the parcel of the bakery?")
    asked = echo.prompts[-1]
    assert "4471" in asked[-1].text
    await say(graph, "Thank you.")
    assert begins(echo.prompts[-1], asked)
    assert not any("4471" in message.text for message in echo.prompts[-1] if message.type == "human")
    assert echo.prompts[-1][-3].text == "Which number is the parcel of the bakery?"


async def test_every_rule_of_the_previous_message_is_in_the_next_prompt(
    graph: CompiledConversation, echo: EchoModel
) -> None:
    rules = [f"Rule {n}: keep {FLOWERS[n % 7]} {n} metres from the wall." for n in range(12)]
    for n in range(30):
        await say(graph, "\n".join(rules) if n == 28 else remark(n), max_context_tokens=3000)
    assert all(rule in text_of(echo.prompts[-1]) for rule in rules)


@pytest.mark.slow
async def test_a_new_process_goes_on_where_the_prompt_was(reopen: Callable[..., open_graph]) -> None:
    prompts = []
    for half in range(2):
        model = EchoModel(prompts=[])
        async with reopen(model=model) as graph:
            for n in range(14):
                await say(graph, remark(14 * half + n), max_context_tokens=4000)
        prompts += model.prompts
    before, after = prompts[13:15]
    assert begins(after, before)


async def test_facts_of_before_stand_before_the_conversation_and_news_with_the_question(
    graph: CompiledConversation, echo: EchoModel
) -> None:
    await say(graph, "My name is Clara.", to="first")
    await say(graph, "Hello there.")
    await say(graph, "I am allergic to nuts.", to="second")
    await say(graph, "And here I am again.")
    first, second = echo.prompts[1], echo.prompts[3]
    assert text_of(first).index("My name is Clara") < text_of(first).index("Hello there.")
    assert text_of(second).index("My name is Clara") < text_of(second).index("Hello there.")
    assert "I am allergic to nuts" in second[-1].text
    assert begins(second, first)


async def test_a_fact_is_not_told_beside_the_message_that_says_it(graph: CompiledConversation, echo: EchoModel) -> None:
    await say(graph, "I live in Porto.")
    for n in range(4):
        await say(graph, remark(n))
    await say(graph, "Where do I live?")
    assert text_of(echo.prompts[-1]).count(": I live in Porto") == 2  # said, and echoed


@pytest.mark.slow
async def test_the_other_doors_show_the_same(settings: Settings, embeddings: Embeddings) -> None:
    async with open_memory(settings, user_id="ada", embeddings=embeddings) as memory:
        contexts = []
        for n in range(30):
            contexts.append(await memory.acontext(remark(n), thread_id="t1", budget=2500))
            await memory.aremember([("user", remark(n)), ("assistant", f"Reply {n}.")], thread_id="t1")
        for n, context in enumerate(contexts[2:], start=2):
            assert all(text.strip() in text_of(context) for text in (remark(n - 2), remark(n - 1), f"Reply {n - 1}."))
        assert sum(not begins(new, old) for old, new in pairwise(contexts)) <= 6


async def test_an_agent_with_the_middleware_sees_what_was_just_said(settings: Settings, embeddings: Embeddings) -> None:
    model = EchoModel(prompts=[])
    middleware = Everthread(settings.but(max_context_tokens=3500), embeddings=embeddings)
    agent: Any = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    for n in range(24):
        await agent.ainvoke({"messages": [("user", remark(n))]}, thread(), context={"user_id": "ada"})
        assert all(remark(m).strip() in text_of(model.prompts[-1]) for m in range(max(0, n - 2), n))
    assert sum(not begins(new, old) for old, new in pairwise(model.prompts)) <= 6
    await middleware.aclose()
