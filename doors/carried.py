"""A memory that leaves as a file and comes back: export, import, also of what other assistants export."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ..maintenance.importing import Import, in_our_format
from ..maintenance.transfer import export_rows
from ..maintenance.transfer_format import check_file
from ..maintenance.transfer_lines import Counts
from ..runtime.resources import Resources
from ..runtime.user import User
from ..storage.loop_thread import blocking


class Carried:
    """The part of a memory that is about files; see `ConversationMemory`."""

    user: User
    resources: Resources

    async def aexport(self, file: Path | str, *, thread_id: str | None = None) -> Counts:
        """Write all that is kept, or one thread, to a file as `everthread export` does; returns how much of each kind.

        Raises:
            InputError: there is no such thread, or the file cannot be written.
            StorageError: the storage fails.
        """
        return await export_rows(self.user.rows, Path(file), thread=thread_id, written=lambda *_: None)

    async def aimport_(self, file: Path | str) -> Counts:
        """Read a file that was exported, here or by ChatGPT, Claude, Gemini and others.

        Returns how many threads the file holds, and how many of its messages, summaries, facts and the rest were new.

        What is new is read for facts, and embedded in the background. It may be done again, also after it was stopped.

        Raises:
            InputError: the file cannot be read, or something in it is wrong; then nothing was imported.
            StorageError: the storage fails.
            ThreadOwnershipError: a thread belongs to another user; then nothing was imported.
        """
        async with in_our_format(Path(file), self.user.id) as ready:
            checked = await asyncio.to_thread(check_file, ready)
            new = await Import(self.user.rows, ready, checked, lambda _: None).without_vectors()
        await self.user.let_go()
        self.user.embed_later(self.resources.settings.timeouts.embedding)
        return new

    export = blocking(aexport)
    import_ = blocking(aimport_)
