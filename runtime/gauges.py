"""Gauges of telemetry: what all resources of this process that are measured have open at a moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from .background import KINDS
from .resources import Resources

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Observation

measured: Final[WeakSet[Resources]] = WeakSet()
"""The resources that are measured."""


def connections(_: CallbackOptions) -> Iterable[Observation]:
    """The connections of all databases of this process: of a gauge that is made twice, the first callback counts."""
    from opentelemetry.metrics import Observation

    counts = [database.connections() for database in {resources.database for resources in list(measured)}]
    for state in dict.fromkeys(state for count in counts for state in count):
        yield Observation(sum(count.get(state, 0) for count in counts), {"state": state})


def jobs(_: CallbackOptions) -> Iterable[Observation]:
    """The jobs of all backgrounds of this process, of each kind, and the turns that the storage has yet to take."""
    from opentelemetry.metrics import Observation

    counts = sum((resources.background.counts() for resources in list(measured)), Counter[str]())
    yield from (Observation(counts[kind], {"kind": kind}) for kind in KINDS)
    unwritten = sum(resources.away.count for resources in list(measured))
    yield Observation(unwritten, {"kind": "unwritten"})
