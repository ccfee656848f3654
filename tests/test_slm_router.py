"""The node `slm_router`, with models that answer well, badly, late or not at all."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.constants import TAG_NOSTREAM

from everthread.nodes.slm_router import ask_model, parse_answer
from everthread.state.search_records import SearchOutcome, Sign
from everthread.state.settings import Settings

UNDECIDED = SearchOutcome(
    decided_by="keywords",
    needed=None,
    reason="?",
    score=0.5,
    signs=(Sign(kind="temporal", found="now", weight=0.5),),
)
TALK: list[AnyMessage] = [
    HumanMessage("Tell me of the Eiffel Tower", id="1"),
    AIMessage("It is in Paris.", id="2"),
    HumanMessage("And how much is it to go up?", id="3"),
]


class Spy(BaseChatModel):
    """Answers with `reply`, or raises or sleeps; keeps what it was asked."""

    reply: str = "no"
    error: Exception | None = None
    seconds: float = 0.0
    asked: list[list[BaseMessage]] = []  # noqa: RUF012  # a pydantic field
    tags: list[Any] = []  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "spy"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.asked.append(messages)
        self.tags.extend(run_manager.tags)
        await asyncio.sleep(self.seconds)
        if self.error:
            raise self.error
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.reply))])


async def route(model: BaseChatModel | None, messages: list[AnyMessage] = TALK, **settings: Any) -> SearchOutcome:
    return await ask_model({"messages": messages, "search": UNDECIDED}, Settings(**settings), model)


async def test_without_a_model_no_search_is_made() -> None:
    outcome = await route(None)
    assert (outcome.needed, outcome.decided_by, outcome.error) == (False, "slm", None)
    assert "no small model" in outcome.reason.lower()
    assert outcome.signs == UNDECIDED.signs


async def test_yes_brings_a_query_that_stands_alone() -> None:
    outcome = await route(FakeListChatModel(responses=["yes: Eiffel Tower ticket price"]))
    assert (outcome.needed, outcome.query) == (True, "Eiffel Tower ticket price")
    assert outcome.score == 0.5


async def test_yes_without_a_query_searches_for_the_question() -> None:
    outcome = await route(GenericFakeChatModel(messages=iter([AIMessage("Yes.")])))
    assert (outcome.needed, outcome.query) == (True, "And how much is it to go up?")


async def test_the_query_is_cut() -> None:
    query = (await route(Spy(reply="yes: " + "tower " * 200))).query
    assert query is not None
    assert len(query) <= 400


async def test_no_is_no() -> None:
    outcome = await route(FakeListChatModel(responses=["No"]))
    assert (outcome.needed, outcome.query, outcome.error) == (False, None, None)


async def test_the_model_sees_the_talk_and_its_tokens_are_not_streamed() -> None:
    spy = Spy(asked=[], tags=[])
    await route(spy)
    prompt = str(spy.asked[0][-1].content)
    assert "assistant: It is in Paris." in prompt
    assert prompt.count("how much is it to go up") == 1
    assert TAG_NOSTREAM in spy.tags


async def test_long_talk_is_shortened() -> None:
    spy = Spy(asked=[], tags=[])
    many = [HumanMessage(f"{n} " + "x" * 50_000, id=str(n)) for n in range(40)]
    await route(spy, many)
    assert sum(len(str(message.content)) for message in spy.asked[0]) < 7000


@pytest.mark.parametrize("reply", ["", "perhaps", "I cannot tell", "{}", "🤷", '{"answer": 3}'])
async def test_an_answer_that_is_neither_is_no_and_says_so(reply: str) -> None:
    outcome = await route(Spy(reply=reply))
    assert outcome.needed is False
    assert outcome.error == "The small model answered neither yes nor no."


async def test_a_failing_model_is_no_and_does_not_raise() -> None:
    outcome = await route(Spy(error=RuntimeError("the key sk-123 is wrong")))
    assert outcome.needed is False
    assert outcome.error == "The small model failed to decide (RuntimeError)."


async def test_a_slow_model_is_no() -> None:
    start = time.perf_counter()
    outcome = await route(Spy(seconds=5), model_timeout=0.1)
    assert time.perf_counter() - start < 2
    assert outcome.error == "The small model did not decide within 0.1 s."


async def test_cancelling_the_turn_cancels_the_model() -> None:
    task = asyncio.create_task(route(Spy(seconds=5)))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_without_a_question_the_model_is_not_asked() -> None:
    spy = Spy(asked=[], tags=[])
    assert (await route(spy, [AIMessage("hi", id="1")])).needed is False
    assert spy.asked == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("yes: weather Oslo", "weather Oslo"),
        ("Yes - weather Oslo", "weather Oslo"),
        ('YES: "weather Oslo"', "weather Oslo"),
        ("**yes:** weather Oslo", "weather Oslo"),
        ("yes: <weather Oslo>", "weather Oslo"),
        ("Answer: yes: weather Oslo\nI hope this helps.", "weather Oslo"),
        ("yes\nweather Oslo", "weather Oslo"),
        ("Yes.\nSearch query: weather Oslo", "weather Oslo"),
        ("Yes, because it changes every day.", None),
        ("yes", None),
        ("Yes.", None),
        ("ja: Wetter Oslo", "Wetter Oslo"),
        ("是：奥斯陆天气", "奥斯陆天气"),
        ("sí: tiempo en Oslo", "tiempo en Oslo"),
        ('{"search": true, "query": "weather Oslo"}', "weather Oslo"),
        ('```json\n{"needed": "yes", "search_query": "weather Oslo"}\n```', "weather Oslo"),
        ('{"yes": "weather Oslo"}', "weather Oslo"),
        ("<think>no, wait</think>yes: weather Oslo", "weather Oslo"),
    ],
)
def test_ways_to_say_yes(text: str, query: str | None) -> None:
    assert parse_answer(text) == (True, query)


@pytest.mark.parametrize(
    "text",
    ["no", "No.", "NO", "no: the talk answers it", "Nein", "いいえ", "不需要", "**No**",
     '{"search": false, "query": ""}', "There is no need to search.", "Answer: no", "нет"],
)  # fmt: skip
def test_ways_to_say_no(text: str) -> None:
    assert parse_answer(text) == (False, None)
