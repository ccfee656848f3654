"""The commands of the chat in the terminal: `/threads`, `/facts` and the like. `/summary...` are the graph's own."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from ..compression.commands import COMMANDS as SUMMARY_COMMANDS
from ..settings.profiles import PROFILES
from ..state.errors import InputError
from . import explain as explaining
from . import facts as knowing
from . import forget as forgetting
from . import threads as listing

if TYPE_CHECKING:
    from .session import Session

_COMMAND: Final = re.compile(r"/(\w+)(?:[ \t]+(.*))?")
_NEWEST: Final = 20
"""Messages that `/history` shows where it is not said how many."""


class ChatCommand(NamedTuple):
    """A word after a slash, with what stands behind it."""

    name: str
    argument: str = ""


def read_chat_command(text: str) -> ChatCommand | None:
    """The command that a line is; None where it is for the graph: a question, or one of its own commands.

    A line that begins with a blank is always a question. "exit" and "quit" alone leave, as in other chats.
    """
    if text.strip().lower() in {"exit", "quit"}:
        return ChatCommand("quit")
    found = _COMMAND.fullmatch(text.rstrip())
    if found is None or f"/{found[1].lower()}" in SUMMARY_COMMANDS:
        return None
    return ChatCommand(found[1].lower(), (found[2] or "").strip())


async def run_chat_command(command: ChatCommand, session: Session) -> None:
    """Do what a command says, and print what it has to say.

    Raises:
        InputError: there is no such command, or its argument is not known.
        SettingsError: the settings refuse another profile.
        StorageError: the storage fails.
    """
    if (known := COMMANDS.get(f"/{command.name}")) is None:
        raise InputError(
            f"There is no command /{command.name}: /help lists them. To say it as it is, begin with a blank."
        )
    await known.work(session, command.argument)


async def _help(_: Session, __: str) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, command in COMMANDS.items():
        table.add_row(f"{name} {command.argument}".rstrip(), command.help)
    table.add_row("/summary, /summary_status, _on, _off, _now", "How this thread is summarized.")
    table.add_row("Alt+Enter", "Begin a new line. Ctrl-C stops a reply or clears the line, Ctrl-D leaves.")
    Console(highlight=False, markup=False).print(table)


async def _threads(session: Session, _: str) -> None:
    await listing.threads(session.storage)


async def _history(session: Session, number: str) -> None:
    await listing.history(session.storage, session.name, limit=_number(number, _NEWEST))


async def _facts(session: Session, _: str) -> None:
    await knowing.facts(session.storage)


async def _forget(session: Session, fact: str) -> None:
    if not fact:
        raise InputError("Name the fact or pin to forget: /facts lists them with their ids.")
    await forgetting.forget(session.storage, what=[fact], yes=True)


async def _explain(session: Session, turn: str) -> None:
    await explaining.explain(session.storage, session.name, _number(turn, -1))


async def _profile(session: Session, name: str) -> None:
    if name:
        session.choose_profile(name)
    profiles = ", ".join(PROFILES)
    session.note(f"Profile {session.settings.profile!r} in this chat. There are: {profiles}.")


async def _quit(_: Session, __: str) -> None:
    raise typer.Exit


def _number(typed: str, default: int) -> int:
    if not typed:
        return default
    if not re.fullmatch(r"-?\d{1,6}", typed):
        raise InputError(f"{typed[:20]!r} is no number.")
    return int(typed)


class _Command(NamedTuple):
    argument: str
    help: str
    work: Callable[[Session, str], Awaitable[None]]


COMMANDS: Final = {
    "/help": _Command("", "Show these commands.", _help),
    "/threads": _Command("", "List your threads, the latest first.", _threads),
    "/history": _Command("[NUMBER]", f"Show the newest messages of this thread; {_NEWEST} by default.", _history),
    "/facts": _Command("", "Show what is known about you, and what is pinned.", _facts),
    "/forget": _Command("ID", "Forget a fact or a pin, with the messages that say it.", _forget),
    "/explain": _Command("[TURN]", "Show what happened in a turn; the last one by default.", _explain),
    "/profile": _Command("[NAME]", "Show which profile is in use, or go on with another one.", _profile),
    "/quit": _Command("", "Leave the chat.", _quit),
}
"""By their words; what stands behind one, and what it does."""
