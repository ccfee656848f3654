"""`BulkEmbedding`: many messages and summaries are embedded as fast as the model goes.

While the model works on one part, the part before it is written and the next ones are read. Texts of like length go
through the model together, because a batch costs as much as its longest text.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from ..models.embeddings import BATCH, Embedder
from ..state.errors import EmbeddingError
from ..storage.user_rows import UserRows
from ..storage.values import Row
from ..storage.vector_rows import chunks, write_vectors

logger = logging.getLogger(__name__)

WINDOW: Final = 2048
"""Messages that are read at once, and among which texts of like length are sought."""

PART: Final = 128
"""Texts, about, that are written at once: what a killed process has to do again."""

_POLL_SECONDS: Final = 0.05

Which = Literal["pending", "stale"]
"""pending: what has no vector. stale: that, and what has only vectors of another model."""

_COUNTS: Final[dict[Which, str]] = {"pending": "embedding.count_pending", "stale": "embedding.count_stale"}
_OF_MESSAGES: Final[dict[Which, str]] = {"pending": "embedding.pending_messages", "stale": "embedding.stale_messages"}
_OF_SUMMARIES: Final[dict[Which, str]] = {
    "pending": "embedding.pending_summaries",
    "stale": "embedding.stale_summaries",
}

_Part = list[tuple[Row, list[str]]]
"""Rows with their chunks."""

_ANY_TEXT: Final = "The weather is fine."
"""What no model refuses."""


class _Source(NamedTuple):
    """A table: the query for its next rows, and the position before its first row."""

    query: str
    start: int | str


class _Window(NamedTuple):
    """Rows read at once, in parts that are embedded and written one by one: each row with its chunks."""

    parts: list[_Part]
    end: tuple[str, Any]


class BulkEmbedding:
    """Embeds everything of a user that is to be embedded.

    A text that the model refuses does not keep others from being embedded: it is left out, and found by its words.

    Args:
        rows: the user's.
        embedder: the model.
        which: what is to be embedded.
        timeout: seconds the model may take for a batch of 32 texts.
        advance: called with the number of messages and summaries embedded and stored since the last call.
    """

    def __init__(
        self,
        rows: UserRows,
        embedder: Embedder,
        *,
        which: Which,
        timeout: float,
        advance: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._rows = rows
        self._embedder = embedder
        self._which = which
        self._timeout = timeout
        self._advance = advance
        self._storing: asyncio.Task[None] | None = None
        self._refused: list[str] = []

    async def count(self) -> int:
        """How many messages and summaries are to be embedded.

        Raises:
            StorageError: the database fails.
        """
        return int((await self._rows.fetch(_COUNTS[self._which], model=self._embedder.name))[0]["n"])

    async def run(self, arrived: asyncio.Event | None = None) -> int:
        """Embed until nothing is left; returns how many messages and summaries were done.

        What was embedded stays, whatever happens: a run that was killed goes on where it was.

        Args:
            arrived: is set when no more rows will be added. Until then they are waited for.

        Raises:
            EmbeddingError: the model fails or is too slow.
            StorageError: the database fails.
        """
        total = 0
        while done := await self._run_once(arrived):
            total += done
        if self._refused:
            logger.warning("%d messages cannot be embedded: they are found by their words only.", len(self._refused))
        return total

    async def _run_once(self, arrived: asyncio.Event | None) -> int:
        sources = [_Source(_OF_MESSAGES[self._which], 0), _Source(_OF_SUMMARIES[self._which], "")]
        try:
            return sum([await self._embed_table(source, arrived) for source in sources])
        finally:
            await self._stored()

    async def _embed_table(self, source: _Source, arrived: asyncio.Event | None) -> int:
        done = 0
        window = await self._read(source, ("", source.start), arrived)
        while window.parts:
            following = asyncio.create_task(self._read(source, window.end, arrived))
            try:
                for part in window.parts:
                    embedded, vectors = await self._embed_part(part)
                    await self._stored()
                    self._storing = asyncio.create_task(self._store(embedded, vectors))
                    done += len(embedded)
                window = await following
            finally:
                following.cancel()
        return done

    async def _stored(self) -> None:
        """Wait until the part that was embedded last is written."""
        storing, self._storing = self._storing, None
        if storing is not None:
            await storing

    async def _store(self, part: Sequence[tuple[Row, list[str]]], vectors: Sequence[Sequence[float]]) -> None:
        rows, texts = [row for row, _ in part], [texts for _, texts in part]
        await write_vectors(self._rows, self._embedder.name, rows, texts, vectors)
        self._advance(len(part))

    async def _read(self, source: _Source, after: tuple[str, Any], arrived: asyncio.Event | None) -> _Window:
        """The next window after a position; a full one while there may be more rows to come."""
        while True:
            complete = arrived is None or arrived.is_set()
            rows = await self._rows.fetch(
                source.query,
                thread_id=after[0],
                ordinal=after[1],
                limit=WINDOW,
                model=self._embedder.name,
                refused=self._refused,
            )
            if complete or len(rows) == WINDOW:
                end = (rows[-1]["thread_id"], rows[-1]["ordinal"]) if rows else after
                return _Window(await asyncio.to_thread(_parts, rows), end)
            await asyncio.sleep(_POLL_SECONDS)

    async def _embed_part(self, part: _Part) -> tuple[_Part, list[list[float]]]:
        """What of a part could be embedded, and its vectors.

        Raises:
            EmbeddingError: the model fails whatever it is given.
        """
        try:
            return part, await self._embed([text for _, texts in part for text in texts])
        except EmbeddingError:
            embedded: _Part = []
            vectors: list[list[float]] = []
            for row, texts in part:
                try:
                    vectors += await self._embed(texts)
                    embedded.append((row, texts))
                except EmbeddingError as error:
                    await self._refuse(row, error)
            return embedded, vectors

    async def _refuse(self, row: Row, error: EmbeddingError) -> None:
        """Leave a message out, if it is its text that the model refuses: then the model embeds another one."""
        try:
            await self._embedder.documents([_ANY_TEXT], timeout=self._timeout, cached=False)
        except EmbeddingError:
            raise error from None
        self._refused.append(f"{row['thread_id']}/{row['id']}")

    async def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        found: list[list[float]] = [[]] * len(texts)
        for start in range(0, len(order), BATCH):
            indices = order[start : start + BATCH]
            wanted = [texts[index] for index in indices]
            vectors = await self._embedder.documents(wanted, timeout=self._timeout, cached=False)
            for index, vector in zip(indices, vectors, strict=True):
                found[index] = vector
        return found


def _parts(rows: Sequence[Row]) -> list[_Part]:
    return list(_split(sorted(((row, chunks(row)) for row in rows), key=_size)))


def _split(rows: Sequence[tuple[Row, list[str]]]) -> Iterator[_Part]:
    part: _Part = []
    texts = 0
    for row in rows:
        part.append(row)
        texts += len(row[1])
        if texts >= PART or len(part) >= 4 * PART:
            yield part
            part, texts = [], 0
    if part:
        yield part


def _size(row: tuple[Row, list[str]]) -> tuple[int, int]:
    return len(row[1]), len(row[0]["text"])
