"""`langgraph_sdk` for Python as a chat client: it does what `useStream` does, with the newest ten checkpoints."""

from __future__ import annotations

from typing import Any, Final

from clients.chat import Shown, state_messages, text_of
from clients.dev_server import GRAPH
from langgraph_sdk import get_sync_client

NEWEST: Final = 10
"""How many checkpoints `useStream` asks for."""


class SdkChat:
    """The client.

    Args:
        url: of the server.
    """

    def __init__(self, url: str) -> None:
        self.client = get_sync_client(url=url, api_key=None)
        self._thread: str | None = None

    def open(self, thread_id: str | None) -> None:
        self._thread = thread_id

    def reload(self) -> None:
        """Nothing is held here."""

    def choose(self, thread_id: str, title: str) -> None:
        listed = self.client.threads.search(metadata={"graph_id": GRAPH}, limit=100)
        assert thread_id in [thread["thread_id"] for thread in listed], "the thread is not in the list"
        self._thread = thread_id

    def say(self, text: str) -> None:
        self._run({"messages": [{"role": "user", "content": text}]})

    def say_and_cancel(self, text: str) -> None:
        self._run({"messages": [{"role": "user", "content": text}]}, cancel_after=5)

    def edit(self, question: str, to: str) -> None:
        parent = self._parent(self._id_of_message(question))
        self._run({"messages": [{"role": "user", "content": to}]}, checkpoint=parent)

    def regenerate(self) -> None:
        self._run(None, checkpoint=self._parent(self._messages()[-1]["id"]))

    def shown(self) -> list[Shown]:
        return state_messages(self._messages())

    def branch(self, text: str) -> tuple[int, int] | None:
        history = self._history()
        by_id = {_id_of(state["checkpoint"]): state for state in history}
        state = self._first_seen(self._id_of_message(text))
        while state is not None:
            parent = _id_of(state["parent_checkpoint"])
            siblings = [_id_of(other["checkpoint"]) for other in reversed(history)
                        if _id_of(other["parent_checkpoint"]) == parent]  # fmt: skip
            if len(siblings) > 1:
                return siblings.index(_id_of(state["checkpoint"])) + 1, len(siblings)
            state = by_id.get(parent)
        return None

    def thread_id(self) -> str:
        assert self._thread is not None
        return self._thread

    def _messages(self) -> list[dict[str, Any]]:
        if self._thread is None:
            return []
        state: Any = self.client.threads.get_state(self._thread)
        return list(state["values"].get("messages", []))

    def _id_of_message(self, text: str) -> str:
        found = [message["id"] for message in self._messages() if text_of(message["content"]) == text]
        assert found, f"not among the messages: {text}"
        return str(found[0])

    def _history(self) -> list[Any]:
        return list(self.client.threads.get_history(self.thread_id(), limit=NEWEST))

    def _first_seen(self, message_id: str) -> Any:
        """The oldest of the newest states that holds the message."""
        holding = [
            state for state in self._history()
            if message_id in [message["id"] for message in state["values"].get("messages", [])]
        ]  # fmt: skip
        return holding[-1]

    def _parent(self, message_id: str) -> Any:
        return self._first_seen(message_id)["parent_checkpoint"]

    def _run(self, given: Any, *, checkpoint: Any = None, cancel_after: int | None = None) -> None:
        if self._thread is None:
            self._thread = self.client.threads.create()["thread_id"]
        run_id = ""
        tokens = 0
        for part in self.client.runs.stream(
            self._thread, GRAPH, input=given, checkpoint=checkpoint, stream_mode=["values", "messages-tuple"],
            on_disconnect="continue",
        ):  # fmt: skip
            if part.event == "metadata":
                run_id = part.data["run_id"]
            elif part.event == "error" and cancel_after is None:
                raise AssertionError(part.data)
            elif part.event == "messages":
                tokens += 1
                if tokens == cancel_after:
                    self.client.runs.cancel(self._thread, run_id, wait=True)


def _id_of(checkpoint: Any) -> str:
    return checkpoint["checkpoint_id"] if checkpoint else ""
