"""`ChatOpening`: a chat that is opened in the background, while its first question is typed or read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from ..settings.settings import Settings
from .terminal import above_prompt, is_terminal

if TYPE_CHECKING:
    from ..graph.open import open_graph
    from .session import Session


class ChatOpening:
    """One chat, from before anything of it is loaded.

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
        from rich.console import Console

        from ..graph.open import open_graph
        from .reply import MarkdownReply, PlainReply
        from .session import Session

        console = Console(highlight=False, soft_wrap=True, markup=False)
        view = MarkdownReply(Console(highlight=False, markup=False)) if is_terminal() else PlainReply(console)
        opened = open_graph(self._settings)
        session = Session(await opened.__aenter__(), self._settings, self._name, console, view)
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
