"""The commands in the chat, read: `/summary` and its two steps, `/summary_status`, `_on`, `_off`, `_now`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from ..state.errors import SettingsError
from ..text.fold import fold

Name = Literal["setup", "status", "on", "off", "now", "storage", "threshold"]

COMMANDS: Final[Mapping[str, Name]] = {
    "/summary": "setup",
    "/summary_status": "status",
    "/summary_on": "on",
    "/summary_off": "off",
    "/summary_now": "now",
}
"""What each command does; any other word after a slash is text for the model."""

STORAGES: Final[Mapping[str, str]] = {"postgres": "Postgres", "sqlite": "SQLite", "json": "JSON file"}
"""The kinds of storage that `/summary` knows, by the word that chooses them."""

_LONGEST: Final = 100
"""Characters of a command, or of an answer to one, at most."""

_NUMBER: Final = re.compile(r"[+-]?\d+")


class SummaryCommand(NamedTuple):
    """A command, or an answer to what `/summary` asked, with the word that was given."""

    name: Name
    value: str = ""


def read_command(text: str, pending: Literal["storage", "threshold"] | None = None) -> SummaryCommand | None:
    """The command in a message of the user; None where it is text for the model.

    Args:
        text: the whole message.
        pending: what `/summary` asked in the message before. What does not answer it is text for the model, so that
            nobody is held in the set-up.
    """
    text = text.strip()
    word = fold(text).strip() if len(text) <= _LONGEST else ""
    if (name := COMMANDS.get(word)) is not None:
        return SummaryCommand(name)
    if pending == "storage":
        chosen = next(
            (
                key
                for key in STORAGES
                if re.fullmatch(rf"\W*{key}(?:ql)?(?: file)?\W*(?:(?:recommended|in use)\W*)?", word)
            ),
            None,
        )
        return SummaryCommand("storage", chosen) if chosen else None
    return SummaryCommand("threshold", word) if pending == "threshold" and _NUMBER.fullmatch(word) else None


def read_threshold(word: str) -> int:
    """The number of messages after which to compress.

    Raises:
        SettingsError: it is not between 1 and 500.
    """
    number = int(word) if len(word) < 10 else 10**9
    if not 1 <= number <= 500:
        raise SettingsError(f"{word[:12]} is not a number of messages between 1 and 500.")
    return number
