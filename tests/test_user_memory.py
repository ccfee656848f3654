"""A user's memory grows by what is said; it is then as if all had been read at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everthread.memory.bridges import bridged
from everthread.memory.user_memory import UserMemory, View
from everthread.storage.memory_changes import MessageRow, array_bytes

HOUR = 3_600_000_000


def said(thread: str, seq: int, hour: int, terms: Sequence[int]) -> MessageRow:
    role = "assistant" if seq % 2 else "user"
    return MessageRow(thread, f"{thread}{seq}", seq, role, None, hour * HOUR, "?", array_bytes(terms), seq)


rows = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.integers(0, 60), st.integers(0, 120), st.lists(st.integers(1, 4), max_size=30)
    ),
    max_size=70,
    unique_by=lambda row: row[:2],
)


def same(one: View, other: View) -> None:
    assert one.timeline.names == other.timeline.names
    for name in ("starts", "seqs", "times", "lengths"):
        assert np.array_equal(getattr(one.timeline, name), getattr(other.timeline, name)), name
    for name in ("weights", "around"):
        assert np.allclose(getattr(one.timeline, name), getattr(other.timeline, name), rtol=1e-5), name
    assert np.array_equal(one.rows, other.rows)
    assert np.array_equal(one.positions, other.positions)
    assert np.array_equal(one.messages, other.messages)


@given(rows, st.lists(st.integers(1, 9), min_size=1), st.booleans())
def test_a_memory_that_grew_is_the_same_as_one_that_was_read_at_once(
    drawn: list[tuple[str, int, int, list[int]]], sizes: list[int], in_order: bool
) -> None:
    if in_order:
        drawn = sorted(drawn, key=lambda row: row[1])
    messages = [said(*row) for row in drawn]
    at_once, grown = UserMemory(), UserMemory()
    at_once.add_messages(messages)
    at, turn = 0, 0
    while at < len(messages):
        size = sizes[turn % len(sizes)]
        grown.add_messages(messages[at : at + size])
        grown.view()
        grown.add_messages(messages[max(0, at - 2) : at + size])  # what is read again is no news
        at, turn = at + size, turn + 1
    same(grown.view(), at_once.view())
    for thread in "abc":
        same(grown.view(thread), at_once.view(thread))
        counts = [memory.counts(memory.view(thread), [1, 2, 9]) for memory in (grown, at_once)]
        assert np.array_equal(*counts)


@given(rows)
def test_each_term_is_counted_where_it_was_said(drawn: list[tuple[str, int, int, list[int]]]) -> None:
    memory = UserMemory()
    memory.add_messages([said(*row) for row in drawn])
    changed = [(thread, seq, hour, [*terms, 4]) for thread, seq, hour, terms in drawn]
    memory.add_messages([said(*row) for row in changed])
    view = memory.view()
    counts = memory.counts(view, [4, 1])
    wanted = {f"{thread}{seq}": [terms.count(4), terms.count(1)] for thread, seq, _, terms in changed}
    told = {memory.ids[row][1]: counts[:, at].tolist() for at, row in enumerate(view.rows.tolist())}
    assert told == wanted


def test_a_neighbour_lends_less_with_each_word_between_and_nothing_after_a_long_silence() -> None:
    memory = UserMemory()
    memory.add_messages([said("a", n, 40 * (n > 3), [1] * 20) for n in range(6)])
    weights = memory.view().timeline.weights
    assert weights[1].tolist()[8:13] == [1.0, 0.5, np.float32(1 / 3), 0.0, 0.0]
    assert weights[1, 7] == 0.5
    assert weights[4].tolist()[6:10] == [0.0, 0.0, 1.0, 0.5]


def test_what_the_first_hits_name_leads_to_what_else_was_said_about_it() -> None:
    """Term 7 is in the best hit and in one message of its thread far behind; 1 is asked for, and 8 is in all."""
    memory = UserMemory()
    lines = [said("a", 2 * n, n, [8, *([1, 7] if n == 0 else [7] if n == 150 else [])]) for n in range(200)]
    memory.add_messages([*lines, said("b", 0, 0, [7, 8]), said("a", 1, 0, [7])])
    view = memory.view()
    scores = np.where(view.messages["is_reply"], 3.0, np.linspace(9, 2, len(view.rows)))
    after = bridged(memory, view, np.arange(len(view.rows)), scores, by_people=~view.messages["is_reply"], asked=[1])
    lifted = {memory.ids[view.rows[n]][1] for n in np.flatnonzero(after > scores)}
    assert lifted == {"a300"}  # not the assistant's, nor that of another thread
    assert after.max() == scores.max()
    assert np.array_equal(
        bridged(memory, view, np.arange(0), scores[:0], by_people=scores[:0] > 0, asked=[]), scores[:0]
    )
