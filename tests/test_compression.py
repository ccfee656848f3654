"""When the live chain is compressed under each profile: every worked example of the seeds, with its numbers."""

from __future__ import annotations

from typing import Any

import pytest
from chains import Thread, call, chat, parted_calls, replies, result, span
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from everthread import PROFILES, SettingsError
from everthread.compression.engine import compress, duplicate_of, forced_batch, next_batch, outdated_ids
from everthread.settings.settings import Settings
from everthread.state.chain import ChainView, SummaryMessage, empty_chain, message_ids, summary_ids, taken_in
from everthread.state.records import Summary
from everthread.text.tokens import count_message_tokens

# --- multi_strategy, seed 000, the figure of strategy 3


def test_six_messages_become_three_and_a_summary_of_the_last_three() -> None:
    """M1..M6 become M1 M2 M3 S1."""
    assert Thread(messages=chat(5)).shape == span(1, 5)
    thread = Thread(messages=chat(6))
    assert thread.shape == [*span(1, 3), "S1"]
    assert thread.summaries[0].source_ids == ("M4", "M5", "M6")


def test_three_summaries_of_level_one_become_one_of_level_two() -> None:
    """The second S1 after M9; the third after M12 completes a level-2 summary in the place of the three."""
    thread = Thread().one_by_one(replies(9))
    assert thread.shape == [*span(1, 3), "S1", "S1"]
    first, second = (summary.id for summary in thread.summaries)
    thread.one_by_one(replies(3, 10))
    assert thread.shape == [*span(1, 3), "S2"]
    assert thread.summaries[0].source_ids[:2] == (first, second)
    assert thread.summaries[0].covers == 9


def test_the_levels_end_in_a_master_summary_that_later_ones_update() -> None:
    """Level 3 of nine, three times over, becomes the master; each later level-3 summary goes into it."""
    thread = Thread().one_by_one(replies(3 + 3 * 9))
    assert thread.shape == [*span(1, 3), "S3"]
    thread.one_by_one(replies(3 * 18, 31))
    assert thread.shape == [*span(1, 3), "master"]
    assert thread.summaries[0].covers == 81
    before = thread.summaries[0].id
    thread.one_by_one(replies(3 * 9, 85))
    assert thread.shape == [*span(1, 3), "master"]
    assert thread.summaries[0].source_ids[0] == before
    assert len(thread.summaries[0].source_ids) == 2


def test_in_turns_of_two_messages_the_figure_holds_step_by_step() -> None:
    """The figure's M1 M2 M3 S1, then a second and a third S1, then S2 in their place; a turn adds two messages."""
    thread = Thread()
    shapes = [list(thread.say(*chat(2, 2 * turn - 1)).shape) for turn in range(1, 7)]
    assert shapes == [
        span(1, 2),
        span(1, 4),
        [*span(1, 3), "S1"],
        [*span(1, 3), "S1", "M7", "M8"],
        [*span(1, 3), "S1", "S1", "M10"],
        [*span(1, 3), "S2"],
    ]
    assert [batch.source_ids for batch in thread.batches[:3]] == [
        tuple(span(4, 6)), tuple(span(7, 9)), tuple(span(10, 12))
    ]  # fmt: skip
    assert thread.summaries[0].covers == 9


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 60])
def test_however_many_messages_a_turn_adds_the_tree_is_the_one_of_single_messages(size: int) -> None:
    """Up to the master summary, whose later updates are each of one summary of the highest level."""
    single, turns = Thread().one_by_one(replies(240)), Thread()
    for start in range(1, 241, size):
        turns.say(*replies(size, start))
    assert turns.shape == single.shape
    assert [summary.id for summary in turns.summaries] == [summary.id for summary in single.summaries]


def test_the_oldest_messages_are_summarized_when_the_setting_says_so() -> None:
    assert Thread(Settings(summary_window="oldest"), chat(6)).shape == ["S1", "M4", "M5", "M6"]


# --- sliding_summary, seed 001, states 1 to 3 and the visual timeline

SLIDING = Settings(profile="sliding_summary")


def test_at_20_30_40_and_50_messages_the_summary_covers_all_but_the_recent_ten() -> None:
    thread = Thread(SLIDING)
    for count in (20, 30, 40, 50):
        thread.one_by_one(replies(9, count - 19 if count == 20 else count - 9))
        if count == 20:
            assert thread.shape == span(1, 9)
            thread.one_by_one(replies(10, 10))
        before = thread.summaries
        assert [summary.covers for summary in before] == ([count - 20] if count > 20 else [])
        thread.one_by_one(replies(1, count))
        (summary,) = thread.summaries
        assert summary.covers == count - 10
        assert thread.shape == ["S1", *span(count - 9, count)]
        new = tuple(span(count - 19, count - 10))
        assert summary.source_ids == ((before[0].id, *new) if before else new)


@pytest.mark.parametrize(
    ("total", "covered", "due"),
    [(30, 10, True), (29, 10, False), (40, 20, True), (39, 20, False), (50, 30, True)],
)
def test_the_summary_is_made_again_by_the_formula(total: int, covered: int, due: bool) -> None:
    """needsRegeneration = (totalMessages - (coversMessageCount + recentToKeep)) >= threshold, the last two being 10."""
    assert ((total - (covered + 10)) >= 10) is due
    thread = Thread(SLIDING)
    thread.take(*replies(total))
    batch = next_batch(thread.view, SLIDING)
    assert batch is not None
    sources = tuple(message for message in batch.sources if int(str(message.id)[1:]) <= covered)
    thread.summarize(batch._replace(sources=sources))
    assert (next_batch(thread.view, SLIDING) is not None) is due


def test_eight_thousand_tokens_trigger_the_first_summary_before_twenty_messages() -> None:
    chain = ChainView(AIMessage("word " * 700, id=f"M{n}") for n in range(1, 13))
    assert count_message_tokens(chain[:11]) < 8000 <= count_message_tokens(chain)
    assert next_batch(chain[:11], SLIDING) is None
    batch = next_batch(chain, SLIDING)
    assert batch is not None
    assert batch.source_ids == ("M1", "M2")


# --- hybrid, seed 002, "Summarization Timeline Example"

HYBRID = Settings(profile="hybrid")


def test_fifteen_messages_make_a_summary_beside_the_recent_eight_and_fifteen_more_the_next() -> None:
    thread = Thread(HYBRID).one_by_one(replies(14))
    assert thread.summaries == []
    thread.one_by_one(replies(1, 15))
    assert thread.summaries[0].source_ids == tuple(span(1, 15))
    assert thread.shape == ["S1", *span(8, 15)]
    thread.one_by_one(replies(14, 16))
    assert len(thread.summaries) == 1
    thread.one_by_one(replies(1, 30))
    assert [summary.source_ids for summary in thread.summaries] == [tuple(span(1, 15)), tuple(span(16, 30))]


def test_messages_that_stay_beside_a_summary_leave_when_they_are_not_recent() -> None:
    thread = Thread(HYBRID)
    for n in range(1, 16):
        thread.say(*chat(2, 2 * n - 1))
    said = [int(id_[1:]) for id_ in thread.shape if id_[0] == "M"]
    assert said == list(range(23, 31))
    assert [summary.covers for summary in thread.summaries] == [15, 15]


def test_of_more_than_three_summaries_the_older_ones_become_one() -> None:
    """Seed 002, "Multi-Level Summaries": A + B + C become a meta-summary."""
    thread = Thread(HYBRID).one_by_one(replies(45))
    assert [summary.covers for summary in thread.summaries] == [15, 15, 15]
    thread.one_by_one(replies(15, 46))
    assert [(summary.level, summary.covers) for summary in thread.summaries] == [(0, 45), (1, 15)]


# --- archive, seed 003

ARCHIVE = Settings(profile="archive")


def turns(count: int, start: int = 1) -> list[list[HumanMessage | AIMessage]]:
    return [
        [HumanMessage(f"question {n}", id=f"Q{n}"), AIMessage(f"answer {n}", id=f"A{n}")]
        for n in range(start, start + count)
    ]


def test_at_a_threshold_of_two_all_four_messages_are_archived_in_one_chunk() -> None:
    """Seed 003, "Archival Process": A, B, C, D become Summary1."""
    thread = Thread(Settings(profile="archive", summary_every_n=2))
    first, second = turns(2)
    thread.say(*first)
    assert thread.shape == ["Q1", "A1"]
    thread.say(*second)
    assert thread.shape == ["S1"]
    assert thread.summaries[0].source_ids == ("Q1", "A1", "Q2", "A2")


def test_only_the_users_messages_count_and_only_after_a_reply() -> None:
    thread = Thread(Settings(profile="archive", summary_every_n=2))
    thread.say(HumanMessage("a", id="a"), AIMessage("b", id="b"), AIMessage("c", id="c"), AIMessage("d", id="d"))
    assert thread.summaries == []
    thread.say(HumanMessage("e", id="e"))
    assert thread.summaries == []
    thread.say(AIMessage("f", id="f"))
    assert thread.shape == ["S1"]


def test_the_sixth_summary_makes_the_oldest_five_one_of_level_two() -> None:
    """Seed 003, "Example Progression": 50 messages of the user make five; the sixth leaves one L2 and one L1."""
    thread = Thread(ARCHIVE)
    for turn in turns(50):
        thread.say(*turn)
    assert thread.shape == ["S1"] * 5
    for turn in turns(10, 51):
        thread.say(*turn)
    assert thread.shape == ["S2", "S1"]
    assert [summary.covers for summary in thread.summaries] == [100, 20]


def test_the_levels_go_on_up_and_never_more_than_ten_summaries_stand() -> None:
    thread = Thread(Settings(profile="archive", summary_every_n=1))
    most = 0
    for turn in turns(400):
        thread.say(*turn)
        most = max(most, len(thread.summaries))
    assert most <= 10
    assert max(summary.level for summary in thread.summaries) >= 3
    assert thread.reached() >= {str(message.id) for turn in turns(400) for message in turn}


# --- layered, seed 004, "Summarization Strategy"

LAYERED = Settings(profile="layered")


def test_a_batch_is_eight_messages_that_are_older_than_the_short_window() -> None:
    thread = Thread(LAYERED).one_by_one(replies(13))
    assert thread.shape == span(1, 13)
    thread.one_by_one(replies(1, 14))
    assert thread.shape == ["S1", *span(9, 14)]


@pytest.mark.parametrize(("asked_at", "size"), [(9, 8), (10, 9), (11, 10), (12, 8)])
def test_a_batch_of_eight_to_ten_ends_with_an_exchange(asked_at: int, size: int) -> None:
    """The next question of the user begins a new batch, if it comes after the eighth, ninth or tenth message."""
    chain = [(HumanMessage if n in (1, asked_at) else AIMessage)(f"message {n}", id=f"M{n}") for n in range(1, 21)]
    batch = next_batch(ChainView(chain), LAYERED)
    assert batch is not None
    assert batch.source_ids == tuple(span(1, size))


def test_medium_summaries_that_gather_are_folded_into_the_long_one() -> None:
    thread = Thread(LAYERED).one_by_one(replies(6 + 8 * 2))
    assert [summary.level for summary in thread.summaries] == [1, 1]
    thread.one_by_one(replies(8, 23))
    assert [(summary.level, summary.covers) for summary in thread.summaries] == [(2, 24)]
    thread.one_by_one(replies(8 * 3, 31))
    assert [(summary.level, summary.covers) for summary in thread.summaries] == [(2, 48)]


def test_summaries_that_say_the_same_are_twins() -> None:
    """Seed 004, "Deduplication": the hash of the first 120 characters."""
    chain = ChainView([SummaryMessage.of(Summary(id="1", content="The user likes tea.", level=1, source_ids=("a",)))])
    for text, level, twin in [
        ("The user likes tea.", 1, True),
        ("The user likes tea.", 2, False),
        ("Coffee.", 1, False),
    ]:
        found = duplicate_of(chain, Summary(id="2", content=text, level=level, source_ids=("b",)))
        assert (found is chain[0]) is twin


# --- all profiles


def test_what_a_summary_has_leaves_the_chain_at_once_and_the_conversation_keeps_it() -> None:
    """`messages` is not touched: there the caller finds the reply of the newest turn, and all before it."""
    settings = Settings()
    said = chat(6)
    chain = taken_in(empty_chain(), said)
    batch = next_batch(ChainView(said), settings)
    assert batch is not None
    summary = Summary(id="s", content="short", level=1, source_ids=batch.source_ids)
    after = compress(chain, batch, summary)
    link = {"id": "s", "level": 1, "source_ids": ["M4", "M5", "M6"]}
    assert after["links"] == [{"id": "M1"}, {"id": "M2"}, {"id": "M3"}, link]
    assert message_ids(chain) == span(1, 6)
    view = ChainView([*said[:3], SummaryMessage.of(summary)])
    assert outdated_ids(view, settings) == set()


def test_what_a_summary_has_does_not_enter_the_chain_again_while_it_stands_in_the_conversation() -> None:
    thread = Thread(messages=chat(6))
    before = thread.chain["links"]
    assert taken_in(thread.chain, thread.said)["links"] == before
    later = taken_in(thread.chain, [*thread.said, *chat(2, 7)])
    assert message_ids(later) == ["M1", "M2", "M3", "M7", "M8"]
    assert summary_ids(later) == summary_ids(thread.chain)


def test_what_stays_beside_a_summary_is_outdated_when_newer_messages_are_recent() -> None:
    settings = Settings(profile="hybrid", keep_recent=2)
    summary = SummaryMessage.of(Summary(id="s", content="short", level=1, source_ids=tuple(span(1, 6))))
    view = ChainView([summary, *chat(2, 5)], kept={"M5", "M6"})
    assert outdated_ids(view, settings) == set()
    assert outdated_ids(ChainView([*view, *chat(1, 7)], view.kept), settings) == {"M5"}
    assert outdated_ids(ChainView([*view, *chat(2, 7)], view.kept), settings) == {"M5", "M6"}
    assert outdated_ids(ChainView([*view, *chat(4, 7)]), settings) == set()


@pytest.mark.parametrize("profile", ["multi_strategy", "sliding_summary", "hybrid", "archive", "layered"])
def test_instructions_are_never_summarized(profile: str) -> None:
    thread = Thread(Settings(profile=profile), [SystemMessage("be brief", id="I")])
    thread.one_by_one(chat(60))
    assert thread.summaries
    assert thread.shape[0] == "I"


@pytest.mark.parametrize("profile", ["multi_strategy", "sliding_summary", "hybrid", "archive", "layered"])
def test_a_question_that_is_not_answered_stays_as_it_was_asked(profile: str) -> None:
    """Report langmem #77: the user's latest message was summarized away."""
    settings = Settings(profile=profile)
    chain = [*chat(200), HumanMessage("and now?", id="Q")]
    for pick in (next_batch, forced_batch):
        batch = pick(ChainView(chain), settings)
        assert batch is not None
        assert "Q" not in batch.source_ids
    open_call = [*chain, call("C", "a"), result("R", "a"), call("D", "b")]
    batch = forced_batch(ChainView(open_call), settings)
    assert batch is not None
    assert not {"Q", "C", "R", "D"} & set(batch.source_ids)


def test_a_tool_call_is_never_parted_from_its_results() -> None:
    """Reports langchain #34282, deepagents #270, #15274, langmem #126: parallel calls, cut in the middle."""
    messages = [
        AIMessage("hello", id="M0"),
        HumanMessage("q", id="M1"),
        call("C", "a", "b"),
        result("R1", "a"),
        result("R2", "b"),
        AIMessage("x", id="M2"),
    ]
    last = next_batch(ChainView(messages), Settings(n_sum=6, sum_window=2))
    oldest = next_batch(ChainView(messages), Settings(n_sum=6, sum_window=3, summary_window="oldest"))
    assert last is not None
    assert oldest is not None
    assert last.source_ids == ("C", "R1", "R2", "M2")
    assert oldest.source_ids == ("M0", "M1", "C", "R1", "R2")
    for profile, more in {"sliding_summary": {"message_threshold": 5}, "hybrid": {"message_threshold": 4}}.items():
        for keep in range(5):
            thread = Thread(Settings(profile=profile, keep_recent=keep, **more), messages)
            assert parted_calls(thread.view) == []


def test_a_conversation_without_a_word_of_the_user_is_summarized_as_it_is() -> None:
    """Report langchain #39261: without a message of the user, the history was replaced by a placeholder."""
    chain = [message for n in range(10) for message in (call(f"C{n}", f"x{n}"), result(f"R{n}", f"x{n}"))]
    for profile in ("multi_strategy", "sliding_summary", "hybrid"):
        thread = Thread(Settings(profile=profile), chain)
        assert thread.summaries
        assert parted_calls(thread.view) == []
        assert thread.reached() >= {str(message.id) for message in chain}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"summary_every_n": 0}, "Setting 'summary_every_n' cannot be 0: input should be greater than or equal to 1"),
        ({"summary_every_n": -3}, "Setting 'summary_every_n' cannot be -3: input should be greater than or equal to 1"),
        ({"summary_every_n": 501}, "Setting 'summary_every_n' cannot be 501: input should be less than or equal to"),
        ({"message_threshold": 0}, "Setting 'message_threshold' cannot be 0: input should be greater than or equal"),
        ({"keep_recent": -1}, "Setting 'keep_recent' cannot be -1: input should be greater than or equal to 0"),
        (
            {"profile": "sliding_summary", "keep_recent": 20},
            "These settings do not agree: keep_recent is 20 but must be smaller than message_threshold, which is 20.",
        ),
        (
            {"profile": "archive", "max_level_summaries": 11},
            "These settings do not agree: max_level_summaries is 11 but must not be larger than max_active_summaries, "
            "which is 10.",
        ),
    ],
)  # fmt: skip
def test_a_threshold_that_cannot_be_is_told_at_load_in_one_sentence(values: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings(**values)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_the_seeds_numbers_are_the_profiles_defaults() -> None:
    sliding, hybrid = Settings(profile="sliding_summary"), Settings(profile="hybrid")
    assert (sliding.message_threshold, sliding.token_threshold) == (20, 8000)
    assert (sliding.keep_recent, sliding.max_summary_chars) == (10, 2000)
    assert (hybrid.message_threshold, hybrid.keep_recent, hybrid.max_active_summaries) == (15, 8, 3)
    assert PROFILES["hybrid"].summarizes_locally
    assert (ARCHIVE.summary_every_n, ARCHIVE.max_level_summaries, ARCHIVE.max_active_summaries) == (10, 5, 10)
    assert not ARCHIVE.summary_fallback
    assert (LAYERED.message_threshold, LAYERED.keep_recent) == (8, 6)
    assert Settings(profile="hybrid", keep_recent=4).keep_recent == 4
    assert [profile.source for profile in PROFILES.values()] == [f"seed 00{n}" for n in range(5)]


TOPICS = [
    "The tomatoes in the garden need water.", "Water the tomatoes in the evening, the garden is cool then.",
    "Which soil do tomatoes want?", "Tomatoes want soil with compost, as the whole garden does.",
    "My train to Vienna leaves at nine.", "The train to Vienna takes four hours.",
    "Is there a dining car on the train?", "Yes, every train to Vienna has a dining car.",
]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "covers"),
    [
        ({"n_sum": 8}, 4),
        ({"profile": "hybrid", "message_threshold": 8, "keep_recent": 2}, 4),
        ({"profile": "archive", "summary_every_n": 4}, 4),
        ({"profile": "layered", "message_threshold": 6, "keep_recent": 2}, 4),
        ({"profile": "sliding_summary", "message_threshold": 8, "keep_recent": 2}, 4),
    ],
)
def test_by_topic_a_summary_ends_where_the_topic_changes_and_by_count_elsewhere(
    values: dict[str, Any], covers: int
) -> None:
    said = ChainView((HumanMessage, AIMessage)[n % 2](text, id=f"M{n}") for n, text in enumerate(TOPICS))
    by_topic = next_batch(said, Settings(**values, summary_window="topic"))
    by_count = next_batch(said, Settings(**values))
    assert by_topic is not None
    assert by_topic.source_ids == tuple(f"M{n}" for n in range(covers))
    assert by_count is not None
    assert by_count.source_ids != by_topic.source_ids


def test_by_topic_summaries_of_summaries_and_batches_without_another_start_are_as_by_count() -> None:
    one = [HumanMessage("q", id="q"), *(AIMessage(f"step {n}", id=f"a{n}") for n in range(9))]
    for messages in (one, one[:1]):
        by_count = next_batch(ChainView(messages), ARCHIVE.but(summary_every_n=1))
        assert next_batch(ChainView(messages), ARCHIVE.but(summary_every_n=1, summary_window="topic")) == by_count
