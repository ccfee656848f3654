"""The chat in the terminal."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated

import typer
from rich.console import Console

from ..compression.commands import COMMANDS as SUMMARY_COMMANDS
from ..settings.settings import Settings
from ..state.errors import EverthreadError
from .chat_commands import COMMANDS, read_chat_command, run_chat_command
from .opening import loading
from .reply import MarkdownReply, PlainReply
from .session import Session
from .terminal import is_terminal, piped, typed


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
    console = Console(highlight=False, soft_wrap=True, markup=False)
    view = MarkdownReply(Console(highlight=False, markup=False)) if is_terminal() else PlainReply(console)
    opened = open_graph(settings)
    with asyncio.Runner() as runner:
        with console.status("Opening the conversation ..."):
            graph = runner.run(opened.__aenter__())
        session = Session(graph, settings, thread or _new_name(), console, view)
        try:
            runner.run(session.greet(resumed=thread is not None))
            failed = _converse(runner, session)
        finally:
            runner.run(opened.__aexit__(None, None, None))
    return 1 if failed and not is_terminal() else 0


def _new_name() -> str:
    """A name for a new thread: the day and four random characters."""
    return f"{datetime.now():%Y-%m-%d}-{secrets.token_hex(2)}"


def _converse(runner: asyncio.Runner, session: Session) -> bool:
    """Feed every line to the session; returns whether any turn failed."""
    failed, lines = False, runner.run(_lines(session))
    while (line := runner.run(anext(lines, None))) is not None:
        try:
            failed = not runner.run(_answer(line, session)) or failed
        except typer.Exit:
            return failed
        except KeyboardInterrupt:
            session.note("(stopped; what you said is kept, and what was shown of the reply)")
    return failed


async def _answer(line: str, session: Session) -> bool:
    """Do what a line asks for; returns whether that went well."""
    if not line.strip():
        return True
    if (command := read_chat_command(line)) is None:
        return await session.turn(line)
    try:
        await run_chat_command(command, session)
    except EverthreadError as error:
        session.refuse(error)
        return False
    return True


async def _lines(session: Session) -> AsyncIterator[str]:
    if not is_terminal():
        return piped()
    session.note("/help shows the commands, Ctrl-D leaves.")
    return typed(await session.earlier(), [*COMMANDS, *SUMMARY_COMMANDS])
