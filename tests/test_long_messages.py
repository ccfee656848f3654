"""Long messages: what was just said stays whole before memories, facts and summaries have their room."""

from __future__ import annotations

import random
from typing import Any

import pytest
from chains import Thread, memory
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from variants import EACH_PROFILE

from everthread.assembly.assemble import Assembled, assemble
from everthread.assembly.cut import Cut, cut
from everthread.assembly.layout import Layout
from everthread.assembly.marks import Marks
from everthread.assembly.material import found_tokens
from everthread.runtime.prompt import token_budget
from everthread.settings.settings import Settings
from everthread.state.chain import ChainView
from everthread.state.records import Place, now
from everthread.text.tokens import count_message_tokens

WORDS = ("garden", "river", "letter", "window", "gardening", "winter", "understanding", "market", "yellow")
"""Of four tokens for three of them."""


class LongTalk:
    """A conversation of long messages, and the prompts of it at the default budget."""

    def __init__(self, profile: str, words: int, memories: int = 8) -> None:
        self.settings, self.words, self.memories, self.cuts = Settings(profile=profile), words, memories, 0
        self.thread, self.random, self.before = Thread(self.settings), random.Random(words), ()
        self.budget = token_budget(self.settings, None)

    def text(self) -> str:
        return " ".join(self.random.choices(WORDS, k=self.words))

    def asked(self) -> Assembled:
        """The prompt of the next turn, with as many memories and facts as there may be."""
        question = HumanMessage(self.text(), id=f"u{len(self.thread.said)}")
        said: dict[str, AnyMessage] = {str(message.id): message for message in self.thread.said}
        places = {id_: Place(n, now()) for n, id_ in enumerate(said, start=1)}
        layout, view = Layout.of(self.settings), self.thread.view
        asked = ChainView([*view, question], view.kept)
        memories = [memory(f"Memory {n}: " + self.text(), n, f"m{n}", "t0") for n in range(1, self.memories + 1)]
        marks = Marks.of(layout, self.budget, found=found_tokens((), memories, layout, self.budget))
        shown: Cut = cut(asked, {**said, **self.thread.made}, places, marks, before=self.before)
        self.cuts += shown.begins != self.before
        self.before = shown.begins
        made = assemble(
            shown.view, memories, (),
            system_prompt="Be kind.", budget=self.budget, facts=[f"Fact {n} is known." for n in range(8)],
            layout=layout, unfolded=shown.unfolded,
        )  # fmt: skip
        self.thread.say(question, AIMessage(self.text(), id=f"a{len(self.thread.said)}"))
        return made


def stands(message: AnyMessage, made: Assembled) -> bool:
    return any(str(message.content) in str(sent.content) for sent in made.messages)


# What five messages of so many words take leaves room beside them at the default budget; hybrid's is 3,000 tokens.
FIT: list[Any] = [
    pytest.param(*profile.values, words, marks=profile.marks)
    for profile in EACH_PROFILE
    for words in (100, 400, 800)
    if (*profile.values, words) != ("hybrid", 800)
]


@pytest.mark.parametrize(("profile", "words"), FIT)
def test_the_newest_four_messages_stand_as_said_whatever_else_there_is(profile: str, words: int) -> None:
    talk = LongTalk(profile, words)
    for n in range(16):
        newest = talk.thread.said[-4:]
        made = talk.asked()
        assert all(stands(message, made) for message in newest), n
        assert count_message_tokens(made.messages) <= talk.budget


@pytest.mark.parametrize("profile", [profile for profile in EACH_PROFILE if profile.values != ("hybrid",)])
def test_a_prompt_of_long_messages_grows_between_cuts_and_leaves_none_out(profile: str) -> None:
    """Of 400 words, which are 530 tokens, an exchange is a seventh of the prompt."""
    talk = LongTalk(profile, 400, memories=0)
    for n in range(30):
        made = talk.asked()
        assert all(section.dropped == 0 for section in made.report.sections if section.name == "recent"), n
    assert talk.cuts <= 15


@pytest.mark.parametrize("profile", [profile for profile in EACH_PROFILE if profile.values != ("hybrid",)])
def test_of_messages_that_do_not_fit_the_newest_exchange_stands_as_said(profile: str) -> None:
    """Of 1,200 words, which are 1,600 tokens, five are more than the prompt: the question and the newest two stay."""
    talk = LongTalk(profile, 1200)
    for n in range(12):
        newest = talk.thread.said[-2:]
        made = talk.asked()
        assert all(stands(message, made) for message in newest), n
        assert made.report.tokens <= talk.budget


@pytest.mark.parametrize("profile", EACH_PROFILE)
def test_a_message_that_is_larger_than_the_prompt_keeps_its_head_and_its_end(profile: str) -> None:
    talk = LongTalk(profile, 8_000)
    talk.asked()
    made = talk.asked()
    question = str(made.messages[-1].content)
    assert str(talk.thread.said[-2].content)[:200] in question
    assert question.endswith(str(talk.thread.said[-2].content)[-200:])
    assert made.report.tokens <= talk.budget
    assert next(section for section in made.report.sections if section.name == "question").cut == 1
