"""Calls and results in a chain: whatever came in whatever order, what is sent is a list that providers accept."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from everthread.state.chain import empty_chain, taken_in, view_of
from everthread.state.messages import add_said
from everthread.state.storable import storable
from everthread.state.tool_calls import (
    NO_RESULT,
    count_rounds,
    open_calls,
    results_after_calls,
    results_in_place,
    with_results,
)

IDS = st.sampled_from(["a", "b", "c", "d"])
ENTRIES = st.one_of(
    st.just("user"), st.just("assistant"), st.tuples(st.just("calls"), st.lists(IDS, max_size=3, unique=True)),
    st.tuples(st.just("result"), IDS),
)  # fmt: skip


def chain_of(drawn: list[Any]) -> list[AnyMessage]:
    chain: list[AnyMessage] = []
    for n, entry in enumerate(drawn):
        kind, ids = entry if isinstance(entry, tuple) else (entry, ())
        if kind == "user":
            chain.append(HumanMessage(f"u{n}", id=f"{n}"))
        elif kind == "result":
            chain.append(ToolMessage(f"r{n}", id=f"{n}", tool_call_id=ids))
        else:
            made = [{"name": "f", "args": {}, "id": call_id, "type": "tool_call"} for call_id in ids]
            chain.append(AIMessage(f"a{n}", id=f"{n}", tool_calls=made))
    return chain


def is_accepted(messages: list[AnyMessage]) -> bool:
    """Each call is followed by one result, in any order, before anything else; no result stands without its call."""
    pending: set[str] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in pending:
                return False
            pending.discard(message.tool_call_id)
            continue
        if pending:
            return False
        pending = {str(call["id"]) for call in message.tool_calls} if isinstance(message, AIMessage) else set()
    return not pending


@given(st.lists(ENTRIES, max_size=12))
def test_any_chain_is_sent_as_providers_accept_it_and_nothing_that_was_said_is_missing(drawn: list[Any]) -> None:
    chain = chain_of(drawn)
    sent = results_after_calls(chain)
    assert is_accepted(sent)
    said = [message.id for message in chain if not isinstance(message, ToolMessage)]
    assert [message.id for message in sent if not isinstance(message, ToolMessage)] == said


@given(st.lists(ENTRIES, max_size=12))
def test_mending_a_chain_twice_changes_nothing_and_ids_stay(drawn: list[Any]) -> None:
    once = with_results(chain_of(drawn))
    assert with_results(once) == once
    assert len({message.id for message in once}) == len(once)


@given(st.lists(ENTRIES, max_size=10))
def test_the_conversation_keeps_what_came_as_it_came_one_by_one_as_at_once(drawn: list[Any]) -> None:
    said = chain_of(drawn)
    grown: Any = []
    for message in said:
        grown = add_said(grown, [message])
    assert grown == add_said([], list(said)) == said


@given(st.lists(ENTRIES, max_size=10))
def test_the_chain_is_the_same_one_by_one_as_at_once_and_holds_nothing_that_was_not_said(drawn: list[Any]) -> None:
    said = chain_of(drawn)
    chain = empty_chain()
    for n in range(len(said)):
        chain = taken_in(chain, said[: n + 1])
    assert chain == taken_in(empty_chain(), said)
    view = view_of(chain, {str(message.id): message for message in said}, {})
    assert sorted(str(message.id) for message in view) == sorted(str(message.id) for message in said)
    assert list(view) == results_in_place(said)
    sent = results_after_calls(view)
    assert is_accepted(sent)
    assert sorted(str(message.id) for message in sent) == sorted(
        str(message.id) for message in results_after_calls(said)
    )


def test_a_result_that_comes_late_stands_behind_its_call_and_only_one_that_never_came_is_stood_in_for() -> None:
    said = chain_of(["user", ("calls", ["a", "b"]), "user", "assistant", ("result", "b")])
    assert [message.text for message in results_in_place(said)] == ["u0", "a1", "r4", "u2", "a3"]
    sent = with_results(said)
    assert [message.text for message in sent] == ["u0", "a1", NO_RESULT, "r4", "u2", "a3"]
    assert isinstance(sent[2], ToolMessage)
    assert (sent[2].tool_call_id, sent[2].status) == ("a", "error")


def test_open_calls_and_rounds_are_those_after_the_newest_question() -> None:
    chain = chain_of(["user", ("calls", ["a", "b"]), ("result", "b")])
    assert [call["id"] for call in open_calls(chain)] == ["a"]
    assert open_calls([*chain, *chain_of(["user"])]) == []
    assert count_rounds([*chain, *chain_of([("calls", ["c"])])]) == 2
    assert count_rounds([*chain, *chain_of(["user"])]) == 0


@given(
    st.recursive(
        st.one_of(st.none(), st.floats(), st.binary(), st.text(), st.integers()),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    )
)
def test_what_a_message_carries_can_be_written_as_json(value: Any) -> None:
    import json

    kept = storable(value)
    json.dumps(kept, allow_nan=False)
    assert storable(kept) == kept
