"""How a reply is shown while it comes: as Markdown in a terminal, as it is in a pipe."""

from __future__ import annotations

import re
from typing import Final, Protocol

from rich.console import Console, RenderableType
from rich.live import Live
from rich.markdown import Markdown
from rich.spinner import Spinner

from ..state.messages import clean_text

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FENCE: Final = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


def printable(text: str) -> str:
    """The text without control characters, which could steer a terminal; line breaks and tabs stay."""
    return _CONTROLS.sub("", clean_text(text).replace("\r\n", "\n"))


class ReplyView(Protocol):
    """What shows one reply."""

    def doing(self, text: str) -> None:
        """Say what goes on, until more of the reply comes."""

    def add(self, token: str) -> None:
        """Show more of the reply."""

    def close(self) -> None:
        """End the reply; nothing of it is left out."""


class PlainReply:
    """The reply as it is, token by token: for a pipe or a file."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, soft_wrap=True)
        self._begun = False

    def doing(self, text: str) -> None:
        """Nothing: a pipe shows the reply alone."""

    def add(self, token: str) -> None:
        """Print it."""
        self._begun = self._begun or bool(token)
        self._console.print(printable(token), end="")
        self._console.file.flush()

    def close(self) -> None:
        """End the line."""
        if self._begun:
            self._console.print()
        self._begun = False


class MarkdownReply:
    """The reply as Markdown, wrapped at words: each block is printed for good when it is complete.

    What is still growing, and what goes on meanwhile, stands below in a region that is drawn again.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._growing = ""
        self._live: Live | None = None

    def doing(self, text: str) -> None:
        """Show a spinner with what goes on."""
        if not self._growing.strip():
            self._draw(Spinner("dots", text=text, style="dim"))

    def add(self, token: str) -> None:
        """Show more of the reply."""
        complete, self._growing = complete_blocks(self._growing + printable(token))
        if complete:
            self._console.print(Markdown(complete))
        if self._growing.strip():
            self._draw(Markdown(self._growing))

    def close(self) -> None:
        """Print the rest, and end the region that is drawn again."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        if self._growing.strip():
            self._console.print(Markdown(self._growing))
        self._growing = ""

    def _draw(self, shown: RenderableType) -> None:
        if self._live is None:
            self._live = Live(console=self._console, transient=True, refresh_per_second=12)
            self._live.start()
        self._live.update(shown)


def complete_blocks(text: str) -> tuple[str, str]:
    """The blocks of a Markdown text that no later token changes, and the rest: parted at a blank line outside code."""
    end = len(text)
    while (end := text.rfind("\n\n", 0, end)) >= 0:
        if len(_FENCE.findall(text, 0, end)) % 2 == 0:
            return text[: end + 2], text[end + 2 :]
    return "", text
