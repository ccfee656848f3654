"""The chat in the terminal: the prompt stands at once, and what answers is loaded while the first question is typed."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from ..settings.settings import Settings
from ..state.errors import EverthreadError
from .terminal import above_prompt, is_terminal, piped, typed

if TYPE_CHECKING:
    from ..graph.open import open_graph
    from .session import Session


def chat(
    settings: Settings,
    thread: Annotated[
        str | None, typer.Option("--thread", help="The name of the thread to go on with; without it a new one starts.")
    ] = None,
) -> int:
    """Chat until the end of input; returns the exit code: 1 where a turn of piped input failed.

    Raises:
        SettingsError: a setting is not allowed.
        StorageError: the storage cannot be opened.
        ThreadOwnershipError: the thread belongs to another user.
    """
    opening = _Opening(settings, thread or _new_name(), resumed=thread is not None)
    with asyncio.Runner() as runner:
        try:
            failed = _converse(runner, opening)
        finally:
            runner.run(opening.close())
    return 1 if failed and not is_terminal() else 0


def _new_name() -> str:
    """A name for a new thread: the day and four random characters."""
    return f"{datetime.now():%Y-%m-%d}-{secrets.token_hex(2)}"


def _converse(runner: asyncio.Runner, opening: _Opening) -> bool:
    """Feed every line to the session; returns whether any turn failed."""
    if not is_terminal():
        runner.run(opening.session())
    failed, lines = False, _lines(opening)
    while (line := runner.run(anext(lines, None))) is not None:
        try:
            failed = not runner.run(_answer(line, opening)) or failed
        except typer.Exit:
            return failed
        except KeyboardInterrupt:
            typer.secho("(stopped; what you said is kept, and what was shown of the reply)", dim=True)
    return failed


async def _answer(line: str, opening: _Opening) -> bool:
    """Do what a line asks for; returns whether that went well."""
    if not line.strip():
        return True
    if is_terminal() and not opening.is_done:
        typer.secho("Opening the conversation ...", dim=True)
    session = await opening.session()
    from ..state.messages import clean_text
    from .chat_commands import read_chat_command, run_chat_command

    if (command := read_chat_command(clean_text(line))) is None:
        return await session.turn(clean_text(line))
    try:
        await run_chat_command(command, session)
    except EverthreadError as error:
        session.refuse(error)
        return False
    return True


def _lines(opening: _Opening) -> AsyncIterator[str]:
    if not is_terminal():
        return piped()
    typer.secho("/help shows the commands, Ctrl-D leaves.", dim=True)
    return typed(opening.begin, opening.earlier, _commands)


def _commands() -> list[str]:
    from ..compression.commands import COMMANDS as OF_SUMMARIES
    from .chat_commands import COMMANDS

    return sorted([*COMMANDS, *OF_SUMMARIES])


class _Opening:
    """One chat that is opened in the background, while its first question is typed or read.

    Args:
        settings: those of each turn.
        name: of the thread.
        resumed: whether the thread was named, and may have been begun before.
    """

    def __init__(self, settings: Settings, name: str, *, resumed: bool) -> None:
        self._settings, self._name, self._resumed = settings, name, resumed
        self._open: open_graph | None = None
        self._opening: asyncio.Task[Session] | None = None

    def begin(self) -> asyncio.Task[Session]:
        """Begin to open it, if that is not begun."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._opened())
        return self._opening

    @property
    def is_done(self) -> bool:
        """Whether it is open, or could not be opened."""
        return self._opening is not None and self._opening.done()

    async def session(self) -> Session:
        """The chat, when it is open.

        Raises:
            StorageError: the storage cannot be opened.
            ThreadOwnershipError: the thread belongs to another user.
        """
        return await asyncio.shield(self.begin())

    async def earlier(self) -> Sequence[str]:
        """What the user asked last in this thread, the newest last."""
        return await (await self.session()).earlier()

    async def close(self) -> None:
        """Close it, open or not."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self._open is not None:
            await self._open.__aexit__(None, None, None)

    async def _opened(self) -> Session:
        await asyncio.to_thread(_load)
        from ..graph.open import open_graph
        from .opening import console
        from .reply import MarkdownReply, PlainReply
        from .session import Session

        shown = console()
        view = MarkdownReply(shown) if is_terminal() else PlainReply()
        opened = open_graph(self._settings)
        session = Session(await opened.__aenter__(), self._settings, self._name, shown, view)
        self._open = opened
        async with above_prompt():
            await session.greet(resumed=self._resumed)
        return session


def _load() -> None:
    """Import what answers, which takes a second (blocking)."""
    from ..runtime.read_ahead import read_ahead

    read_ahead()
    for module in ("..graph.open", ".chat_commands", ".reply", ".session"):
        import_module(module, __package__)
