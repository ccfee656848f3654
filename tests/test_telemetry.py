"""Telemetry: what the setting asks for is measured, and nothing that was said, or by whom, leaves the process."""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from conversation import BrokenModel, EchoModel, FailingEmbeddings, counting_model, say, thread
from langchain_core.embeddings import Embeddings
from langgraph.types import interrupt
from scripted import calls, scripted

from everthread import ModelError, Settings, TurnReport, open_graph

pytest.importorskip("opentelemetry.sdk")


class Seen(NamedTuple):
    """What a process's OpenTelemetry SDK was given."""

    spans: Any
    metrics: Any

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        """Attributes and value (of a histogram: its sum) of each point of a metric since it was last asked."""
        return [
            (dict(point.attributes), getattr(point, "value", None) if hasattr(point, "value") else point.sum)
            for metric in self._all()
            if metric.name == f"everthread.{name}"
            for point in metric.data.data_points
        ]

    def everything(self) -> str:
        """All names and attributes, as text."""
        spans = [(s.name, dict(s.attributes), s.status.description, [e.attributes for e in s.events])
                 for s in self.spans.get_finished_spans()]  # fmt: skip
        points = [(m.name, [dict(p.attributes) for p in m.data.data_points]) for m in self._all()]
        return f"{spans} {points}"

    def _all(self) -> Iterator[Any]:
        data = self.metrics.get_metrics_data()
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                yield from scope.metrics


@pytest.fixture(scope="module")
def sdk() -> Seen:
    """The SDK as a process sets it up: once, for good."""
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider(metric_readers=[reader]))
    return Seen(spans, reader)


@pytest.fixture
def seen(sdk: Seen) -> Seen:
    """What is seen from now on; counters go on from where they were."""
    sdk.spans.clear()
    return sdk


def grown(seen: Seen, name: str, before: list[tuple[dict[str, Any], Any]]) -> list[tuple[dict[str, Any], Any]]:
    """The points of a metric that have grown."""
    old = {str(attributes): value for attributes, value in before}
    return [(a, value - old.get(str(a), 0)) for a, value in seen.points(name) if value != old.get(str(a), 0)]


@pytest.fixture
def measured(settings: Settings) -> Settings:
    return settings.but(telemetry="otel")


async def test_a_turn_is_one_span_with_its_nodes_below_it(
    measured: Settings, embeddings: Embeddings, echo: EchoModel, seen: Seen
) -> None:
    async with open_graph(measured, model=echo, embeddings=embeddings) as graph:
        await say(graph, "My dog is called Biscuit.", to="monday")
        await graph.asettled()  # type: ignore[attr-defined]
        seen.spans.clear()
        await say(graph, "What is my dog called?", to="tuesday")
    spans = {span.name: span for span in seen.spans.get_finished_spans()}
    turn = spans["everthread.turn"]
    for node in ("keyword_check", "memory_retrieval", "pairing", "context_assembly", "llm_call", "remember"):
        assert spans[f"everthread.{node}"].parent.span_id == turn.context.span_id
    assert spans["everthread.embedding"].context.trace_id == turn.context.trace_id
    assert [span.name for span in seen.spans.get_finished_spans()].count("everthread.turn") == 1


async def test_every_item_that_the_seed_names_is_measured(
    measured: Settings, embeddings: Embeddings, seen: Seen
) -> None:
    """Seed 000, "Monitoring and Analytics"."""
    async with open_graph(measured, model=counting_model(), embeddings=embeddings) as graph:
        for text in ["My dog is called Biscuit.", "Search the web for the news.", "I work as a nurse.", "Bye for now."]:
            await say(graph, text, web_search="auto", search_engines=["none"])
        await say(graph, "What is my dog called?", to="t2")
        names = {
            metric.name.removeprefix("everthread.")
            for metric in seen._all()
            if metric.name.startswith("everthread.")
        }  # fmt: skip
    assert names >= {
        "search.duration", "embedding.duration", "embedding.texts", "summaries", "summary.tokens",
        "turns", "search.decisions", "recall.hits", "recall.similarity", "recall.score", "recall.memories",
        "database.duration", "database.connections", "background.jobs", "model.duration", "node.duration",
        "turn.duration", "context.tokens", "cache", "degraded", "summary.coherence",
        "recall.used",
    }  # fmt: skip


async def test_the_numbers_are_those_of_the_report(
    measured: Settings, embeddings: Embeddings, echo: EchoModel, seen: Seen
) -> None:
    async with open_graph(measured, model=echo, embeddings=embeddings) as graph:
        await say(graph, "My dog is called Biscuit.", to="monday")
        names = ("turns", "context.tokens", "recall.hits", "recall.similarity", "recall.used")
        before = {name: seen.points(name) for name in names}
        state = await say(graph, "What is my dog called?", to="tuesday")
        report = TurnReport.model_validate(state["report"])
        new = {name: grown(seen, name, before[name]) for name in names}
    assert new["turns"] == [({"searched": False, "recalled": True}, 1)]
    tokens = {attributes["section"]: value for attributes, value in new["context.tokens"]}
    assert tokens == {section.name: section.tokens for section in report.context.sections if section.tokens}
    assert new["recall.hits"] == [({}, report.hits)]
    assert new["recall.used"][0][1] == pytest.approx(sum(memory.used or 0 for memory in report.memories))
    assert new["recall.similarity"][0][1] == pytest.approx(sum(memory.similarity for memory in report.memories))


async def test_a_failing_model_and_failing_embeddings_are_counted_by_kind(measured: Settings, seen: Seen) -> None:
    errors, degraded = seen.points("errors"), seen.points("degraded")
    async with open_graph(measured, model=BrokenModel(prompts=[]), embeddings=FailingEmbeddings()) as graph:
        with pytest.raises(ModelError):
            await say(graph, "hello")
    assert grown(seen, "errors", errors) == [({"node": "llm_call", "type": "ModelError"}, 1)]
    turn = next(span for span in seen.spans.get_finished_spans() if span.name == "everthread.turn")
    assert turn.status.description == "ModelError"
    async with open_graph(measured, model=EchoModel(prompts=[]), embeddings=FailingEmbeddings()) as graph:
        await say(graph, "hello again")
    assert {attributes["part"] for attributes, _ in grown(seen, "degraded", degraded)} == {"recall", "embedding"}


async def test_each_failed_request_of_a_turn_that_no_model_answered_is_counted_by_kind(
    measured: Settings, embeddings: Embeddings, seen: Seen
) -> None:
    models = [scripted(ConnectionError("down"), name="first"), scripted(TimeoutError("slow"), name="second")]
    before = seen.points("model.duration")
    async with open_graph(
        measured.but(timeouts="retries=0"), model=models[0], fallbacks=models[1:], embeddings=embeddings
    ) as graph:
        with pytest.raises(ModelError):
            await say(graph, "hello")
    outcomes = [attributes for attributes, _ in grown(seen, "model.duration", before)]
    assert outcomes == [{"model": "first", "outcome": "connection"}, {"model": "second", "outcome": "timeout"}]


async def test_a_cancelled_turn_is_no_error(measured: Settings, embeddings: Embeddings, seen: Seen) -> None:
    errors = seen.points("errors")
    model = scripted(30, "late")
    async with open_graph(measured, model=model, embeddings=embeddings) as graph:
        turn = asyncio.create_task(say(graph, "hi"))
        while not model.prompts:
            await asyncio.sleep(0.01)
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)
    assert grown(seen, "errors", errors) == []
    turns = [span for span in seen.spans.get_finished_spans() if span.name == "everthread.turn"]
    assert turns
    assert not [span for span in turns if span.status.description]


async def test_a_turn_that_waits_for_a_person_ends_its_span_and_the_next_turn_has_its_own(
    measured: Settings, embeddings: Embeddings, seen: Seen
) -> None:
    def ask() -> str:
        """Asks a person."""
        return str(interrupt("well?"))

    def turns() -> int:
        return [span.name for span in seen.spans.get_finished_spans()].count("everthread.turn")

    model = scripted(calls(("ask", {})), "Never mind, then.")
    async with open_graph(measured, model=model, tools=[ask], embeddings=embeddings) as graph:
        await say(graph, "Ask.")
        assert turns() == 1
        await say(graph, "Never mind.")
        assert turns() == 2


async def test_a_turn_that_was_given_up_between_two_nodes_is_not_mixed_with_the_next(
    measured: Settings, embeddings: Embeddings, echo: EchoModel, seen: Seen
) -> None:
    async with open_graph(measured, model=echo, embeddings=embeddings) as graph:
        await graph.ainvoke({"messages": [("user", "hi")]}, thread(), interrupt_before=["llm_call"])
        await graph.ainvoke({"messages": [("user", "hi again")]}, thread())
    spans = seen.spans.get_finished_spans()
    turns = [span.context.span_id for span in spans if span.name == "everthread.turn"]
    assert len(turns) == 2
    for node in ("keyword_check", "memory_retrieval", "context_assembly"):
        assert [span.parent.span_id for span in spans if span.name == f"everthread.{node}"] == turns


async def test_what_the_database_does_outside_of_a_turn_is_no_trace_of_its_own(
    measured: Settings, embeddings: Embeddings, echo: EchoModel, seen: Seen
) -> None:
    async with open_graph(measured, model=echo, embeddings=embeddings) as graph:
        await say(graph, "hello")
    roots = {span.name for span in seen.spans.get_finished_spans() if span.parent is None}
    assert roots == {"everthread.turn"}


async def test_nothing_that_was_said_and_no_id_is_in_any_span_or_metric(
    measured: Settings, embeddings: Embeddings, seen: Seen
) -> None:
    class Quoting(EchoModel):
        def _generate(self, messages: Any, *_: Any, **__: Any) -> Any:
            raise ValueError(f"cannot answer {messages[-1].text}")

    async with open_graph(measured, model=Quoting(prompts=[]), embeddings=embeddings) as graph:
        with pytest.raises(ModelError, match="swordfish"):
            await say(graph, "My secret is swordfish.", to="private-thread", user="ada-lovelace")
    async with open_graph(measured, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        await say(graph, "Search for swordfish, ada-lovelace!", to="private-thread", user="ada-lovelace",
                  web_search="auto", search_engines=["none"])  # fmt: skip
    everything = seen.everything()
    assert "everthread.llm_call" in everything
    assert not [word for word in ("swordfish", "ada-lovelace", "private-thread") if word in everything]


def test_sync_turns_are_measured_too(measured: Settings, embeddings: Embeddings, seen: Seen) -> None:
    before = seen.points("turns")
    with open_graph(measured, model=counting_model(), embeddings=embeddings) as graph:
        graph.invoke({"messages": [("user", "hi")]}, thread(), context={"user_id": "ada"})
    assert grown(seen, "turns", before) == [({"searched": False, "recalled": False}, 1)]


async def test_turns_at_the_same_time_have_spans_of_their_own(
    measured: Settings, embeddings: Embeddings, echo: EchoModel, seen: Seen
) -> None:
    async with open_graph(measured, model=echo, embeddings=embeddings) as graph:
        await asyncio.gather(*(say(graph, f"I am {n}", to=f"t{n}", user=f"u{n}") for n in range(5)))
    spans = seen.spans.get_finished_spans()
    turns = {span.context.span_id for span in spans if span.name == "everthread.turn"}
    assert len(turns) == 5
    assert {span.parent.span_id for span in spans if span.name == "everthread.llm_call"} == turns


async def test_by_default_nothing_is_measured(
    settings: Settings, embeddings: Embeddings, echo: EchoModel, seen: Seen
) -> None:
    before = seen.points("turns")
    async with open_graph(settings, model=echo, embeddings=embeddings) as graph:
        await say(graph, "hello")
    assert seen.spans.get_finished_spans() == ()
    assert grown(seen, "turns", before) == []


@pytest.mark.parametrize(
    ("kind", "missing"), [("otel", "opentelemetry"), ("prometheus", "opentelemetry.exporter.prometheus")]
)
async def test_without_the_packages_the_turn_goes_on_and_the_log_says_what_is_missing(
    settings: Settings, embeddings: Embeddings, echo: EchoModel, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture, kind: str, missing: str,
) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, missing, None)
    importlib.import_module("everthread.runtime.telemetry")._prometheus.cache_clear()
    with caplog.at_level(logging.WARNING):
        async with open_graph(settings.but(telemetry=kind), model=echo, embeddings=embeddings) as graph:
            assert (await say(graph, "hello"))["messages"][-1].content == "You said: hello"
    assert f"telemetry={kind} needs the package" in caplog.text


async def test_prometheus_text_shows_the_metrics(settings: Settings, embeddings: Embeddings, echo: EchoModel) -> None:
    client = pytest.importorskip("prometheus_client")
    for _ in range(2):  # a graph that is opened again registers nothing twice
        async with open_graph(settings.but(telemetry="prometheus"), model=echo, embeddings=embeddings) as graph:
            await say(graph, "hello")
            text = client.generate_latest().decode()
    (turns,) = re.findall(r"^everthread_turns_total\{.*\} (.*)$", text, re.MULTILINE)
    assert float(turns) == 2
    assert "everthread_node_duration_seconds_bucket" in text
    assert "everthread_database_connections" in text
    assert 'everthread_background_jobs{kind="summaries"' in text
