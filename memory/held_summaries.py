"""`HeldSummaries`: a user's summaries that have a vector, by number."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..storage.memory_changes import VectorRow, said_at
from .columns import Column

_NO_THREAD: Final = -1


class SummarySource(NamedTuple):
    """A summary that has a vector."""

    thread_id: str
    id: str
    role: str
    created_at: datetime


class HeldSummaries:
    """Summaries in the order in which they became known, and the numbers of their threads, to be compared at once."""

    def __init__(self) -> None:
        self._sources: list[SummarySource] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self._threads: dict[str, int] = {}
        self._thread_of: Column[np.int64] = Column(np.int64)

    def __len__(self) -> int:
        return len(self._sources)

    def __getitem__(self, number: int) -> SummarySource:
        return self._sources[number]

    def number_of(self, row: VectorRow) -> int:
        """The number of the summary that a vector is of; it becomes known by that."""
        _, thread_id, _, source_id, role, micros, _, _ = row
        number = self._numbers.setdefault((thread_id, source_id), len(self))
        if number == len(self):
            self._sources.append(SummarySource(thread_id, source_id, role, said_at(micros)))
        return number

    def outside(self, thread: str) -> NDArray[np.bool_]:
        """Of each whether it is in another thread."""
        known = len(self._thread_of.values)
        for source in self._sources[known:]:
            self._threads.setdefault(source.thread_id, len(self._threads))
        self._thread_of.extend([self._threads[source.thread_id] for source in self._sources[known:]])
        outside: NDArray[np.bool_] = self._thread_of.values != self._threads.get(thread, _NO_THREAD)
        return outside
