"""What is typed in the chat, or comes through a pipe: one question after the other."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING

from ..state.messages import clean_text

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings


def is_terminal() -> bool:
    """Whether a person types."""
    return sys.stdin.isatty() and sys.stdout.isatty()


async def piped() -> AsyncIterator[str]:
    """The lines of a pipe, each a question."""
    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]  # a pipe is a TextIOWrapper
    while line := await asyncio.to_thread(sys.stdin.readline):
        yield clean_text(line.rstrip("\n"))


async def typed(earlier: Sequence[str], words: Iterable[str]) -> AsyncIterator[str]:
    """What a person types: a paste of several lines is one question, and Alt+Enter begins a new line.

    Ctrl-C clears the line, Ctrl-D on an empty one leaves.

    Args:
        earlier: what was asked before in this thread, the newest last: the arrow keys bring it back. It is not written
            to a file, where it would outlive what is forgotten.
        words: the commands, for completion.
    """
    session = _prompt(earlier, words)
    while True:
        try:
            yield clean_text(await session.prompt_async("> "))
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _prompt(earlier: Sequence[str], words: Iterable[str]) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import InMemoryHistory

    return PromptSession(
        history=InMemoryHistory(earlier),
        completer=WordCompleter(sorted(words), sentence=True),
        complete_while_typing=False,
        enable_open_in_editor=False,
        key_bindings=_keys(),
    )


def _keys() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _(event: object) -> None:
        event.current_buffer.newline()  # type: ignore[attr-defined]  # prompt_toolkit's own event

    return keys
