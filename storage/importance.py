"""`Importance`: how important the messages of a user are, as the archive has it (seed `002`, "importance_score")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .user_rows import Exchange, UserRows


class Importance:
    """Numbers in [0, 1] that stand with the messages. What they mean is for those to say who read and move them.

    Args:
        rows: the user's, or those of a transaction.
    """

    def __init__(self, rows: UserRows | Exchange) -> None:
        self._rows = rows

    async def of(self, thread_id: str, ids: Iterable[str]) -> dict[str, float]:
        """By id, those of these messages of a thread that are there; a damaged number is left out."""
        rows = await self._rows.fetch("archive.importance", thread_id=thread_id, ids=list(ids))
        return {row["id"]: row["importance"] for row in rows if isinstance(row["importance"], float)}

    async def move(self, messages: Sequence[tuple[str, str]], *, step: float = 0.0, least: float = 0.0) -> None:
        """Add `step` to those of these messages, given by thread and id; they stay in [least, 1]."""
        if messages:
            threads, ids = zip(*dict.fromkeys(messages), strict=True)
            await self._rows.fetch("archive.weigh", threads=list(threads), ids=list(ids), step=step, least=least)
