"""`Session`: one chat in one thread, turn by turn."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console

from ..models.bundled_weights import BUNDLED_MODEL
from ..settings.settings import Settings
from ..state.errors import EverthreadError
from ..state.messages import content_text
from ..state.report_records import TurnReport
from ..storage.storage import Storage
from ..text.count import counted
from ..text.language import language_of
from ..text.terms import ENGLISH
from .reply import ReplyView, printable

if TYPE_CHECKING:
    from ..graph.conversation import Conversation

_ANSWERING: Final = frozenset({"llm_call", "command"})
"""The nodes whose messages are for the user."""

_DOING: Final = {
    "searching": "Searching the web ...",
    "remembering": "Remembering ...",
    "away": "The storage does not answer: going on from memory ...",
    "remembered": "Thinking ...",
    "summarizing": "Summarizing ...",
}
"""What is shown of an event while nothing of the reply has come."""

_EARLIER: Final = 100
"""Questions that the arrow keys bring back."""

_ENGLISH_ONLY: Final = (
    "The default embedding model knows English: in other languages your words alone are found again. For meaning set "
    "EVERTHREAD_EMBEDDING_MODEL=multilingual-e5-small (91 MB, fetched once) and run `everthread reindex`."
)


class Session:
    """One chat in one thread.

    Args:
        graph: the conversation.
        settings: those of each turn.
        name: of the thread.
        console: where replies and notices are printed.
        view: shows a reply while it comes.

    Attributes:
        storage: where the conversation is kept.
    """

    def __init__(
        self,
        graph: Conversation,
        settings: Settings,
        name: str,
        console: Console,
        view: ReplyView,
    ) -> None:
        self.settings = settings
        self.name = name
        self.storage: Storage = graph.resources.database
        self._graph = graph
        self._resources = graph.resources
        self._console = console
        self._view = view
        self._thread_id = ""
        self._may_advise = graph.resources.embedder.name == BUNDLED_MODEL

    async def greet(self, *, resumed: bool) -> None:
        """Say which model answers, which thread this is, and what is still being loaded.

        Raises:
            ThreadOwnershipError: the thread belongs to another user.
        """
        from ..models.chat import describe_model

        archive = self._resources.of_user(self.settings.user_id).archive
        self._thread_id = await archive.thread_named(self.name)
        await archive.own_thread(self._thread_id, self.name)
        said = await archive.known_count(self._thread_id) if resumed else 0
        self.note(describe_model(self.settings.model))
        self.note(f"Thread {self.name!r}" + (f", going on after {counted(said, 'message')}." if said else ", new."))
        if not self._resources.embedder.ready:
            self.note(f"Loading the embedding model {self._resources.embedder.name} in the background ...")
        if changed := await self._resources.changed_model():
            self.note(str(changed))

    async def earlier(self) -> list[str]:
        """What the user asked last in this thread, the newest last."""
        archive = self._resources.of_user(self.settings.user_id).archive
        messages = await archive.page(self._thread_id, limit=2 * _EARLIER)
        return [message.text for message in messages if message.role == "user"][-_EARLIER:]

    def choose_profile(self, name: str) -> None:
        """Go on with another profile.

        Raises:
            SettingsError: there is none of this name, or it does not agree with the other settings.
        """
        self.settings = Settings(**{**self.settings.chosen, "profile": name})

    def note(self, text: str) -> None:
        """Print what is no reply."""
        self._console.print(printable(text), style="dim")

    def refuse(self, error: EverthreadError) -> None:
        """Print what went wrong."""
        self._console.print(f"everthread: {printable(str(error))}", style="red")

    async def turn(self, text: str) -> bool:
        """One turn; returns whether it succeeded. The reply is shown as it comes."""
        if self._may_advise and await asyncio.to_thread(language_of, text) not in {None, ENGLISH}:
            self._may_advise = False
            self.note(_ENGLISH_ONLY)
        config: Any = {"configurable": {"thread_id": self._thread_id}}
        modes: Any = ["messages", "updates", "custom"]
        try:
            self._view.doing("Thinking ...")
            parts: Any = self._graph.astream(
                {"messages": [("user", text)]}, config, context=self.settings, stream_mode=modes
            )
            printed = False
            async with aclosing(parts):
                async for mode, part in parts:
                    if mode == "messages" and part[1].get("langgraph_node") in _ANSWERING:
                        token = content_text(part[0].content)
                        self._view.add(token)
                        printed = printed or bool(token)
                    elif mode == "custom":
                        self._tell(part)
                    elif mode == "updates":
                        self._notice(part, printed)
        except EverthreadError as error:
            self._view.close()
            self.refuse(error)
            return False
        finally:
            self._view.close()
        return True

    def _tell(self, event: dict[str, Any]) -> None:
        """What goes on, or came of it."""
        name = event.get("everthread", "")
        if doing := _DOING.get(name):
            self._view.doing(doing)
        elif name == "searched" and (number := event["results"]):
            self.note(f"(searched the web with {event['engine']}: {counted(number, 'result')})")

    def _notice(self, update: dict[str, Any], printed: bool) -> None:
        """The reply where none of it was streamed, and behind it what could not be done as asked."""
        for node, values in update.items():
            if node in _ANSWERING:
                if not printed:
                    self._view.add(content_text(values["messages"][-1].content))
                self._view.close()
            if report := TurnReport.read((values or {}).get("report")):
                for sentence in report.degraded:
                    self.note(f"({sentence})")
