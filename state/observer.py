"""`Observer`: who hears what goes on; this one does nothing with it. `graph.telemetry` measures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from .report_records import TurnReport


class Observer:
    """Hears what happens in this process, never what was said or by whom. It must not raise."""

    @contextmanager
    def node(self, name: str, turn: str) -> Iterator[None]:
        """Stands around a node that runs.

        Args:
            name: the node's.
            turn: what tells this turn from others.
        """
        yield

    def closed(self, report: TurnReport, turn: str) -> None:
        """A turn is done, summaries included."""

    @contextmanager
    def embedding(self, kind: Literal["query", "documents"], texts: int) -> Iterator[None]:
        """Surrounds a call of the embedding model with this many texts, and the wait for it."""
        yield

    @contextmanager
    def database(self) -> Iterator[None]:
        """Stands around work in the database, and the wait for a connection."""
        yield

    def looked_up(self, cache: str, *, found: bool) -> None:
        """Something was looked up in a cache."""

    def skipped(self, table: str) -> None:
        """A row of a table is damaged and was not read."""

    def left_undone(self, part: str) -> None:
        """Work in the background, such as embedding, could not be done: the next turn tries again."""
