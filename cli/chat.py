"""The chat in the terminal."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

from ..settings.settings import Settings
from ..state.errors import EverthreadError
from ..state.messages import clean_text, content_text
from .opening import loading

if TYPE_CHECKING:
    from ..graph.conversation import CompiledConversation
    from ..runtime.resources import Resources

_ANSWERING: Final = frozenset({"llm_call", "command"})
"""The nodes whose messages are for the user."""


def chat(
    settings: Settings,
    thread: Annotated[
        str | None, typer.Option("--thread", help="The name of the thread to go on with; without it a new one starts.")
    ] = None,
) -> int:
    """Chat until the end of input; returns the exit code: 1 where a turn of piped input failed.

    Raises:
        SettingsError: a setting is not allowed.
    """
    with loading():
        from ..graph.open import open_graph
    # Tokens are printed as they come, so rich must neither wrap nor read markup in them.
    console = Console(highlight=False, soft_wrap=True, markup=False)
    opened = open_graph(settings)
    with asyncio.Runner() as runner:
        with console.status("Starting the database ..."):
            graph = runner.run(opened.__aenter__())
        session = Session(graph, opened.resources, settings, thread or _new_name(), console)
        try:
            runner.run(session.greet(resumed=thread is not None))
            failed = _converse(runner, session)
        finally:
            runner.run(opened.__aexit__(None, None, None))
    return 1 if failed and not sys.stdin.isatty() else 0


def _new_name() -> str:
    """A name for a new thread: the day and four random characters."""
    return f"{datetime.now():%Y-%m-%d}-{secrets.token_hex(2)}"


class Session:
    """One chat in one thread."""

    def __init__(
        self, graph: CompiledConversation, resources: Resources, settings: Settings, name: str, console: Console
    ) -> None:
        self._graph = graph
        self._resources = resources
        self._settings = settings
        self._name = name
        self._console = console
        self._thread_id = ""

    async def greet(self, *, resumed: bool) -> None:
        """Say which model answers, which thread this is, and what is still being loaded.

        Raises:
            ThreadOwnershipError: the thread belongs to another user.
        """
        from ..models.chat import describe_model

        archive = self._resources.of_user(self._settings.user_id).archive
        self._thread_id = await archive.thread_named(self._name)
        await archive.own_thread(self._thread_id, self._name)
        said = await archive.known_count(self._thread_id) if resumed else 0
        self._dim(describe_model(self._settings.model))
        self._dim(f"Thread {self._name!r}" + (f", going on after {said} messages." if said else ", new."))
        if not self._resources.embedder.ready:
            self._dim(f"Loading the embedding model {self._resources.embedder.name} in the background ...")
        if changed := await self._resources.changed_model():
            self._dim(str(changed))

    async def turn(self, text: str) -> bool:
        """One turn; returns whether it succeeded. The reply is printed as it comes."""
        config: Any = {"configurable": {"thread_id": self._thread_id}}
        printed = False
        try:
            question = {"messages": [("user", text)]}
            modes: Any = ["messages", "updates"]
            parts: Any = self._graph.astream(question, config, context=self._settings, stream_mode=modes)
            async for mode, part in parts:
                if mode == "messages" and part[1].get("langgraph_node") in _ANSWERING:
                    printed = self._print(content_text(part[0].content)) or printed
                elif mode == "updates":
                    self._notice(part, printed)
        except EverthreadError as error:
            self._console.print(f"everthread: {error}", style="red")
            return False
        return True

    def _print(self, token: str) -> bool:
        self._console.print(clean_text(token), end="")
        self._console.file.flush()
        return bool(token)

    def _notice(self, update: dict[str, Any], printed: bool) -> None:
        """After the reply has been printed, or before: what a user should know of a node's work."""
        for node, values in update.items():
            if node in _ANSWERING:
                answer = values.get("command_answer") or values["messages"][-1]
                self._console.print("" if printed else content_text(answer.content))
            for part in ("search", "recall", "after_reply"):
                record = (values or {}).get(part)
                if record is not None and getattr(record, "error", None):
                    self._dim(f"({record.error})")
            if node == "web_search" and values["search"].results:
                found = values["search"]
                self._dim(f"(searched the web with {found.engine}: {len(found.results)} results)")

    def _dim(self, text: str) -> None:
        self._console.print(text, style="dim")


def _converse(runner: asyncio.Runner, session: Session) -> bool:
    """Feed every line to the session; returns whether any turn failed."""
    failed = False
    for line in _lines():
        if not line.strip():
            continue
        try:
            failed = not runner.run(session.turn(line)) or failed
        except KeyboardInterrupt:
            print("\n(stopped; what you said is kept)")
    return failed


def _lines() -> Iterator[str]:
    """What is typed, or what comes through a pipe."""
    if not sys.stdin.isatty():
        sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]  # a pipe is a TextIOWrapper
        yield from (clean_text(line.rstrip("\n")) for line in sys.stdin)
        return
    import readline  # noqa: F401  # gives the prompt a history and arrow keys

    while True:
        try:
            yield input("> ")
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            return
