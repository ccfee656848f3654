"""`UserMemory`: what recall needs to know of one user's messages and summaries, held in arrays by this process."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import compress
from sys import intern
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..storage.archive_rows import MOST_MESSAGES
from ..storage.memory_changes import MessageRow, VectorRow, said_at, term_numbers
from .columns import Column
from .held_summaries import HeldSummaries, SummarySource
from .held_vectors import OBJECTS, HeldVectors
from .postings import NOBODY, Postings
from .timeline import Timeline

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]

_MESSAGE: Final = np.dtype(
    [("thread", "i8"), ("seq", "i8"), ("micros", "i8"), ("length", "i8"), ("speaker", "i8"),
     ("asks", "?"), ("is_reply", "?"), ("is_system", "?"), ("by_people", "?")]
)  # fmt: skip
_QUESTION_MARKS: Final = {"?", "\uff1f", "\u061f"}
_FEW_THREADS: Final = 8
"""Threads to whose ends messages are added one thread after the other; with more, everything is rebuilt."""


class View(NamedTuple):
    """The messages of one thread or of all, in the order they were said.

    Attributes:
        timeline: where they stand.
        rows: the row of each position.
        positions: the position of each row; -1 for one outside.
        messages: what is known of each: `speaker`, `asks`, `is_reply`, `is_system`, `by_people`, ...
        thread: the thread whose they are; None for all.
    """

    timeline: Timeline
    rows: Indices
    positions: Indices
    messages: NDArray[Any]
    thread: str | None = None


class Near(NamedTuple):
    """Cosines of what is near to a question: of each row, NaN where it is not near, and of summaries."""

    messages: Numbers
    summaries: Sequence[tuple[SummarySource, float]]


class UserMemory:
    """Messages in rows, in the order in which they became known, with their terms and vectors.

    Not more than one thread may use it at a time: whoever does holds `lock`.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ids: list[tuple[str, str]] = []
        self.roles: list[str] = []
        self._hashes: Column[np.int64] = Column(np.int64)
        self._rows: dict[tuple[str, str], int] = {}
        self._threads: dict[str, int] = {}
        self._speakers: dict[str | None, int] = {}
        self._messages: Column[Any] = Column(_MESSAGE)
        self._postings = Postings()
        self._summaries = HeldSummaries()
        self._vectors = HeldVectors()
        self._whole: View | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes that the memory takes, about."""
        columns = (self._messages, self._hashes, self._postings, self._vectors)
        return sum(column.nbytes for column in columns) + OBJECTS * len(self.ids)

    @property
    def speakers(self) -> Mapping[str | None, int]:
        """The names under which anybody spoke, and their numbers."""
        return self._speakers

    @property
    def messages(self) -> NDArray[Any]:
        """The rows: `seq`, `micros` since 1970, `length` in terms, and as follows.

        `speaker` is a number of `speakers`; `asks` is whether the text ends in a question mark; `is_reply` whether an
        assistant said it, and not a person with a name; `is_system` whether it is an instruction; `by_people` whether
        it is neither, and no tool's result.
        """
        return self._messages.values

    def add_messages(self, rows: Sequence[MessageRow]) -> None:
        """Add messages; one that is known keeps its row."""
        latest = {(row[0], row[1]): row for row in rows}
        at = np.fromiter(map(self._row, latest), np.int64, len(latest))
        hashes = np.fromiter(map(hash, latest.values()), np.int64, len(latest))
        is_news = at < 0
        is_news[~is_news] = self._hashes.values[at[~is_news]] != hashes[~is_news]
        if not is_news.any():
            return
        news = list(compress(latest.values(), is_news))
        at, hashes = at[is_news], hashes[is_news]
        keys, sizes = term_numbers(row[7] for row in news)
        values = self._values(news, sizes)
        known, fresh, first = at >= 0, at < 0, len(self)
        if known.any():
            self._postings.forget(at[known])
        self.messages[at[known]] = values[known]
        self._hashes.values[at[known]] = hashes[known]
        at[fresh] = np.arange(first, first + fresh.sum())
        new = list(compress(news, fresh))
        ids = [(intern(row[0]), row[1]) for row in new]  # which come with each row again
        self._rows.update(zip(ids, range(first, first + len(ids)), strict=True))
        self.ids.extend(ids)
        self.roles.extend(intern(row[3]) for row in new)
        self._hashes.extend(hashes[fresh])
        self._messages.extend(values[fresh])
        self._postings.add(keys, np.repeat(at, sizes))
        self._whole = None if known.any() else self._grown(first)

    def add_vectors(self, rows: Sequence[VectorRow]) -> None:
        """Add vectors; one that is known, or comes twice, counts as it came last. Those of messages that are not known
        are left out."""
        by_size: dict[int, tuple[list[VectorRow], list[int]]] = {}
        for row in {row[0]: row for row in rows}.values():
            if (owner := self._owner(row)) != NOBODY:
                alike, owners = by_size.setdefault(len(row[6]), ([], []))
                alike.append(row)
                owners.append(owner)
        for alike, owners in by_size.values():
            self._vectors.add(alike, np.array(owners, dtype=np.int64))

    def view(self, thread_id: str | None = None) -> View:
        """The messages of this thread, or of all where it is None, in the order they were said."""
        if self._whole is None:
            self._whole = self._arranged()
        if thread_id is None:
            return self._whole
        timeline, rows, _, messages, _ = self._whole
        part = slice(*timeline.span(thread_id))
        return View(timeline.only(thread_id), rows[part], self._positions(rows[part]), messages[part], thread_id)

    def prepare(self) -> None:
        """Do what the first search would have to: sort in the terms, and put the messages in their order."""
        self._postings.sort_in()
        self.view()

    def counts(self, view: View, keys: Sequence[int]) -> Numbers:
        """How often each message holds each term: one row a term, one column a position of the view."""
        number = len(view.rows)
        held = [self._postings.rows_of(key) for key in keys]
        terms = np.repeat(np.arange(len(keys)), [len(rows) for rows in held])
        at = view.positions[np.concatenate(held)] if held else np.zeros(0, dtype=np.int64)
        inside = at >= 0
        flat = np.bincount(terms[inside] * number + at[inside], minlength=len(keys) * number)
        return flat.reshape(len(keys), number).astype(np.float64)

    def holders(self, view: View, at: Indices, without: Sequence[int], most: int) -> tuple[Indices, Indices]:
        """Of each term of some positions, a number for the term and a position that holds it; one entry each.

        Args:
            view: the messages.
            at: the positions.
            without: keys of terms that are left out.
            most: times that a term is said; what is said more often is left out, too.
        """
        asked = np.zeros(len(self) + 1, dtype=bool)
        asked[view.rows[at]] = True
        terms, rows = self._postings.together(asked, without=without, most=most)
        known = rows < len(view.positions)  # not of what was added since the view was made
        terms, held, number = terms[known], view.positions[rows[known]], len(view.rows)
        each = np.unique(terms[held >= 0] * number + held[held >= 0])
        return each // number, each % number

    def near(self, view: View, vector: Sequence[float], limit: int) -> Near:
        """Cosines of the messages and summaries nearest to a vector; of a message with several chunks the best counts.

        Args:
            view: of these messages, and of the summaries of their thread.
            vector: any; only vectors of as many dimensions can be compared.
            limit: messages and summaries, at most.
        """
        owners, cosines = self._vectors.cosines(vector)
        best, of_summaries = np.full(len(self), -np.inf), np.full(len(self._summaries), -np.inf)
        of_message, of_summary = owners >= 0, owners < NOBODY
        np.maximum.at(best, owners[of_message], cosines[of_message])
        np.maximum.at(of_summaries, -2 - owners[of_summary], cosines[of_summary])
        outside = np.ones(len(self), dtype=bool)
        outside[view.rows] = False  # also of what was said since the view was made
        best[outside] = -np.inf
        if view.thread is not None:
            of_summaries[self._summaries.outside(view.thread)] = -np.inf
        both = np.concatenate([best, of_summaries])
        least = np.partition(both, -limit)[-limit] if len(both) > limit else -np.inf
        kept = [(self._summaries[n], float(of_summaries[n])) for n in np.flatnonzero(of_summaries >= least).tolist()]
        near = np.where((best >= least) & np.isfinite(best), best, np.nan)
        return Near(near, [(source, cosine) for source, cosine in kept if np.isfinite(cosine)])

    def echoes(self, view: View, at: Indices) -> Numbers:
        """How much messages are about what the one before them is: cosines; 0 where either has no vector here.

        Args:
            view: the messages.
            at: the positions that are asked for.
        """
        echoes = self._vectors.alike(view.rows[at], view.rows[np.maximum(at - 1, 0)])
        echoes[at == 0] = 0
        return echoes

    def near_by(self, found: Sequence[tuple[str, SummarySource, float]]) -> Near:
        """The same from what another store found: the kind of each source, the source, its cosine."""
        near = np.full(len(self), np.nan)
        for kind, source, cosine in found:
            if kind == "message" and (row := self._row((source.thread_id, source.id))) >= 0:
                near[row] = cosine
        return Near(near, [(source, cosine) for kind, source, cosine in found if kind == "summary"])

    def said_at(self, row: int) -> datetime:
        """When a message was said."""
        return said_at(self.messages["micros"][row])

    def _row(self, source: tuple[str, str]) -> int:
        return self._rows.get(source, -1)

    def _values(self, rows: Sequence[MessageRow], lengths: Indices) -> NDArray[Any]:
        threads, _, seqs, roles, names, micros, endings, _, _ = zip(*rows, strict=True)
        values = np.empty(len(rows), _MESSAGE)
        values["thread"] = [self._threads.setdefault(thread, len(self._threads)) for thread in threads]
        values["seq"], values["micros"], values["length"] = seqs, micros, lengths
        values["speaker"] = [self._speakers.setdefault(name, len(self._speakers)) for name in names]
        values["asks"] = [ending in _QUESTION_MARKS for ending in endings]
        values["is_reply"] = [role == "assistant" and not name for role, name in zip(roles, names, strict=True)]
        values["is_system"] = [role == "system" for role in roles]
        values["by_people"] = ~values["is_reply"] & [role not in ("system", "tool") for role in roles]
        return values

    def _owner(self, row: VectorRow) -> int:
        _, thread_id, source_type, source_id, *_ = row
        return -2 - self._summaries.number_of(row) if source_type == "summary" else self._row((thread_id, source_id))

    def _positions(self, rows: Indices) -> Indices:
        positions = np.full(len(self), -1, dtype=np.int64)
        positions[rows] = np.arange(len(rows))
        return positions

    def _grown(self, first: int) -> View | None:
        """The view of all with the rows from `first` on, where they come last in a few threads; else None."""
        view, threads = self._whole, self.messages["thread"][first:]
        touched = np.unique(threads).tolist()
        if view is None or len(touched) > _FEW_THREADS:
            return None
        timeline, rows, _, messages, _ = view
        names = list(self._threads)
        for thread in touched:
            fresh = first + np.flatnonzero(threads == thread)
            fresh = fresh[np.argsort(self.messages["seq"][fresh])]
            new = self.messages[fresh]
            if thread > len(timeline.names) or new["seq"][0] <= timeline.last_seq(names[thread]):
                return None
            timeline, at = timeline.with_next(
                thread, names[thread], new["seq"], new["micros"] / 1e6, new["length"].astype(np.float64)
            )
            rows, messages = np.insert(rows, at, fresh), np.insert(messages, at, new)
        return View(timeline, rows, self._positions(rows), messages)

    def _arranged(self) -> View:
        order = np.argsort(self.messages["thread"] * MOST_MESSAGES + self.messages["seq"], kind="stable")
        ordered = self.messages[order]
        starts = np.searchsorted(ordered["thread"], np.arange(len(self._threads) + 1))
        timeline = Timeline.at_rest(
            list(self._threads),
            starts.astype(np.int64),
            ordered["seq"].copy(),
            ordered["micros"] / 1e6,
            ordered["length"].astype(np.float64),
        )
        return View(timeline, order, self._positions(order), ordered)
