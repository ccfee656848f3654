"""The policy of `hybrid`: a summary every N messages, the recent ones beside it (seed `002`)."""

from __future__ import annotations

from ..settings.summaries import ThresholdSettings
from ..state.chain import ChainView, is_summary
from ..state.records import MASTER_LEVEL
from .chain import Batch, cut_after, open_indices, recent_start, slice_batch, summaries_of
from .policy import Policy


class Hybrid(Policy):
    """A summary of the first `message_threshold` messages, then of all since the last one when they are that many.

    The newest `keep_recent` stay as they were said, also where a summary has them. Of more than `max_active_summaries`
    all but the newest become one (the seed's "Multi-Level Summaries"), so that none is lost.
    """

    threshold_name = "message_threshold"

    def due(self, chain: ChainView, settings: ThresholdSettings) -> Batch | None:
        """The messages since the last summary, else the summaries that are too many."""
        indices = open_indices(chain)
        if len(indices) >= settings.message_threshold:
            stop = indices[-1] if summaries_of(chain) else indices[settings.message_threshold - 1]
            return _beside_the_recent(chain, indices[0], cut_after(chain, stop + 1), settings)
        standing = summaries_of(chain)
        if len(standing) > settings.max_active_summaries:
            return Batch(MASTER_LEVEL, tuple(standing[:-1] if len(standing) > 2 else standing))
        return None

    def forced(self, chain: ChainView, settings: ThresholdSettings) -> Batch | None:
        """All that is in no summary yet."""
        indices = open_indices(chain)
        return _beside_the_recent(chain, indices[0], len(chain), settings) if indices else None

    def recent(self, settings: ThresholdSettings) -> int:
        """The newest messages that stay."""
        return settings.keep_recent


def _beside_the_recent(chain: ChainView, start: int, stop: int, settings: ThresholdSettings) -> Batch | None:
    batch = slice_batch(chain, start, stop)
    recent = chain[recent_start(chain, settings.keep_recent) :]
    kept = frozenset(str(message.id) for message in recent if not is_summary(message))
    return batch._replace(kept_ids=kept & set(batch.source_ids)) if batch else None
