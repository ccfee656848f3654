"""What a person does in a chat client, whatever the client is; and what stands on the screen then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from clients.fake_openai import FakeOpenAI

Role = Literal["user", "assistant"]


class Shown(NamedTuple):
    """A message on the screen."""

    role: Role
    text: str


class Chat(Protocol):
    """A client with one thread open."""

    def open(self, thread_id: str | None) -> None:
        """Open a thread as from a bookmark; None begins a new one."""

    def reload(self) -> None:
        """Load all anew, as when the page is loaded again."""

    def choose(self, thread_id: str, title: str) -> None:
        """Open a thread from the list of threads, where it has this title (or its id)."""

    def say(self, text: str) -> None:
        """Send a message, and wait until the turn has ended."""

    def say_and_cancel(self, text: str) -> None:
        """Send a message, cancel when some of the reply is there, and wait until nothing runs."""

    def edit(self, question: str, to: str) -> None:
        """Edit a message of the user's, and wait until the turn has ended."""

    def regenerate(self) -> None:
        """Ask for another last reply, and wait until it is there."""

    def shown(self) -> list[Shown]:
        """All messages, from the first to the last."""

    def branch(self, text: str) -> tuple[int, int] | None:
        """Which branch of how many the message with this text begins, counted from 1; None where there is one only."""

    def thread_id(self) -> str:
        """The id of the thread."""


def conversation(turns: Sequence[tuple[str, str]]) -> list[Shown]:
    """Questions and replies as they should be on the screen."""
    return [message for asked, replied in turns for message in (Shown("user", asked), Shown("assistant", replied))]


class Talk:
    """A conversation in a client, and what was said in it.

    Args:
        chat: the client, with a new thread.
        model: the model that answers.
    """

    def __init__(self, chat: Chat, model: FakeOpenAI) -> None:
        self.chat, self.model = chat, model
        self.turns: list[tuple[str, str]] = []

    def say(self, *questions: str) -> None:
        """Say these, one after the other, each when the turn before has ended."""
        for question in questions:
            self.chat.say(question)
            self.turns.append(self.newest(question))

    def newest(self, question: str) -> tuple[str, str]:
        """The model's newest reply, which must be to this question."""
        asked, replied = self.model.replies[-1]
        assert asked == question, "the model was asked something else"
        return asked, replied

    @property
    def expected(self) -> list[Shown]:
        """What should be on the screen."""
        return conversation(self.turns)


def state_messages(messages: Sequence[dict[str, object]]) -> list[Shown]:
    """The messages of a state as a client shows them: whatever is not the user's counts as the assistant's."""
    return [
        Shown("user" if message["type"] == "human" else "assistant", text_of(message["content"]))
        for message in messages
    ]


def text_of(content: object) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    return " ".join(block["text"] for block in content if block.get("type") == "text")
