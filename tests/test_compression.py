"""When the live chain is compressed, and what then stands in it (seed 000, strategy 3)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from everthread.compression.engine import compress, next_batch, outdated_ids
from everthread.state.messages import is_summary, live_chain, summary_of
from everthread.state.records import Summary
from everthread.state.settings import Settings


def chat(count: int, start: int = 1) -> list[AnyMessage]:
    """M1, M2, ...: the user and the assistant in turn."""
    return [(HumanMessage if n % 2 else AIMessage)(f"message {n}", id=f"M{n}") for n in range(start, start + count)]


def settle(messages: list[AnyMessage], settings: Settings) -> list[AnyMessage]:
    """Summarize until nothing is due, as the loop of the graph does, and begin the next turn."""
    while batch := next_batch(messages, settings):
        id_ = Summary.id_for("t", batch.level, batch.source_ids)
        summary = Summary(
            id=id_, content=f"summary of {len(batch.sources)}", level=batch.level, source_ids=batch.source_ids
        )
        messages = compress(messages, batch, summary)
    return live_chain(messages)


def shape(messages: list[AnyMessage]) -> list[str]:
    """Ids of messages; S1, S2, ... for a summary of that level, and "master"."""
    return [f"S{summary_of(m).level}".replace("S0", "master") if is_summary(m) else str(m.id) for m in messages]


def grow(chain: list[AnyMessage], settings: Settings, turns: int, start: int) -> list[AnyMessage]:
    """Message after message, each followed by what is due. None is a question, which would wait for its answer."""
    for n in range(start, start + turns):
        chain = settle([*chain, AIMessage(f"message {n}", id=f"M{n}")], settings)
    return chain


def test_six_messages_become_three_and_a_summary_of_the_last_three() -> None:
    """The figure of seed 000: M1..M6 become M1 M2 M3 S1."""
    assert shape(settle(chat(5), Settings())) == ["M1", "M2", "M3", "M4", "M5"]
    chain = settle(chat(6), Settings())
    assert shape(chain) == ["M1", "M2", "M3", "S1"]
    assert summary_of(chain[-1]).source_ids == ("M4", "M5", "M6")


def test_three_summaries_of_level_one_become_one_of_level_two() -> None:
    """The figure of seed 000: S2 after M9, and S3 after M12 completes a level-2 summary."""
    settings = Settings()
    chain = grow([], settings, 9, 1)
    assert shape(chain) == ["M1", "M2", "M3", "S1", "S1"]
    chain = grow(chain, settings, 3, 10)
    assert shape(chain) == ["M1", "M2", "M3", "S2"]


def test_the_levels_end_in_a_master_summary_that_later_ones_update() -> None:
    settings = Settings()
    chain = grow([], settings, 3 + 3 * 27, 1)
    assert shape(chain) == ["M1", "M2", "M3", "master"]
    chain = grow(chain, settings, 3 * 9, 3 + 3 * 27 + 1)
    assert shape(chain) == ["M1", "M2", "M3", "master"]
    assert len(summary_of(chain[-1]).source_ids) == 2


def test_the_oldest_messages_are_summarized_when_the_setting_says_so() -> None:
    chain = settle(chat(6), Settings(summary_window="oldest"))
    assert shape(chain) == ["S1", "M4", "M5", "M6"]


def test_the_reply_of_the_newest_turn_stays_for_the_caller_until_the_next_turn() -> None:
    messages = chat(6)
    batch = next_batch(messages, Settings())
    assert batch is not None
    summary = Summary(id="s", content="short", level=1, source_ids=batch.source_ids)
    after = compress(messages, batch, summary)
    assert shape(after) == ["M1", "M2", "M3", "S1", "M5", "M6"]
    assert shape(live_chain(after)) == ["M1", "M2", "M3", "S1"]
    assert outdated_ids(after, Settings()) == []
    assert outdated_ids([*after, *chat(1, 7)], Settings()) == ["M5", "M6"]


def test_instructions_are_never_summarized() -> None:
    chain = settle([SystemMessage("be brief", id="I"), *chat(6)], Settings())
    assert shape(chain) == ["I", "M1", "M2", "M3", "S1"]


def call(id_: str, *names: str) -> AIMessage:
    return AIMessage("", id=id_, tool_calls=[{"name": "look", "args": {}, "id": name} for name in names])


def result(id_: str, name: str) -> ToolMessage:
    return ToolMessage("found", id=id_, tool_call_id=name)


def test_a_tool_call_is_never_parted_from_its_results() -> None:
    """Reports langchain #34282, deepagents #270, langmem #126: parallel calls, cut in the middle."""
    messages = [
        HumanMessage("q", id="M1"),
        call("C", "a", "b"),
        result("R1", "a"),
        result("R2", "b"),
        AIMessage("x", id="M2"),
    ]
    messages.insert(0, AIMessage("hello", id="M0"))
    last = next_batch(messages, Settings(n_sum=6, sum_window=2))
    oldest = next_batch(messages, Settings(n_sum=6, sum_window=3, summary_window="oldest"))
    assert last is not None
    assert oldest is not None
    assert last.source_ids == ("C", "R1", "R2", "M2")
    assert oldest.source_ids == ("M0", "M1", "C", "R1", "R2")


conversation = st.lists(st.sampled_from(["user", "assistant", "tools"]), max_size=40)
limits = st.tuples(st.integers(2, 12), st.integers(1, 12), st.integers(2, 5), st.integers(1, 4), st.booleans())


def spoken(roles: list[str]) -> list[list[AnyMessage]]:
    groups: list[list[AnyMessage]] = []
    for n, role in enumerate(roles):
        if role == "user":
            groups.append([HumanMessage(f"q{n}", id=f"u{n}")])
        elif role == "assistant":
            groups.append([AIMessage(f"a{n}", id=f"a{n}")])
        else:
            groups.append([call(f"c{n}", f"x{n}", f"y{n}"), result(f"r{n}", f"x{n}"), result(f"s{n}", f"y{n}")])
    return groups


@given(conversation, limits)
def test_every_message_stays_reachable_and_the_chain_stays_bounded(roles: list[str], numbers: tuple[int, ...]) -> None:
    """Whatever is said, each message is in the chain or below a summary in it, and calls stay with their results."""
    n_sum, window, n_sum_sum, levels, oldest = numbers
    settings = Settings(
        n_sum=n_sum, sum_window=min(window, n_sum), n_sum_sum=n_sum_sum, max_sum_lvl=levels,
        summary_window="oldest" if oldest else "last",
    )  # fmt: skip
    chain: list[AnyMessage] = []
    made: dict[str, tuple[str, ...]] = {}
    for group in spoken(roles):
        chain = [*chain, *group]
        while batch := next_batch(chain, settings):
            id_ = Summary.id_for("t", batch.level, batch.source_ids)
            made[id_] = batch.source_ids
            chain = compress(chain, batch, Summary(id=id_, content="s", level=batch.level, source_ids=batch.source_ids))
        chain = live_chain(chain)

    reachable: set[str] = set()
    open_ids = [str(message.id) for message in chain]
    while open_ids:
        id_ = open_ids.pop()
        reachable.add(id_)
        open_ids.extend(made.get(id_, ()))
    assert {str(m.id) for group in spoken(roles) for m in group} <= reachable
    assert sum(not is_summary(message) for message in chain) < n_sum + 3
    assert sum(is_summary(message) for message in chain) <= (n_sum_sum - 1) * (levels - 1) + settings.sum_window + 1
    asked = {c["id"] for m in chain if isinstance(m, AIMessage) for c in m.tool_calls}
    assert asked == {m.tool_call_id for m in chain if isinstance(m, ToolMessage)}
