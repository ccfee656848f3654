"""Reindex: after the embedding model has changed, everything is embedded with the new one."""

from __future__ import annotations

import asyncio
from typing import Any

from rich.console import Console

from ..maintenance.reindex import Reindex
from ..memory.changed_model import changed_model
from ..models.embeddings import Embedder
from ..settings.settings import Settings
from ..storage.open import storage_of
from ..storage.user_rows import UserRows
from .transfer import into_store, progress_bar


def run_reindex(values: dict[str, Any]) -> None:
    """Embed what of the user's is not embedded with the current model, with a progress bar.

    Raises:
        EmbeddingError: the model cannot be loaded, or fails; what was done stays done.
        StorageError: the database cannot be started or reached.
    """
    asyncio.run(_reindex(Settings(**values)))


async def _reindex(settings: Settings) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    timeout = settings.timeouts.embedding
    database, embedder = storage_of(settings), Embedder(settings.embedding_model)
    try:
        rows = UserRows(database, settings.user_id)
        if settings.vector_store is not None:
            done = await into_store(rows, embedder, settings)
            console.print(f"{done} messages and summaries were embedded into {settings.vector_store}.")
            return
        with console.status(f"Loading the embedding model {embedder.name} ..."):
            changed = await changed_model(rows, embedder, timeout=timeout)
        if changed:
            console.print(str(changed))
        with progress_bar() as bar:
            task = bar.add_task("Embedding", total=None)
            work = Reindex(rows, embedder, timeout=timeout, advance=lambda count: bar.advance(task, count))
            bar.update(task, total=await work.start())
            done = await work.run()
    finally:
        await database.close()
    console.print(f"{done} messages and summaries were embedded with {embedder.name}.")
