"""`User`: what is kept of one user of a graph, how it is searched, and what is done for them beside their turns."""

from __future__ import annotations

from collections.abc import Iterable

from ..compression.importance import ASKED_AGAIN
from ..facts.read_archive import read_batch
from ..facts.rows import FactRows
from ..memory.recall import MemorySearch
from ..memory.recall_cache import RecallCache
from ..memory.vectors import VectorIndex
from ..storage.archive import Archive
from ..storage.branches import Branches
from ..storage.documents import Documents
from ..storage.importance import Importance
from ..storage.reports import TurnReports
from ..storage.summary_rows import SummaryRows
from ..storage.user_rows import UserRows
from .background import Background, Kind


class User:
    """One user, named once: no method of what hangs here asks for the user again.

    Args:
        rows: the user's.
        vectors: the user's vector arm.
        memories: what this process holds of the users' memories.
        background: where work goes on beside the turns.
        upkeep: who does that work in a space, whose members have rights of their own; by default this user.
    """

    def __init__(
        self,
        rows: UserRows,
        vectors: VectorIndex,
        memories: RecallCache,
        background: Background,
        upkeep: User | None = None,
    ) -> None:
        self.id = rows.user_id
        self.rows = rows
        self.archive = Archive(rows)
        self.branches = Branches(rows)
        self.summaries = SummaryRows(rows)
        self.reports = TurnReports(rows)
        self.facts = FactRows(rows)
        self.documents = Documents(rows)
        self.importance = Importance(rows)
        self.vectors = vectors
        self.search = MemorySearch(rows, memories, vectors)
        self._memories = memories
        self._background = background
        self._upkeep = upkeep or self
        self._asked_again: list[tuple[str, str]] = []

    def embed_later(self, timeout: float) -> None:
        """Embed what is pending, in the background; `timeout` is seconds a batch."""

        async def step() -> bool:
            return await self._upkeep.vectors.embed_pending(timeout=timeout) > 0

        self._background.begin("embedding", self.id, step)

    def learn_later(self, auto_pin_score: float | None, asked_again: Iterable[tuple[str, str]] = ()) -> None:
        """Read what of the user's messages was not read for facts yet, in the background.

        Args:
            auto_pin_score: see the setting.
            asked_again: thread and id of messages that the turn's prompt brought back: they gain importance.
        """
        self._asked_again += asked_again

        async def step() -> bool:
            again, self._asked_again = self._asked_again, []
            await self._upkeep.importance.move(again, step=ASKED_AGAIN)
            return (await read_batch(self._upkeep.facts, auto_pin_score))[1]

        self._background.begin("facts", self.id, step)

    async def let_go(self) -> None:
        """Drop what this process holds of the user's memory: the next recall reads it again."""
        await self._memories.drop(self.id)

    async def caught_up(self, kind: Kind) -> None:
        """Wait until a step was done that began after all that was asked for until now; not for all of a long job."""
        await self._background.caught_up(kind, self.id)
