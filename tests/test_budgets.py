"""The budgets, limits and trim orders of the five profiles, as the seeds give them."""

from __future__ import annotations

from typing import Any

import pytest
from chains import memory
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from everthread import PROFILES, Settings
from everthread.assembly.assemble import assemble
from everthread.assembly.layout import Layout
from everthread.models.counting import TokenCounter
from everthread.runtime.prompt import token_budget
from everthread.state.chain import SummaryMessage
from everthread.state.records import Summary
from everthread.state.search_records import SearchResult
from everthread.state.turn_records import Section

WORDS = TokenCounter("words", lambda text: len(text.split()))
OF_THE_TURN = ("news", "results", "memories")
"""What is new with each turn stands behind the conversation, where it leaves the cached beginning as it was."""
RETRIEVED_FIRST = ("retrieved", "recent", "summaries", "facts")


def words(count: int, name: str) -> str:
    return " ".join(f"{name}{n}" for n in range(count))


def sections(
    profile: str, *, budget: int | None = None, summaries: int = 0, summary: int = 0, recent: int = 0, message: int = 0,
    snippets: int = 0, snippet: int = 0, pins: int = 0, pin: int = 0, system: int = 60,
) -> dict[str, Section]:  # fmt: skip
    """The sections of a prompt: how many there are of each part, and of how many words each is."""
    chain: list[AnyMessage] = [
        SummaryMessage.of(Summary(id=f"s{n}", content=words(summary, f"sum{n}w"), level=1, source_ids=(f"x{n}",)))
        for n in range(summaries)
    ]
    chain += [(HumanMessage, AIMessage)[n % 2](words(message, f"msg{n}w"), id=f"m{n}") for n in range(recent)]
    settings: Any = Settings(profile=profile)
    _, report, _ = assemble(
        [*chain, HumanMessage("What now?", id="q")],
        [memory(words(snippet, f"mem{n}w"), n, f"f{n}", "o") for n in range(1, snippets + 1)], [],
        system_prompt=words(system, "sys"), facts=[words(pin, f"pin{n}w") for n in range(pins)],
        budget=budget or settings.max_context_tokens, layout=Layout.of(settings), counter=WORDS, thread_id="t",
    )  # fmt: skip
    return {section.name: section for section in report.sections}


@pytest.mark.parametrize(
    ("profile", "order", "trim", "tokens", "recent", "summaries"),
    [
        ("multi_strategy", ("facts", "recent", *OF_THE_TURN), RETRIEVED_FIRST, 8000, (2, 4), None),
        ("sliding_summary", ("summaries", "facts", "recent", *OF_THE_TURN), RETRIEVED_FIRST, 8000, (2, 10), None),
        ("hybrid", ("summaries", "facts", "recent", *OF_THE_TURN), RETRIEVED_FIRST, 3000, (3, 8), 3),
        ("archive", ("summaries", "facts", "recent", *OF_THE_TURN), RETRIEVED_FIRST, 8000, (2, 8), None),
        ("layered", ("facts", "summaries", "recent", *OF_THE_TURN),
         ("summaries", "retrieved", "recent", "facts"), 8000, (2, 6), None),
    ],
)  # fmt: skip
def test_the_seeds_defaults_hold(
    profile: Any, order: Any, trim: Any, tokens: int, recent: tuple[int, int], summaries: int | None
) -> None:
    settings = Settings(profile=profile)
    layout = Layout.of(settings)
    assert (layout.order, layout.trim, settings.max_context_tokens) == (order, trim, tokens)
    assert (layout.min_recent, layout.kept) == recent
    assert layout.max_summaries == summaries


def test_the_fixed_budgets_of_seeds_002_and_003() -> None:
    """4,096 = 500 + 3,000 + 596; 8,000 = 1,500 + 2,000 + 1,500 + 3,000."""
    hybrid, archive = Settings(profile="hybrid"), Layout.of(Settings(profile="archive"))
    assert (PROFILES["hybrid"].window, hybrid.max_reply_tokens, hybrid.max_pins) == (4096, 596, 5)
    assert (archive.shares["system"], archive.shares["summaries"]) == (1500, 2000)
    assert (archive.shares["retrieved"], archive.shares["recent"]) == (1500, 3000)


def test_a_budget_that_is_set_stands_before_that_of_the_profile() -> None:
    base = Settings(profile="archive", budgets="system=10%, recent=4000")
    layout = Layout.of(Settings(budgets={"recent": 0.5}).over(base))
    assert layout.shares == {"system": 0.1, "facts": 0.1, "summaries": 2000, "retrieved": 1500, "recent": 0.5}
    assert Layout.of(Settings(profile="hybrid", keep_recent=12, max_active_summaries=5)).kept == 12


@pytest.mark.parametrize(
    ("profile", "tokens", "model", "room"),
    [
        ("multi_strategy", 8000, None, 6976),  # no window is known: the reply's 1,024 are taken out
        ("hybrid", 3000, None, 3000),
        ("hybrid", 3900, None, 3500),  # 4,096 - 596
        ("hybrid", 9000, None, 8404),  # whoever asks for more than the window of the seed has another model
        ("archive", 8000, None, 8000),
        ("archive", 100_000, None, 98_976),
        ("archive", 8000, 4000, 2976),
    ],
)
def test_the_room_for_the_prompt_is_what_window_and_reply_leave(
    profile: str, tokens: int, model: int | None, room: int
) -> None:
    """Seeds 002 and 003 name windows of small models: they are defaults, not limits."""
    window: Any = {"max_input_tokens": model} if model else {}
    settings = Settings(profile=profile, max_context_tokens=tokens)
    assert token_budget(settings, FakeListChatModel(responses=[], profile=window)) == room


def test_where_every_part_is_too_long_archive_gives_each_its_budget() -> None:
    """Seed 003, "Token Budget Enforcement"."""
    made = sections("archive", system=4000, summaries=10, summary=600, recent=8, message=900, snippets=10, snippet=500)
    limits = {"system": 1500, "summaries": 2000, "memories": 1500, "recent": 3000}
    for name, limit in limits.items():
        assert made[name].tokens > 0.85 * limit
    assert sum(section.tokens for section in made.values()) <= 8000


def test_what_one_part_leaves_is_for_the_next() -> None:
    """Seed 000, "Dynamic context allocation"."""
    made = sections("archive", recent=8, message=700, snippets=3, snippet=400)
    assert made["recent"].tokens > 5600
    assert made["memories"].tokens > 1200
    assert not any(section.dropped or section.cut for section in made.values())


def test_snippets_give_way_first_then_recent_messages_then_the_oldest_summaries_and_pins_last() -> None:
    """Seed 003: snippets, recent messages, older summaries as last resort; seed 002: pins before summaries."""
    given: dict[str, Any] = {
        "summaries": 3, "summary": 100, "recent": 8, "message": 50, "snippets": 4, "snippet": 100, "pins": 3, "pin": 30,
    }  # fmt: skip
    gone = []
    for budget in range(1600, 200, -20):
        made = sections("hybrid", budget=budget, **given)
        short = [name for name in ("memories", "recent", "summaries", "facts") if made[name].dropped]
        gone += [name for name in short if name not in gone]
    assert gone == ["memories", "recent", "summaries", "facts"]


def test_under_layered_the_oldest_summaries_give_way_before_all_else() -> None:
    """Seed 004: trimmed are the oldest summaries first, before facts are touched."""
    given: dict[str, Any] = {"summaries": 4, "summary": 100, "recent": 6, "message": 50, "pins": 3, "pin": 20}
    made = sections("layered", budget=800, **given)
    assert made["summaries"].dropped
    assert not made["recent"].dropped
    assert not made["facts"].dropped


def test_the_truncation_example_of_seed_002() -> None:
    """8 messages (3,000), 5 pins (1,500), 3 summaries (500) in 3,000: 3 messages, the top pins, some summary."""
    made = sections("hybrid", recent=8, message=371, pins=5, pin=290, summaries=3, summary=160)
    assert made["recent"].items == 3
    assert made["facts"].items >= 3
    assert made["summaries"].items >= 1
    assert sum(section.tokens for section in made.values()) <= 3000


def test_no_more_than_three_summaries_under_hybrid_and_messages_as_said_where_there_is_room() -> None:
    """Seed 002, "buildContext"; its eight recent messages are those that stay where the conversation is cut."""
    made = sections("hybrid", recent=14, message=5, summaries=5, summary=5)
    assert (made["recent"].items, made["summaries"].items) == (14, 3)
    assert made["summaries"].reasons == ("2 were more than the setting allows",)


def found_and_said(budget: int, *, said: int, found: int) -> tuple[dict[str, Section], str]:
    """The sections of a default prompt, and its text: messages of 20 words, two results and two memories of `found`."""
    chain: list[AnyMessage] = [(HumanMessage, AIMessage)[n % 2](words(20, f"msg{n}w"), id=f"m{n}") for n in range(said)]
    results = [
        SearchResult(title=f"T{n}", url=f"https://e.org/{n}", content=words(found, f"res{n}w"), engine="e")
        for n in range(2)
    ]
    memories = [memory(words(found, f"mem{n}w"), n, f"f{n}", "o") for n in (1, 2)]
    made = assemble(
        [*chain, HumanMessage("What now?", id="q")], memories, results, system_prompt="Be brief.", budget=budget,
        layout=Layout.of(Settings()), counter=WORDS, thread_id="t",
    )  # fmt: skip
    return {section.name: section for section in made.report.sections}, "\n".join(m.text for m in made.messages)


def test_within_its_share_what_was_found_comes_before_older_messages_results_before_memories_before_the_question() -> (
    None
):
    """Seed 000, "Priority Order": search results, memories, current context."""
    parts, text = found_and_said(1_000, said=60, found=50)
    assert (parts["results"].dropped, parts["memories"].dropped) == (0, 0)
    assert parts["recent"].dropped > 0
    assert text.index("res0w0") < text.index("mem1w0") < text.index("What now?")


def test_where_the_shares_do_not_fit_what_was_found_gives_way_first() -> None:
    """Seed 003's order of trimming, for all profiles but `layered`: the newest messages and the question stay."""
    parts, text = found_and_said(110, said=60, found=50)
    assert (parts["results"].items, parts["memories"].items) == (0, 0)
    assert parts["recent"].items >= 1
    assert "msg59w0" in text
    assert "What now?" in text


def test_results_and_memories_that_do_not_both_fit_have_half_each_and_what_the_other_leaves() -> None:
    parts, _ = found_and_said(1_000, said=60, found=300)
    assert parts["results"].tokens > 100
    assert parts["memories"].tokens > 100
    assert parts["results"].tokens + parts["memories"].tokens <= 350


@pytest.mark.parametrize("profile", list(PROFILES))
@pytest.mark.parametrize("budget", [100, 160, 250, 400])
def test_where_messages_or_summaries_have_no_room_the_model_is_told_so_within_the_budget(
    profile: Any, budget: int
) -> None:
    talk: list[AnyMessage] = [
        SummaryMessage.of(Summary(id=f"s{n}", content=words(30, f"sum{n}w"), level=1, source_ids=(f"x{n}",)))
        for n in range(2)
    ]
    talk += [(HumanMessage, AIMessage)[n % 2](words(20, f"msg{n}w"), id=f"m{n}") for n in range(20)]
    prompt, report, _ = assemble(
        [*talk, HumanMessage("What now?", id="q")], [], [], system_prompt="Be kind.", budget=budget,
        layout=Layout.of(Settings(profile=profile)), counter=WORDS,
    )  # fmt: skip
    assert report.tokens <= budget
    assert any(section.dropped for section in report.sections)
    assert "\n".join(message.text for message in prompt).count("[Earlier messages are left out.]") == 1
