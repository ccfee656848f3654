"""Reindex: after the embedding model has changed, everything is embedded with the new one."""

from __future__ import annotations

from rich.console import Console

from ..maintenance.reindex import Reindex
from ..memory.changed_model import changed_model
from ..models.embeddings import Embedder
from ..storage.storage import Storage
from .opening import rows_of, say
from .transfer import into_store, progress_bar


async def reindex(storage: Storage) -> None:
    """Embed what of the user's is not embedded with the current model, with a progress bar.

    Raises:
        EmbeddingError: the model cannot be loaded, or fails; what was done stays done.
    """
    rows, settings = rows_of(storage), storage.settings
    timeout, embedder = settings.timeouts.embedding, Embedder(settings.embedding_model)
    if settings.vector_store is not None:
        done = await into_store(storage, embedder)
        say(f"{done} messages and summaries were embedded into {settings.vector_store}.")
        return
    with Console().status(f"Loading the embedding model {embedder.name} ..."):
        changed = await changed_model(rows, embedder, timeout=timeout)
    if changed:
        say(str(changed))
    with progress_bar() as bar:
        task = bar.add_task("Embedding", total=None)
        work = Reindex(rows, embedder, timeout=timeout, advance=lambda count: bar.advance(task, count))
        bar.update(task, total=await work.start())
        done = await work.run()
    say(f"{done} messages and summaries were embedded with {embedder.name}.")
