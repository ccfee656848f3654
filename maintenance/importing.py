"""`Import`: a checked file is stored for a user; what is new is embedded meanwhile, and read for facts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from ..facts.read_archive import read_batch
from ..facts.rows import UNREAD, FactRows
from ..models.embeddings import Embedder
from ..storage.user_rows import UserRows
from .bulk_embedding import BulkEmbedding
from .foreign.convert import converted
from .transfer import Added, import_rows
from .transfer_format import Checked, is_ours
from .transfer_lines import Counts


async def _read_for_facts(rows: UserRows, advance: Callable[[int], None]) -> int:
    """Read what of a user's messages was not read for facts yet, such as what was imported; returns how many changed.

    It may be ended at any time: the user's next turn goes on with it, in the background.

    Args:
        rows: the user's.
        advance: called after each batch, with its messages.

    Raises:
        StorageError: the database fails; what was read stays read.
    """
    facts, settings = FactRows(rows), rows.storage.settings
    changed, more = 0, settings.facts
    while more:
        found, more = await read_batch(facts, settings.auto_pin_score)
        changed += found
        advance(UNREAD)
    return changed


@asynccontextmanager
async def in_our_format(file: Path, user_id: str) -> AsyncIterator[Path]:
    """The file, or what an export of another product becomes for a user, which is gone afterwards.

    Raises:
        InputError: the file cannot be read, or is of no known kind.
    """
    if await asyncio.to_thread(is_ours, file):
        yield file
        return
    converting = converted(file, user_id)
    found = await asyncio.to_thread(converting.__enter__)
    try:
        yield found.file
    finally:
        await asyncio.to_thread(converting.__exit__, None, None, None)


class ImportProgress(NamedTuple):
    """How far an import is: lines read, of how many; texts embedded, of how many, which grows while lines are read;
    messages read for facts."""

    read: int
    lines: int
    embedded: int = 0
    to_embed: int = 0
    for_facts: int = 0


class Import:
    """One import.

    Args:
        rows: those of the user whose it becomes.
        file: what `export_rows` wrote, or `converted` has made.
        checked: what `check_file` found in it.
        advance: called with how far it is.

    Attributes:
        learned: how many facts what is new has brought.
    """

    def __init__(self, rows: UserRows, file: Path, checked: Checked, advance: Callable[[ImportProgress], None]) -> None:
        self._rows = rows
        self._file = file
        self._checked = checked
        self._advance = advance
        self._progress = ImportProgress(0, sum(checked.header.counts.model_dump().values()))
        self.learned = 0

    async def without_vectors(self) -> Counts:
        """Store the rows, and read them for facts. Errors as for `import_rows`."""
        new = await self._stored()
        await self._read_for_facts()
        return new

    async def with_vectors(self, embedder: Embedder) -> Counts:
        """Store the rows, and embed them at the same time: the model never waits for the database, nor for facts.

        Raises:
            EmbeddingError: the model fails; all rows were stored all the same.
        """
        timeout = self._rows.storage.settings.timeouts.embedding
        bulk = BulkEmbedding(self._rows, embedder, which="pending", timeout=timeout, advance=self._embedded)
        self._tell(to_embed=await bulk.count())
        arrived = asyncio.Event()
        embedding = asyncio.create_task(bulk.run(arrived))
        try:
            new = await self._stored()
            arrived.set()
            await self._read_for_facts()
        except BaseException:
            embedding.cancel()
            await asyncio.wait([embedding])
            raise
        await embedding
        return new

    async def _stored(self) -> Counts:
        return await import_rows(self._rows, self._file, self._checked, added=self._added)

    async def _read_for_facts(self) -> None:
        self.learned = await _read_for_facts(self._rows, lambda count: self._tell(for_facts=count))

    def _added(self, added: Added) -> None:
        self._tell(read=added.lines, to_embed=added.pending)

    def _embedded(self, count: int) -> None:
        self._tell(embedded=count)

    def _tell(self, **more: int) -> None:
        self._progress = self._progress._replace(
            **{name: getattr(self._progress, name) + number for name, number in more.items()}
        )
        self._advance(self._progress)
