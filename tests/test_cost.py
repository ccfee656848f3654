"""What a turn costs: marks for a provider's prompt cache, tokens that it served, prices."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conversation import EchoModel, say
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import ValidationError
from rich.console import Console

from everthread import Settings, open_graph, open_memory
from everthread.cli.explain import as_text
from everthread.maintenance.explain import turn_cost
from everthread.models.cache_marks import with_cache_marks
from everthread.settings.operator import Prices
from everthread.state.report_records import TurnReport

CONTROL = {"type": "ephemeral"}
PROMPT: list[AnyMessage] = [
    SystemMessage("Be brief."), HumanMessage("Hello"), AIMessage("Hi."), HumanMessage("What is new?"),
]  # fmt: skip


class Model(EchoModel):
    """A model that is called like one of a provider, and counts tokens as it does."""

    kind: str = "anthropic-chat"
    model: str = "claude-sonnet-5"
    cached: int = 900

    @property
    def _llm_type(self) -> str:
        return self.kind

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        self.prompts.append(messages)
        usage: Any = {
            "input_tokens": 1_000, "output_tokens": 10, "total_tokens": 1_010,
            "input_token_details": {"cache_read": self.cached, "cache_creation": 50},
        }  # fmt: skip
        text = "The user asked what is new." if "summar" in messages[0].text.lower() else "Nothing is new."
        reply = AIMessage(text, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def marked(messages: list[AnyMessage]) -> list[int]:
    """Where marks stand."""
    return [n for n, message in enumerate(messages) if "cache" in json.dumps(message.content)]


@pytest.mark.parametrize(
    ("kind", "name", "block"),
    [
        ("anthropic-chat", "claude-sonnet-5", {"cache_control": CONTROL}),
        ("anthropic-chat-vertexai", "claude-sonnet-5", {"cache_control": CONTROL}),
        ("anthropic-mantle-chat", "claude-sonnet-5", {"cache_control": CONTROL}),
        ("amazon_bedrock_chat", "eu.anthropic.claude-sonnet-5-v1:0", {"cache_control": CONTROL}),
        ("amazon_bedrock_converse_chat", "amazon.nova-pro-v1:0", {"cachePoint": {"type": "default"}}),
    ],
)
def test_a_provider_that_wants_marks_gets_them_behind_the_instructions_and_the_stable_part(
    kind: str, name: str, block: dict[str, Any]
) -> None:
    sent = with_cache_marks(PROMPT, Model(kind=kind, model=name))
    assert marked(sent) == [0, 2]
    for index in (0, 2):
        content: Any = sent[index].content
        assert content[-1].items() >= block.items()
        assert sent[index].text == PROMPT[index].text
    assert all(isinstance(message.content, str) for message in PROMPT)
    assert marked(with_cache_marks(PROMPT, Model(kind=kind, model=name), stable=1)) == [0, 1]
    assert marked(with_cache_marks(PROMPT, Model(kind=kind, model=name), stable=-1)) == [0]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("openai-chat", "gpt-5"), ("chat-google-generative-ai", "gemini-3"), ("amazon_bedrock_chat", "meta.llama3"),
     ("amazon_bedrock_converse_chat", "mistral.large"), ("some-other-chat", "claude-like")],
)  # fmt: skip
def test_who_caches_by_itself_or_is_unknown_gets_no_mark(kind: str, name: str) -> None:
    assert with_cache_marks(PROMPT, Model(kind=kind, model=name)) == PROMPT
    assert with_cache_marks(PROMPT, None) == PROMPT


def test_the_mark_stands_before_the_question_also_after_a_round_of_tools_and_never_on_what_is_no_text() -> None:
    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "a"}])
    tools = [*PROMPT, call, ToolMessage("found", tool_call_id="a")]
    assert marked(with_cache_marks(tools, Model())) == [0, 2]
    picture: Any = [{"type": "text", "text": "See"}, {"type": "image", "url": "https://example.org/a.png"}]
    assert marked(with_cache_marks([HumanMessage(picture), *PROMPT[1:2]], Model())) == []
    assert with_cache_marks([], Model()) == []


async def test_marks_reach_the_model_and_neither_the_thread_nor_a_context_for_another_model(
    settings: Settings, embeddings: Embeddings
) -> None:
    model = Model(prompts=[])
    async with open_graph(settings, model=model, embeddings=embeddings) as graph:
        await say(graph, "What is new?")
        state = await say(graph, "And today?")
    assert "cache_control" in json.dumps([message.content for message in model.prompts[-1]])
    assert "cache_control" not in json.dumps([message.content for message in state["messages"]])
    assert "cache_control" not in json.dumps([message.content for message in state["context"].messages])
    async with open_memory(settings, user_id="ada", embeddings=embeddings) as memory:
        shown = await memory.acontext("What is new?", thread_id="t1")
    assert "cache_control" not in json.dumps([message.content for message in shown])


@pytest.mark.usefixtures("eager")
async def test_the_report_has_what_the_provider_says_of_its_cache_and_explain_what_the_turn_cost(
    settings: Settings, embeddings: Embeddings, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Model(prompts=[])
    async with open_graph(settings.but(summary_model=None), model=model, embeddings=embeddings) as graph:
        for _ in range(4):
            state = await say(graph, "What is new in the garden, in the house and in the whole long street today?")
            await graph.asettled()
    report = TurnReport.read(state["report"])
    assert report is not None
    assert report.reply is not None
    assert report.after_reply is not None
    assert (report.reply.input_tokens, report.reply.cached_tokens) == (1_000, 900)
    assert [call.cached_tokens for call in report.reply.calls] == [900]
    assert len(report.after_reply.calls) >= 1
    requests = 1 + len(report.after_reply.calls)
    prices = Prices(input=3, cached=0.3, output=15)
    each = (100 * 3 + 900 * 0.3 + 10 * 15) / 1e6
    assert turn_cost(report, prices) == pytest.approx(requests * each)
    assert turn_cost(report, Prices(input=3, output=15)) == pytest.approx(requests * (1_000 * 3 + 10 * 15) / 1e6)
    assert turn_cost(report, Prices(input=3)) is None
    Console(width=200).print(as_text(report, prices))
    shown = capsys.readouterr().out
    assert f"{900 * requests} of them from the provider's cache" in shown
    assert f"{requests * each:.6f} at the prices that are set" in shown


def test_prices_are_read_from_a_text_and_refused_where_they_are_no_prices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Settings(prices="input=3,cached=0.3,output=15").prices == Prices(input=3, cached=0.3, output=15)
    monkeypatch.setenv("EVERTHREAD_PRICES", "input=1,output=2")
    assert Settings().prices == Prices(input=1, output=2)
    with pytest.raises(ValidationError):
        Prices(input=-1)
