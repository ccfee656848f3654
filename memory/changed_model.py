"""`changed_model`: whether a user has vectors of another embedding model than the current one."""

from __future__ import annotations

from typing import NamedTuple

from ..models.embeddings import Embedder
from ..state.errors import EmbeddingError
from ..storage.user_rows import UserRows


class ChangedModel(NamedTuple):
    """Vectors of another model than the current one were found; dimensions are None where the model did not load."""

    old: str
    old_dimensions: int
    new: str
    new_dimensions: int | None

    def __str__(self) -> str:
        new = f"{self.new_dimensions} dimensions" if self.new_dimensions else "unknown dimensions"
        return (
            f"The embedding model has changed from {self.old!r} ({self.old_dimensions} dimensions) to {self.new!r} "
            f"({new}): what was embedded before is found by meaning again after `everthread reindex`."
        )


async def changed_model(
    rows: UserRows, embedder: Embedder, *, timeout: float, wait: bool = True
) -> ChangedModel | None:
    """Whether the user has vectors of another model than the current one.

    Args:
        rows: the user's.
        embedder: the current model; it is loaded only where its dimensions have to be known.
        timeout: seconds for the model, loading included.
        wait: whether to load the model to see if one of the same name makes vectors of another size now.

    Raises:
        StorageError: the database fails.
    """
    stored = await rows.fetch("vectors.stored", model=embedder.name)
    others = [row for row in stored if row["model"] != embedder.name]
    if not others and not (wait and stored):
        return None
    dimensions = await _dimensions(embedder, timeout)
    for row in others or stored:
        if row["model"] != embedder.name or dimensions not in {None, row["dimensions"]}:
            return ChangedModel(row["model"], row["dimensions"], embedder.name, dimensions)
    return None


async def _dimensions(embedder: Embedder, timeout: float) -> int | None:
    try:
        return len(await embedder.query("dimensions", timeout=timeout))
    except EmbeddingError:
        return None
