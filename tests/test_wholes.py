"""Where a whole or an order of events is asked for: a little of many messages is told, in the order they were said."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage

from everthread.assembly.assemble import Assembled, assemble
from everthread.assembly.layout import Layout
from everthread.memory.pairing import told
from everthread.state.records import Fragment, Hit, Memory
from everthread.text.outline import outline
from everthread.text.tokens import estimate_tokens

STEPS = ("Choose the boat", "Sand the hull", "Paint the deck", "Rig the mast")
REPLY = "A boat wants care in spring. Begin with what is below the water.\n\n" + "\n".join(
    f"{n}. **{step}**: " + "Take your time over it, and look at each plank. " * 12 for n, step in enumerate(STEPS, 1)
)
FIRST = datetime(2024, 3, 1, 10, tzinfo=UTC)


def test_a_long_reply_in_short_is_its_first_sentence_and_what_stands_over_its_parts() -> None:
    short = outline(REPLY, "How is my boat?", 60)
    assert short == f"A boat wants care in spring. … {'; '.join(STEPS)}"
    assert outline("Short.", "How is my boat?", 60) == "Short."
    assert outline("boat " * 90 + "\n## Hull\n" + "plank " * 90, "How is my boat?", 20).count("…") == 1
    chinese = "春天要保养船。\n" + "\n".join(f"## {step}\n{'慢慢来，看看每块木板。' * 20}" for step in ("选船", "打磨"))
    assert outline(chinese, "我的船怎么样？", 40) == "春天要保养船。 … 选船; 打磨"


def test_what_looks_like_a_heading_in_code_is_none_and_a_reply_without_any_tells_what_bears_on_the_question() -> None:
    code = "Run this.\n```sh\n# delete the lot\n" + "rm -r old\n" * 80 + "```\n## Afterwards\n" + "Look around. " * 40
    assert outline(code, "?", 60) == "Run this. … Afterwards"
    plain = "The harbour is large. " * 60 + "Your mooring is number eleven. " + "Gulls cry all day. " * 60
    assert "number eleven" in outline(plain, "What is my mooring?", 60)


@given(st.text(st.sampled_from("ab.\n#* -1)`\x00漢🙂"), max_size=800), st.integers(1, 90))
def test_any_text_in_short_is_within_its_limit(text: str, limit: int) -> None:
    assert estimate_tokens(outline(text, "a b", limit)) <= limit


def remembered(n: int, role: str, text: str, days: int) -> Memory:
    at = FIRST + timedelta(days=days, minutes=n)
    fragment = Fragment(id=f"m{n}", role=role, name=None, content=text, created_at=at, seq=n)
    return Memory(
        fragments=(fragment,), source_type="message", source_ids=(f"m{n}",), thread_id="t", score=1.0, rank=n + 1,
        created_at=at,
    )  # fmt: skip


def prompt(question: str, memories: list[Memory]) -> Assembled:
    chain = [HumanMessage(question, id="question")]
    found = [id_ for memory in memories for id_ in memory.source_ids]
    return assemble(chain, memories, (), system_prompt="", budget=4000, layout=Layout(), thread_id="t", found=found)


# By rank, which is not the order in which it was said.
FOUND = [
    remembered(
        n, "assistant" if n % 2 else "user", f"This is part {n}. {REPLY}" if n % 2 else f"Boat, part {n}.", n % 7
    )
    for n in range(40)
]


@pytest.mark.parametrize(
    "question",
    ["Summarize what we did about the boat.", "In what order did I work on the boat?", "总结一下我们关于船的讨论。"],
)
def test_of_a_whole_many_messages_are_told_in_short_in_their_order_each_day_once(question: str) -> None:
    made, one = prompt(question, FOUND), prompt("What is my boat called?", FOUND)
    assert len(made.memories) == 40 > 2 * len(one.memories)
    text = made.messages[-1].text
    days = re.findall(r"^\((\d{4}-\d\d-\d\d)", text, re.MULTILINE)
    assert days == sorted(set(days))
    assert len(days) == 7
    assert text.count("; ".join(STEPS)) == 20
    of_a_day = text.split("(2024-03-03)")[1].split("(2024-03-04)")[0]
    assert [int(n) for n in re.findall(r"part (\d+)", of_a_day)] == [2, 9, 16, 23, 30, 37]


def test_of_a_whole_what_was_found_takes_no_more_than_its_share_of_the_prompt() -> None:
    long = [remembered(n, "user", f"Boat {n}: " + "plank and nail and tar " * 200, n) for n in range(60)]
    (section,) = (
        s for s in prompt("Summarize what we did about the boat.", long).report.sections if s.name == "memories"
    )
    assert 0.8 * 0.35 * 4000 < section.tokens <= 0.35 * 4000


def test_of_a_whole_each_hit_is_told_by_itself_and_the_first_without_its_counterpart() -> None:
    def exchange(n: int) -> Memory:
        at = FIRST + timedelta(minutes=n)
        parts = tuple(
            Fragment(id=f"{role}{n}", role=role, name=None, content=f"{role} {n}", created_at=at, seq=2 * n + place)
            for place, role in enumerate(("user", "assistant"))
        )
        return Memory(
            fragments=parts, source_type="message", source_ids=tuple(p.id for p in parts), thread_id="t", score=1.0,
            rank=n + 1, created_at=at,
        )  # fmt: skip

    hits = [
        Hit(
            source_type="message",
            source_id=f"user{n}",
            thread_id="t",
            role="user",
            score=1.0,
            rank=n + 1,
            created_at=FIRST,
        )
        for n in range(3)
    ]
    memories = told([exchange(n) for n in range(3)], hits, (), in_short=True)
    assert [memory.source_ids for memory in memories] == [(f"user{n}",) for n in range(3)]
    assert all(one.created_at < other.created_at for one, other in pairwise(memories))
