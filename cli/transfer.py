"""Export and import: what the archive holds of a user goes to a file, and comes back from it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from ..maintenance.bulk_embedding import BulkEmbedding
from ..maintenance.transfer import Added, export_rows, import_rows
from ..maintenance.transfer_format import Checked, check_file
from ..maintenance.transfer_lines import Counts
from ..memory.store_index import store_client, vector_index
from ..models.embeddings import Embedder
from ..settings.settings import Settings
from ..storage.open import storage_of
from ..storage.user_rows import UserRows


def run_export(file: Path, thread: str | None, values: dict[str, Any]) -> None:
    """Write a user's threads, or one of them, to a file, with a progress bar.

    Raises:
        InputError: the user has no such thread, or the file cannot be written.
        StorageError: the database cannot be started or reached.
    """
    asyncio.run(_export(file, thread, Settings(**values)))


async def _export(file: Path, thread: str | None, settings: Settings) -> None:
    database = storage_of(settings)
    try:
        with progress_bar() as bar:
            task = bar.add_task("Writing", total=None)
            counts = await export_rows(
                UserRows(database, settings.user_id),
                file,
                thread=thread,
                written=lambda done, total: bar.update(task, completed=done, total=total),
            )
    finally:
        await database.close()
    words = ", ".join(f"{count} {name}" for name, count in counts)
    _say(f"{file}: {words}.")


def run_import(file: Path, values: dict[str, Any], *, embed: bool = True) -> None:
    """Read what `run_export` wrote into a user's archive, and embed what is new while it is being read.

    Raises:
        InputError: the file cannot be read, or one of its lines is wrong; then nothing was imported.
        ThreadOwnershipError: a thread belongs to another user; then nothing was imported.
        EmbeddingError: the model fails; all was imported, and is embedded after the next start.
        StorageError: the database cannot be started or reached.
    """
    asyncio.run(_import(file, Settings(**values), embed=embed))


async def _import(file: Path, settings: Settings, *, embed: bool) -> None:
    embedder = Embedder(settings.embedding_model)
    beside = embed and settings.vector_store is None
    if embed:
        embedder.load()
    database = storage_of(settings)
    try:
        rows = UserRows(database, settings.user_id)
        with Console().status("Checking the file ..."):
            checked = await asyncio.to_thread(check_file, file)
        with progress_bar() as bar:
            work = Import(rows, settings, file, checked, bar)
            new = await (work.with_vectors(embedder) if beside else work.without_vectors())
        if embed and not beside:
            await into_store(rows, embedder, settings)
    finally:
        await database.close()
    counts = checked.header.counts
    _say(
        f"{file}: {counts.messages} messages, {new.messages} of them new; "
        f"{counts.summaries} summaries, {new.summaries} of them new; "
        f"{counts.facts} facts and {counts.pins} pins, {new.facts + new.pins} of them new."
    )


async def into_store(rows: UserRows, embedder: Embedder, settings: Settings) -> int:
    """Embed what is not in the vector store of the settings, with a progress bar; returns how many were done.

    Raises:
        EmbeddingError: the model or the store fails; what was done stays done.
        StorageError: the database fails.
    """
    index = vector_index(rows, embedder, store_client(settings, embedder))
    total = 0
    with progress_bar() as bar:
        task = bar.add_task("Embedding", total=None)
        while done := await index.embed_pending(timeout=settings.timeouts.embedding):
            total += done
            bar.advance(task, done)
        bar.update(task, total=total)
    return total


class Import:
    """One import with its bars: one for the lines of the file, one for what is embedded."""

    def __init__(self, rows: UserRows, settings: Settings, file: Path, checked: Checked, bar: Progress) -> None:
        self._rows = rows
        self._settings = settings
        self._file = file
        self._checked = checked
        self._bar = bar
        self._reading = bar.add_task("Reading", total=sum(checked.header.counts.model_dump().values()))
        self._embedding: TaskID | None = None
        self._pending = 0

    async def without_vectors(self) -> Counts:
        """Store the rows only. Errors as for `import_rows`."""
        return await import_rows(self._rows, self._file, self._checked, added=self._added)

    async def with_vectors(self, embedder: Embedder) -> Counts:
        """Store the rows, and embed them at the same time: the model never waits for the database.

        Raises:
            EmbeddingError: the model fails; all rows were stored all the same.
        """
        bulk = BulkEmbedding(
            self._rows,
            embedder,
            which="pending",
            timeout=self._settings.timeouts.embedding,
            advance=self._embedded,
        )
        self._pending = await bulk.count()
        self._embedding = self._bar.add_task("Embedding", total=self._pending)
        arrived = asyncio.Event()
        embedding = asyncio.create_task(bulk.run(arrived))
        try:
            new = await self.without_vectors()
        except BaseException:
            embedding.cancel()
            await asyncio.wait([embedding])
            raise
        arrived.set()
        await embedding
        return new

    def _added(self, added: Added) -> None:
        self._bar.advance(self._reading, added.lines)
        self._pending += added.pending
        if self._embedding is not None:
            self._bar.update(self._embedding, total=self._pending)

    def _embedded(self, count: int) -> None:
        if self._embedding is not None:
            self._bar.advance(self._embedding, count)


def progress_bar() -> Progress:
    """A bar that shows how many of how many, and how long it will still take."""
    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


def _say(text: str) -> None:
    Console(highlight=False, markup=False, soft_wrap=True).print(text)
