"""Five profiles of one engine: each with the worked examples of its seed, and nothing lost under any of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage, convert_to_messages

from everthread import PROFILES, Settings, SettingsError
from everthread.compression.engine import compress, next_batch, outdated_ids, twin_of
from everthread.compression.importance import score_importance
from everthread.state.messages import is_empty, is_summary, live_chain, summary_message, summary_of
from everthread.state.profiles import ProfileName
from everthread.state.records import MASTER_LEVEL, Summary

NAMES = get_args(ProfileName)


def exchange(n: int) -> list[AnyMessage]:
    """M(2n-1) of the user and M(2n) of the assistant."""
    return [HumanMessage(f"question {n}", id=f"M{2 * n - 1}"), AIMessage(f"answer {n}", id=f"M{2 * n}")]


class Thread:
    """A chain under a profile, and every summary that was ever made of it."""

    def __init__(self, profile: str, **values: object) -> None:
        self.settings = Settings(profile=profile, **values)
        self.chain: list[AnyMessage] = []
        self.made: dict[str, Summary] = {}

    def say(self, *messages: AnyMessage) -> None:
        self.chain += messages
        outdated = set(outdated_ids(self.chain, self.settings))
        self.chain = [message for message in self.chain if message.id not in outdated]
        while batch := next_batch(self.chain, self.settings):
            id_ = Summary.id_for("t", batch.level, batch.source_ids)
            text = f"summary {len(self.made)}"
            self.made[id_] = Summary(
                id=id_, content=text, level=batch.level, source_ids=batch.source_ids, covers=batch.covers
            )
            self.chain = compress(self.chain, batch, self.made[id_])

    def talk(self, start: int, stop: int) -> Thread:
        for n in range(start, stop + 1):
            self.say(*exchange(n))
        return self

    @property
    def shape(self) -> list[str]:
        live = live_chain(self.chain)
        return [f"S{summary_of(m).level}".replace("S0", "S+") if is_summary(m) else str(m.id) for m in live]

    @property
    def summaries(self) -> list[Summary]:
        return [summary_of(message) for message in live_chain(self.chain) if is_summary(message)]

    def reachable(self) -> set[str]:
        """Ids of all that stands in the chain, or under a summary in it, at any depth."""
        found: set[str] = set()
        left = [str(message.id) for message in live_chain(self.chain)]
        while left:
            id_ = left.pop()
            found.add(id_)
            left += self.made[id_].source_ids if id_ in self.made else ()
        return found


def ids(first: int, last: int) -> list[str]:
    return [f"M{n}" for n in range(first, last + 1)]


def test_sliding_summary_at_twenty_thirty_forty_and_fifty_messages() -> None:
    """Seed 001: states 1 to 3, and the timeline's next step."""
    thread = Thread("sliding_summary").talk(1, 9)
    assert thread.shape == ids(1, 18)
    for exchanges, covered in ((10, 10), (15, 20), (20, 30), (25, 40)):
        thread = Thread("sliding_summary").talk(1, exchanges)
        assert thread.shape == ["S1", *ids(covered + 1, covered + 10)]
        assert thread.summaries[0].covers == covered


def test_sliding_summary_is_made_from_the_one_before_and_the_messages_since() -> None:
    thread = Thread("sliding_summary").talk(1, 15)
    first, second = thread.made.values()
    assert first.source_ids == tuple(ids(1, 10))
    assert second.source_ids == (first.id, *ids(11, 20))


def test_sliding_summary_begins_early_when_few_messages_weigh_much() -> None:
    """Seed 001: 20 messages or 8,000 estimated tokens."""
    thread = Thread("sliding_summary")
    for n in range(1, 8):
        thread.say(HumanMessage("word " * 1500, id=f"M{2 * n - 1}"), AIMessage("yes", id=f"M{2 * n}"))
    assert thread.shape[0] == "S1"


def test_hybrid_summarizes_every_fifteen_and_keeps_the_recent_eight() -> None:
    """Seed 002: summary every 15 messages, recent 8."""
    thread = Thread("hybrid").talk(1, 7)
    assert thread.shape == ids(1, 14)
    thread.talk(8, 8)
    assert thread.shape[0] == "S1"
    assert thread.summaries[0].source_ids == tuple(ids(1, 15))
    assert thread.shape[-8:] == ids(9, 16)


def test_hybrid_never_has_more_than_three_summaries_and_loses_none() -> None:
    """Seed 002: up to 3 summaries."""
    thread = Thread("hybrid")
    for n in range(1, 80):
        thread.say(*exchange(n))
        assert len(thread.summaries) <= 3
        assert set(ids(1, 2 * n)) <= thread.reachable()


@pytest.mark.parametrize(
    ("text", "role", "score"),
    [
        ("ok", HumanMessage, 0.5),
        ("What is Python?", HumanMessage, 0.7),
        ("How do I fix this error? ```python\nraise ValueError\n``` " + "It fails. " * 20, HumanMessage, 1.0),
        ("Fine.", AIMessage, 0.55),
        ("这是什么？", HumanMessage, 0.7),
        ("", HumanMessage, 0.5),
    ],
)  # fmt: skip
def test_hybrid_scores_importance_by_the_table(text: str, role: type[AnyMessage], score: float) -> None:
    """Seed 002: base 0.5, question 0.2, technical 0.15, trouble 0.1, long 0.1, reply 0.05; 1 at most."""
    assert score_importance(role(text)) == pytest.approx(score, abs=0.051 if score == 1.0 else 0.001)


def test_archive_counts_the_users_messages_and_archives_all() -> None:
    """Seed 003: with threshold 2, A B C D are archived in chunk 1 and one level-1 summary stands."""
    thread = Thread("archive", summary_every_n=2).talk(1, 1)
    assert thread.shape == ["M1", "M2"]
    thread.talk(2, 2)
    assert thread.shape == ["S1"]
    assert thread.summaries[0].source_ids == ("M1", "M2", "M3", "M4")


def test_archive_makes_a_level_two_summary_of_the_oldest_five_when_a_sixth_comes() -> None:
    """Seed 003, "Example Progression": five of level 1 stand; the sixth leaves one of level 2 and one of level 1."""
    thread = Thread("archive").talk(1, 50)
    assert thread.shape == ["S1"] * 5
    oldest = [summary.id for summary in thread.summaries]
    thread.talk(51, 60)
    assert thread.shape == ["S2", "S1"]
    assert list(thread.summaries[0].source_ids) == oldest


def test_archive_never_has_more_than_ten_summaries_and_goes_up_level_by_level() -> None:
    """Seed 003: at most 10 active; "hierarchy grows as needed"."""
    thread = Thread("archive", summary_every_n=1)
    for n in range(1, 200):
        thread.say(*exchange(n))
        assert len(thread.summaries) <= 10
    assert max(summary.level for summary in thread.summaries) >= 3
    assert set(ids(1, 398)) <= thread.reachable()


def test_layered_has_a_short_window_medium_batches_and_one_long_summary() -> None:
    """Seed 004: medium after a batch of 8 to 10, long when medium ones gather."""
    thread = Thread("layered")
    for n in range(1, 60):
        thread.say(*exchange(n))
        assert len([s for s in thread.summaries if s.level == 2]) <= 1
    medium = [summary for summary in thread.made.values() if summary.level == 1]
    assert {len(summary.source_ids) for summary in medium} <= {8, 9, 10}
    assert [summary for summary in thread.made.values() if summary.level == 2]
    assert thread.shape[-6:] == ids(113, 118)


def test_layered_takes_summaries_that_say_the_same_as_one() -> None:
    """Seed 004: summaries are deduplicated by the hash of their first 120 characters."""
    first, again, other = (
        Summary(id=str(n), content=text, level=1, source_ids=(f"M{n}",))
        for n, text in enumerate(["The user likes tea.", "the user  likes TEA.", "The user likes coffee."])
    )
    chain: list[AnyMessage] = [summary_message(first)]
    assert twin_of(chain, again.model_copy(update={"content": first.content})) is chain[0]
    assert twin_of(chain, other) is None


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"profile": "archive", "summary_every_n": 0}, "Setting 'summary_every_n' cannot be 0"),
        ({"profile": "archive", "summary_every_n": -3}, "Setting 'summary_every_n' cannot be -3"),
        ({"profile": "archive", "summary_every_n": 501}, "Setting 'summary_every_n' cannot be 501"),
        ({"profile": "archive", "max_level_summaries": 20}, "These settings do not agree: max_level_summaries is 20"),
        ({"profile": "sliding_summary", "keep_recent": 20}, "These settings do not agree: keep_recent is 20"),
        ({"profile": "layered", "batch_limit": 5}, "These settings do not agree: batch_limit is 5"),
    ],
)
def test_thresholds_that_make_no_sense_get_one_sentence_at_load(values: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings(**values)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_every_profile_names_its_seed_and_fills_only_what_is_not_set() -> None:
    assert set(PROFILES) == set(NAMES)
    assert [profile.source for profile in PROFILES.values()] == [f"seed 00{n}" for n in range(5)]
    assert Settings(profile="archive").summary_every_n == 10
    assert Settings(profile="archive", summary_every_n=3).summary_every_n == 3


turns = st.lists(
    st.sampled_from(["text", "tool", "two tools", "image", "empty reply", "word", "no reply"]), min_size=1, max_size=60
)


def messages_of(kind: str, n: int) -> list[AnyMessage]:
    asked = HumanMessage(f"question {n}", id=f"u{n}")
    reply = AIMessage(f"answer {n}", id=f"a{n}")
    call = {"name": "look", "args": {}, "type": "tool_call"}
    if kind == "tool":
        return [
            asked, AIMessage("", id=f"c{n}", tool_calls=[{**call, "id": f"k{n}"}]),
            ToolMessage("found", tool_call_id=f"k{n}", id=f"t{n}"), reply,
        ]  # fmt: skip
    if kind == "two tools":
        return [
            asked, AIMessage("", id=f"c{n}", tool_calls=[{**call, "id": f"k{n}"}, {**call, "id": f"l{n}"}]),
            ToolMessage("found", tool_call_id=f"k{n}", id=f"t{n}"),
            ToolMessage("found too", tool_call_id=f"l{n}", id=f"v{n}"), reply,
        ]  # fmt: skip
    if kind == "image":
        block = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}
        return [HumanMessage([block], id=f"u{n}"), reply]
    if kind == "empty reply":
        return [asked, AIMessage("", id=f"a{n}")]
    if kind == "word":
        return [HumanMessage("ok", id=f"u{n}"), AIMessage("ok", id=f"a{n}")]
    return [asked] if kind == "no reply" else [asked, reply]


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4), turns)
def test_nothing_is_lost_no_call_is_parted_and_the_question_stays_under_any_profile(
    profiles: list[ProfileName], drawn: list[str]
) -> None:
    """Also where the profile changes in the middle of the thread: the chain is carried over."""
    thread, said = Thread(profiles[0]), set()
    for n, kind in enumerate(drawn):
        thread.settings = Settings(profile=profiles[n * len(profiles) // len(drawn)])
        new = messages_of(kind, n)
        said |= {str(message.id) for message in new if not is_empty(message)}
        thread.say(*new)
        assert said <= thread.reachable()
        live = live_chain(thread.chain)
        calls = {call["id"] for message in live if isinstance(message, AIMessage) for call in message.tool_calls}
        results = {message.tool_call_id for message in live if isinstance(message, ToolMessage)}
        assert calls == results
        if kind == "no reply":
            assert live[-1].id == f"u{n}"
    levels = [summary.level for summary in thread.summaries]
    assert levels.count(MASTER_LEVEL) <= 1


STRESS = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "stress" / "stress_conversations.jsonl"


@pytest.mark.skipif(not STRESS.is_file(), reason="needs the data folder beside the repository")
@pytest.mark.parametrize("profile", NAMES)
def test_real_conversations_of_every_kind_go_through_with_nothing_lost(profile: ProfileName) -> None:
    """Tool calls, many scripts, code: 190 conversations."""
    lines = STRESS.read_text(encoding="utf-8").splitlines()
    assert lines
    for line in lines:
        thread, said = Thread(profile), set[str]()
        messages = convert_to_messages([with_calls(m) for m in json.loads(line)["messages"]])
        for n, message in enumerate(messages):
            message.id = f"m{n}"
            if not is_empty(message):
                said.add(f"m{n}")
            thread.say(message)
        assert said <= thread.reachable() | {str(m.id) for m in messages if m.type == "system"}


def with_calls(message: dict[str, Any]) -> dict[str, Any]:
    """The message in OpenAI's form, without fields that hold nothing."""
    return {key: value for key, value in message.items() if value is not None} | {
        "content": message.get("content") or ""
    }
