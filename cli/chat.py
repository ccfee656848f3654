"""The chat in the terminal: the prompt stands at once, and what answers is loaded while the first question is typed."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated

import typer

from ..settings.settings import Settings
from ..state.errors import EverthreadError
from .chat_opening import ChatOpening
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
        StorageError: the storage cannot be opened.
        ThreadOwnershipError: the thread belongs to another user.
    """
    opening = ChatOpening(settings, thread or _new_name(), resumed=thread is not None)
    with asyncio.Runner() as runner:
        try:
            failed = _converse(runner, opening)
        finally:
            runner.run(opening.close())
    return 1 if failed and not is_terminal() else 0


def _new_name() -> str:
    """A name for a new thread: the day and four random characters."""
    return f"{datetime.now():%Y-%m-%d}-{secrets.token_hex(2)}"


def _converse(runner: asyncio.Runner, opening: ChatOpening) -> bool:
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


async def _answer(line: str, opening: ChatOpening) -> bool:
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


def _lines(opening: ChatOpening) -> AsyncIterator[str]:
    if not is_terminal():
        return piped()
    typer.secho("/help shows the commands, Ctrl-D leaves.", dim=True)
    return typed(opening.begin, opening.earlier, _commands)


def _commands() -> list[str]:
    from ..compression.commands import COMMANDS as OF_SUMMARIES
    from .chat_commands import COMMANDS

    return sorted([*COMMANDS, *OF_SUMMARIES])
