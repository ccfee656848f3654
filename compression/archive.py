"""The policy of `archive`: every N messages of the user all is archived and summarized (seed `003`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from langchain_core.messages import AnyMessage, HumanMessage

from ..settings.summaries import ThresholdSettings
from ..state.chain import ChainView, summary_of
from ..state.records import MASTER_LEVEL
from .chain import Batch, of_level, open_indices, slice_batch, summaries_of
from .policy import Policy


class ArchiveEverything(Policy):
    """Chunks of `summary_every_n` user messages; of too many summaries of one level, one of the next."""

    threshold_name = "summary_every_n"

    def due(self, chain: ChainView, settings: ThresholdSettings) -> Batch | None:
        """All messages, else the oldest summaries of a level that has too many, else of the fullest level."""
        asked = sum(isinstance(chain[index], HumanMessage) for index in open_indices(chain))
        if asked >= settings.summary_every_n:
            return self.forced(chain, settings)
        levels = Counter(summary_of(message).level for message in summaries_of(chain))
        most = settings.max_level_summaries
        full = next((level for level in sorted(levels) if level != MASTER_LEVEL and levels[level] > most), None)
        if full is None and sum(levels.values()) > settings.max_active_summaries:
            # Of equally full levels the higher one, which is the older.
            full = max(levels, key=lambda level: (levels[level], level))
        if full is None:
            return None
        same = of_level(chain, full)[: max(most, 2)]
        sources = same if len(same) > 1 else summaries_of(chain)[:2]
        return Batch(_level_above(sources), tuple(sources)) if len(sources) > 1 else None

    def forced(self, chain: ChainView, settings: ThresholdSettings) -> Batch | None:
        """All messages that are in no summary yet."""
        indices = open_indices(chain)
        return slice_batch(chain, indices[0], len(chain)) if indices else None


def _level_above(sources: Sequence[AnyMessage]) -> int:
    """The level of a summary of these; what takes in a master summary is one."""
    levels = [summary_of(message).level for message in sources]
    return MASTER_LEVEL if MASTER_LEVEL in levels else max(levels) + 1
