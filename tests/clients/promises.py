"""What every chat client may rely on; a test file for a client derives from `ChatPromises` and gives it a `chat`."""

from __future__ import annotations

import re

import pytest
from clients.chat import Chat, Shown, Talk
from clients.dev_server import CONTROL, TERMINAL_LINES
from clients.fake_openai import CANARY, SLOWLY, FakeOpenAI

NOTES = (
    "birch", "hazel", "elm", "ash", "fir", "yew", "alder", "rowan", "linden", "maple", "willow", "poplar",
)  # fmt: skip
"""What the twelve turns are about."""

FENCED = re.compile(r"<context id=(\S+)>.*?</context id=\1>", re.DOTALL)


def notes(count: int) -> list[str]:
    """So many different questions."""
    return [f"Note {number} is about {tree}." for number, tree in enumerate(NOTES[:count], 1)]


class ChatPromises:
    """The promises. `chat` is a client with a new thread, `model` answers."""

    @pytest.fixture
    def talk(self, chat: Chat, model: FakeOpenAI) -> Talk:
        """A conversation that has not begun."""
        return Talk(chat, model)

    def test_twelve_turns_are_shown_as_they_were_said(self, talk: Talk) -> None:
        """After each turn, after a reload, and when the thread is opened again from the list of threads."""
        summaries = talk.model.summaries
        for question in notes(12):
            talk.say(question)
            assert talk.chat.shown() == talk.expected
        assert talk.model.summaries >= summaries + 3, "there were no summaries that could have been shown"
        thread_id = talk.chat.thread_id()
        talk.chat.reload()
        assert talk.chat.shown() == talk.expected
        talk.chat.open(None)
        assert talk.chat.shown() == []
        talk.chat.choose(thread_id, notes(1)[0])
        assert talk.chat.shown() == talk.expected
        assert CANARY not in str(talk.chat.shown())

    @pytest.mark.parametrize("back", [1, 2, 3])
    def test_one_of_the_last_questions_can_be_edited(self, talk: Talk, back: int) -> None:
        """What came after it is gone from the screen, the old branch is a click away, and the thread goes on."""
        talk.say(*notes(5))
        old = notes(5)[-back]
        talk.chat.edit(old, "Let this be about a palm instead.")
        talk.turns = [*talk.turns[:-back], talk.newest("Let this be about a palm instead.")]
        assert talk.chat.shown() == talk.expected
        if back < 3:  # the old branch of the third is older than the newest ten checkpoints
            assert talk.chat.branch("Let this be about a palm instead.") == (2, 2)
        assert old not in live_part(talk.model), "the model still sees the question that was edited"
        talk.say("And one about a fern.")
        assert talk.chat.shown() == talk.expected
        talk.chat.reload()
        assert talk.chat.shown() == talk.expected

    @pytest.mark.parametrize("turns", [1, 4])
    def test_the_last_reply_can_be_generated_again(self, talk: Talk, turns: int) -> None:
        """In the place of the old one; the question stands once, and the thread goes on."""
        talk.say(*notes(turns))
        question, old = talk.turns[-1]
        talk.chat.regenerate()
        talk.turns[-1] = talk.newest(question)
        assert talk.turns[-1][1] != old
        assert talk.chat.shown() == talk.expected
        assert talk.chat.branch(talk.turns[-1][1]) == (2, 2)
        assert old not in live_part(talk.model), "the model still sees the reply that is made again"
        talk.say("And one about a fern.")
        assert talk.chat.shown() == talk.expected
        talk.chat.reload()
        assert talk.chat.shown() == talk.expected

    def test_a_turn_can_be_cancelled_in_the_middle_of_the_reply(self, talk: Talk) -> None:
        """The question stays; of the reply stays what the client let come; what is said next is answered below it.

        Agent Chat UI only looks away: its run goes on to the end.
        """
        talk.say(*notes(3))
        question = f"Tell me {SLOWLY} about a palm."
        talk.chat.say_and_cancel(question)
        asked, whole = talk.newest(question)
        before = talk.expected
        check_cancelled(talk.chat.shown(), before, asked, whole)
        talk.turns.clear()
        talk.say("And one about a fern.", "And one about a moss.")
        check_cancelled(talk.chat.shown(), before, asked, whole, talk.expected)
        talk.chat.reload()
        check_cancelled(talk.chat.shown(), before, asked, whole, talk.expected)

    @pytest.mark.skipif(CONTROL, reason="the terminal is this repository's")
    def test_a_thread_of_the_terminal_is_shown_and_goes_on(
        self, chat: Chat, model: FakeOpenAI, terminal_thread: str
    ) -> None:
        said = [turn for turn in model.replies if turn[0].startswith("In the terminal")]
        assert [question for question, _ in said[: len(TERMINAL_LINES)]] == list(TERMINAL_LINES)
        talk = Talk(chat, model)
        talk.turns = said
        chat.choose(terminal_thread, TERMINAL_LINES[0])
        assert chat.shown() == talk.expected
        talk.say("In the terminal I planted a mulberry.")
        assert chat.shown() == talk.expected


def check_cancelled(
    shown: list[Shown], before: list[Shown], question: str, reply: str, after: list[Shown] | None = None
) -> None:
    """The screen shows what was before, the question, the reply or its beginning, and what came after.

    A plain graph keeps nothing of the reply.
    """
    count = len(before)
    assert shown[:count] == before
    assert shown[count] == Shown("user", question)
    rest = shown[count + 1 :]
    if not CONTROL or (rest and rest[0].role == "assistant"):
        assert reply.startswith(rest[0].text.strip())
        rest = rest[1:]
    assert rest == (after or [])


def live_part(model: FakeOpenAI) -> str:
    """The messages of the newest prompt for a reply, without what is set into it as material."""
    prompts = [prompt for prompt in model.prompts if "<excerpt id=" not in str(prompt[-1])]
    return FENCED.sub("", "\n".join(text_of_prompt(message) for message in prompts[-1]))


def text_of_prompt(message: dict[str, object]) -> str:
    """The text of a message in a request to the model."""
    content = message.get("content")
    return content if isinstance(content, str) else str(content)
