"""The node `slm_router`, with models that answer well, badly, late or not at all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.constants import TAG_NOSTREAM

from everthread.prompts.router import SearchDecision
from everthread.search.router.answer import parse_answer
from everthread.search.router.small_model import ask_model
from everthread.settings.settings import Settings
from everthread.state.search_records import SearchOutcome, Sign

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
    assert (outcome.needed, outcome.query) == (True, "And how much is it to go up? Eiffel Tower")


async def test_a_query_about_something_else_is_not_searched_for() -> None:
    """SmolLM2 answers most follow-ups with a query that has nothing to do with them."""
    outcome = await route(Spy(reply="yes: best pizza recipes with mushrooms"))
    assert (outcome.needed, outcome.query) == (True, "And how much is it to go up? Eiffel Tower")
    assert "about something else" in outcome.reason


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
    outcome = await asyncio.wait_for(route(Spy(seconds=3600), timeouts={"model": 0.1}), 60)
    assert outcome.error == "The small model did not decide within 0.1 s."


async def test_cancelling_the_turn_cancels_the_model() -> None:
    spy = Spy(asked=[], tags=[], seconds=3600)
    task = asyncio.create_task(route(spy))
    while not spy.asked:
        await asyncio.sleep(0.01)
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


class Structured(Spy):
    """A model that takes tools: `arguments` are those of its call; without them it answers in words."""

    arguments: dict[str, Any] | None = None
    refuses: str | None = None

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=tools)

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        await super()._agenerate(messages, stop, run_manager)
        if "tools" in kwargs and self.refuses:
            raise RuntimeError(self.refuses)
        calls = [{"name": "SearchDecision", "args": self.arguments, "id": "1"}] if self.arguments else []
        message = AIMessage(self.reply if "tools" not in kwargs or not calls else "", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


async def test_a_model_that_takes_tools_decides_by_a_schema_in_one_call() -> None:
    spy = Structured(arguments={"needs_search": True, "query": "Eiffel Tower ticket price"}, asked=[], tags=[])
    outcome = await route(spy)
    assert (outcome.needed, outcome.query, outcome.error) == (True, "Eiffel Tower ticket price", None)
    assert len(spy.asked) == 1
    assert TAG_NOSTREAM in spy.tags
    assert "one line" not in str(spy.asked[0][0].content)


async def test_a_no_by_schema_has_no_query() -> None:
    outcome = await route(Structured(arguments={"needs_search": False, "query": "left over"}, asked=[], tags=[]))
    assert (outcome.needed, outcome.query, outcome.error) == (False, None, None)


@pytest.mark.parametrize(
    ("arguments", "reply", "expected"),
    [
        ({"needs_search": "perhaps"}, "", (False, None, "The small model answered neither yes nor no.")),
        ({"search": "yes", "query": "tower tickets"}, "", (True, "tower tickets", None)),
        (None, "yes: tower tickets", (True, "tower tickets", None)),
        (None, "I cannot tell", (False, None, "The small model answered neither yes nor no.")),
    ],
)
async def test_what_does_not_keep_to_the_schema_is_read_leniently(
    arguments: dict[str, Any] | None, reply: str, expected: tuple[bool, str | None, str | None]
) -> None:
    outcome = await route(Structured(arguments=arguments, reply=reply, asked=[], tags=[]))
    assert (outcome.needed, outcome.query, outcome.error) == expected


async def test_a_model_that_refuses_a_schema_is_asked_in_text() -> None:
    spy = Structured(refuses="this model does not support tools", reply="yes: tower tickets", asked=[], tags=[])
    assert (await route(spy)).query == "tower tickets"
    assert "one line" in str(spy.asked[-1][0].content)


async def test_a_model_that_fails_under_a_schema_is_not_asked_again() -> None:
    spy = Structured(refuses="overloaded", asked=[], tags=[])
    outcome = await route(spy)
    assert outcome.error == "The small model failed to decide (RuntimeError)."
    assert len(spy.asked) == 1


def test_the_schema_tells_the_model_what_a_query_is() -> None:
    assert "400 characters" in str(SearchDecision.model_json_schema()["properties"]["query"]["description"])


async def test_a_yes_without_a_query_searches_for_a_question_that_stands_alone() -> None:
    messages: list[AnyMessage] = [
        HumanMessage("Who built the Eiffel Tower?", id="1"),
        AIMessage("A company.", id="2"),
        HumanMessage("How tall is it?", id="3"),
    ]
    assert (await route(Spy(reply="yes"), messages)).query == "How tall is it? Eiffel Tower"
