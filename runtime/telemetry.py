"""`Telemetry`: OpenTelemetry spans and metrics of what goes on, where the setting `telemetry` asks for them.

Every item under "Monitoring and Analytics" of seed `000`, and the metrics that answer it (times in seconds):

| item | metric | attributes |
|---|---|---|
| search latency | everthread.search.duration | engine, outcome |
| embedding generation time | everthread.embedding.duration, everthread.embedding.texts | kind, outcome |
| summary quality | everthread.summaries, everthread.summary.tokens | level, method ("model": accepted) |
| memory retrieval frequency | everthread.turns, everthread.recall.hits | recalled, searched |
| external search triggers | everthread.search.decisions | decided_by, needed |
| summary coherence scores | everthread.summary.coherence | level, method |
| retrieval relevance ratings | everthread.recall.used, .recall.similarity, .recall.score, .recall.memories | arm |
| database performance | everthread.database.duration, everthread.database.connections | outcome; state |
| model availability | everthread.model.duration, everthread.model.tokens | model, outcome; direction |
| error rates | everthread.errors, everthread.degraded | node, type; part |
| (caching) | everthread.cache | cache, found |
| (context assembly) | everthread.context.tokens, everthread.context.dropped | section |
| (what goes on beside the turns) | everthread.background.jobs: of users, or threads, with work left | kind |
| (every node, every turn) | everthread.node.duration, everthread.turn.duration | node, outcome |

Spans: `everthread.turn`, and under it one a node; under these each embedding call and use of the database. Saving a
checkpoint is timed, and is a span only where the caller has one. A turn that waits to be resumed, or was cancelled,
ends its span; what is resumed is another. No attribute holds what was said or searched for, or an id of user or thread.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, Literal

from langgraph.errors import GraphBubbleUp

from ..state.observer import Observer
from ..state.report_records import TurnReport
from ..state.turn_records import ModelCall, ReplyReport
from .gauges import connections, jobs, measured
from .resources import Resources

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Meter
    from opentelemetry.trace import Span, Tracer

logger = logging.getLogger(__name__)


_TURNS: Final = 1024
"""Turns whose spans are open at once, at most."""

_FIRST: Final = frozenset({"command", "keyword_check", "memory_retrieval"})
"""The nodes that a turn may begin with."""

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_TOKENS: Final = (16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536, 262144, 1048576)
_SHARES: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
_COUNTS: Final = (0, 1, 2, 3, 5, 8, 13, 21, 34)
_HISTOGRAMS: Final[Mapping[str, tuple[str, Sequence[float]]]] = {
    **dict.fromkeys(
        ("node.duration", "turn.duration", "search.duration", "embedding.duration", "database.duration",
         "model.duration"), ("s", _SECONDS)
    ),
    **dict.fromkeys(("context.tokens", "summary.tokens"), ("{token}", _TOKENS)),
    "recall.hits": ("{hit}", _COUNTS), "recall.score": ("1", _COUNTS),
    **dict.fromkeys(("recall.similarity", "recall.used", "summary.coherence"), ("1", _SHARES)),
}  # fmt: skip
"""Unit and buckets."""

_COUNTERS: Final = (
    "turns", "search.decisions", "recall.memories", "context.dropped", "model.tokens", "summaries", "embedding.texts",
    "errors", "degraded", "cache",
)  # fmt: skip


def watch(resources: Resources) -> None:
    """Measure what goes on with these resources, if their settings ask for it; once is enough.

    What the setting needs and is not installed is logged, and nothing is measured. Imports OpenTelemetry (blocking).
    """
    kind = resources.settings.telemetry
    if kind == "off" or isinstance(resources.observer, Telemetry):
        return
    try:
        resources.watch(Telemetry(resources, *(_global_providers() if kind == "otel" else _prometheus())))
    except ImportError as error:
        needed = "opentelemetry-sdk" if kind == "otel" else "opentelemetry-exporter-prometheus"
        logger.warning("Nothing is measured, for telemetry=%s needs the package %s: %s.", kind, needed, error)


def _global_providers() -> tuple[Meter, Tracer]:
    from opentelemetry import metrics, trace

    return metrics.get_meter("everthread"), trace.get_tracer("everthread")


@lru_cache(maxsize=1)  # a second reader would register every metric once more
def _prometheus() -> tuple[Meter, Tracer]:
    from opentelemetry import trace
    from opentelemetry.exporter.prometheus import PrometheusMetricReader
    from opentelemetry.sdk.metrics import MeterProvider

    provider = MeterProvider(metric_readers=[PrometheusMetricReader(disable_target_info=True)])
    return provider.get_meter("everthread"), trace.NoOpTracer()


class Telemetry(Observer):
    """The observer that measures.

    Args:
        resources: whose database pool is looked at.
        meter: OpenTelemetry's, for the metrics.
        tracer: OpenTelemetry's, for the spans.
    """

    def __init__(self, resources: Resources, meter: Meter, tracer: Tracer) -> None:
        self._tracer = tracer
        self._turns: OrderedDict[str, tuple[Span, set[str]]] = OrderedDict()

        self._histograms = {
            name: meter.create_histogram(f"everthread.{name}", unit, explicit_bucket_boundaries_advisory=buckets)
            for name, (unit, buckets) in _HISTOGRAMS.items()
        }
        self._counters = {name: meter.create_counter(f"everthread.{name}") for name in _COUNTERS}
        measured.add(resources)
        meter.create_observable_gauge("everthread.database.connections", [connections])
        meter.create_observable_gauge("everthread.background.jobs", [jobs])

    @contextmanager
    def node(self, name: str, turn: str) -> Iterator[None]:
        """A span under that of its turn, the time it took, and its error."""
        from opentelemetry import trace

        parent = trace.set_span_in_context(self._span_of(turn, name))
        started, outcome = time.perf_counter(), "ok"
        with self._span(name, parent):
            try:
                yield
            except (GraphBubbleUp, asyncio.CancelledError) as stopped:
                # What is resumed later, perhaps by another process, is a span of its own.
                outcome = "interrupted" if isinstance(stopped, GraphBubbleUp) else "cancelled"
                self._end(turn)
                raise
            except BaseException as error:
                outcome = "error"
                for call in getattr(error, "calls", ()):
                    self._count_call(call)
                self._count("errors", 1, node=name, type=type(error).__name__)
                self._end(turn, error)
                raise
            finally:
                self._record("node.duration", time.perf_counter() - started, node=name, outcome=outcome)

    def closed(self, report: TurnReport, turn: str) -> None:
        """Everything that the report of a turn says in numbers."""
        self._end(turn)
        self._record("turn.duration", report.milliseconds / 1000)
        searched = report.search is not None and bool(report.search.needed)
        self._count("turns", 1, searched=searched, recalled=bool(report.memories))
        self._count_search(report)
        self._record("recall.hits", report.hits)
        for memory in report.memories:
            self._count("recall.memories", 1, arm=memory.arms)
            self._record("recall.score", memory.score)
            if memory.similarity is not None:
                self._record("recall.similarity", memory.similarity)
            if memory.used is not None:
                self._record("recall.used", memory.used)
        for section in report.context.sections if report.context else ():
            self._record("context.tokens", section.tokens, section=section.name)
            self._count("context.dropped", section.dropped, section=section.name)
        for call in report.calls:
            self._count_call(call)
        for summary in report.summaries:
            self._count("summaries", 1, level=summary.level, method=summary.method)
            self._record("summary.tokens", summary.tokens, level=summary.level)
        for made in report.after_reply.coherence if report.after_reply else ():
            self._record("summary.coherence", made.score, level=made.level, method=made.method)
        for part in ("search", "recall", "context", "reply", "after_reply"):
            record = getattr(report, part)
            if getattr(record, "error", None) or getattr(record, "degraded", ()):
                self._count("degraded", 1, part=part)

    @contextmanager
    def embedding(self, kind: Literal["query", "documents"], texts: int) -> Iterator[None]:
        """The time of a call of the embedding model."""
        self._count("embedding.texts", texts, kind=kind)
        with self._span("embedding"), self._timed("embedding.duration", kind=kind):
            yield

    @contextmanager
    def database(self) -> Iterator[None]:
        """The time of a use of the database; a span where it is part of another one, and not a trace of its own."""
        from opentelemetry import trace

        is_part = trace.get_current_span().get_span_context().is_valid
        with self._span("database") if is_part else nullcontext(), self._timed("database.duration"):
            yield

    def looked_up(self, cache: str, *, found: bool) -> None:
        """A cache hit or miss."""
        self._count("cache", 1, cache=cache, found=found)

    def skipped(self, table: str) -> None:
        """A row that is damaged."""
        self._count("degraded", 1, part=f"rows of {table}")

    def left_undone(self, part: str) -> None:
        """Work in the background that could not be done."""
        self._count("degraded", 1, part=part)

    @contextmanager
    def _span(self, name: str, parent: Context | None = None) -> Iterator[None]:
        """A span; of an error in it only the kind is recorded, for its text may quote what was said."""
        with self._tracer.start_as_current_span(
            f"everthread.{name}", parent, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except (GraphBubbleUp, asyncio.CancelledError):
                raise
            except BaseException as error:
                _mark_failed(span, error)
                raise

    @contextmanager
    def _timed(self, name: str, **attributes: str) -> Iterator[None]:
        started, outcome = time.perf_counter(), "error"
        try:
            yield
            outcome = "ok"
        finally:
            self._record(name, time.perf_counter() - started, outcome=outcome, **attributes)

    def _record(self, name: str, value: float, **attributes: str | int) -> None:
        self._histograms[name].record(value, attributes)

    def _count(self, name: str, number: int, **attributes: str | int | bool) -> None:
        if number:
            self._counters[name].add(number, attributes)

    def _count_call(self, call: ModelCall | ReplyReport) -> None:
        model = {"model": PurePath(call.model).name}  # the path of a model file may hold a person's name
        outcome = getattr(call, "failure", None) or "ok"
        self._record("model.duration", call.milliseconds / 1000, outcome=outcome, **model)
        self._count("model.tokens", call.input_tokens or 0, direction="in", **model)
        self._count("model.tokens", call.output_tokens or 0, direction="out", **model)
        self._count("model.tokens", call.cached_tokens or 0, direction="cached", **model)

    def _count_search(self, report: TurnReport) -> None:
        if (search := report.search) is None:
            return
        self._count("search.decisions", 1, decided_by=search.decided_by, needed=bool(search.needed))
        if (spent := report.nodes.get("web_search")) is not None:
            outcome = "error" if search.error else "ok"
            self._record("search.duration", spent / 1000, engine=search.engine or "none", outcome=outcome)

    def _span_of(self, turn: str, node: str) -> Span:
        """The span of a turn, begun with its first node. Where a first node comes again, another turn begins."""
        if turn in self._turns and node in _FIRST & self._turns[turn][1]:
            self._end(turn)
        if turn not in self._turns:
            self._turns[turn] = (self._tracer.start_span("everthread.turn"), set())
            while len(self._turns) > _TURNS:
                self._turns.popitem(last=False)[1][0].end()
        span, begun = self._turns[turn]
        begun.add(node)
        return span

    def _end(self, turn: str, error: BaseException | None = None) -> None:
        if (span := self._turns.pop(turn, (None, None))[0]) is not None:
            if error is not None:
                _mark_failed(span, error)
            span.end()


def _mark_failed(span: Span, error: BaseException) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_status(Status(StatusCode.ERROR, type(error).__name__))
