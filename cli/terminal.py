"""What is typed in the chat, or comes through a pipe: one question after the other."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from ..state.errors import EverthreadError

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings


def is_terminal() -> bool:
    """Whether a person types."""
    return sys.stdin.isatty() and sys.stdout.isatty()


async def piped() -> AsyncIterator[str]:
    """The lines of a pipe, each a question; one that is not in the console's encoding is taken for UTF-8."""
    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]  # a pipe is a TextIOWrapper
    while line := await asyncio.to_thread(sys.stdin.readline):
        try:
            line.encode()
        except UnicodeEncodeError:
            line = line.encode(sys.stdin.encoding, "surrogateescape").decode(errors="surrogateescape")
        yield line.rstrip("\n")


def above_prompt() -> AbstractAsyncContextManager[None]:
    """While it is open, what is printed stands above the prompt, which is drawn again behind it."""
    if not is_terminal():
        return nullcontext()
    from prompt_toolkit.application import in_terminal

    return in_terminal()


async def typed(
    begin: Callable[[], asyncio.Task[Any]],
    earlier: Callable[[], Awaitable[Sequence[str]]],
    words: Callable[[], list[str]],
) -> AsyncIterator[str]:
    """What a person types: a paste of several lines is one question, and Alt+Enter begins a new line.

    Ctrl-C clears the line, Ctrl-D on an empty one leaves.

    Args:
        begin: begins, or goes on with, what is done while the first question is typed; its error ends the prompt.
        earlier: what was asked before in this thread, the newest last: the arrow keys bring it back. It is not written
            to a file, where it would outlive what is forgotten.
        words: the commands, for completion.

    Raises:
        EverthreadError: that of what was begun.
    """
    session = _prompt(earlier, words)

    def give_up(begun: asyncio.Task[Any]) -> None:
        if not begun.cancelled() and (error := begun.exception()) is not None and session.app.is_running:
            session.app.exit(exception=error)

    while True:
        try:
            # Begun where the prompt is about to be drawn, which would else wait for it.
            yield await session.prompt_async("> ", pre_run=lambda: begin().add_done_callback(give_up))
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _prompt(earlier: Callable[[], Awaitable[Sequence[str]]], words: Callable[[], list[str]]) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter

    return PromptSession(
        history=_history(earlier),
        completer=WordCompleter(words, sentence=True),
        complete_while_typing=False,
        enable_open_in_editor=False,
        key_bindings=_keys(),
    )


def _history(earlier: Callable[[], Awaitable[Sequence[str]]]) -> History:
    from prompt_toolkit.history import InMemoryHistory

    class Earlier(InMemoryHistory):
        """The questions of the thread, which come when it is open."""

        async def load(self) -> AsyncGenerator[str, None]:
            with suppress(EverthreadError):  # which ends the prompt by itself
                if not self._loaded:
                    before = [question for question in await earlier() if question not in self._loaded_strings]
                    self._loaded_strings += reversed(before)
                    self._loaded = True
            for question in self._loaded_strings:
                yield question

    return Earlier()


def _keys() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _(event: object) -> None:
        event.current_buffer.newline()  # type: ignore[attr-defined]  # prompt_toolkit's own event

    return keys
