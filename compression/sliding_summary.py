"""The policy of `sliding_summary`: one summary before the recent messages, made again as they grow (seed `001`)."""

from __future__ import annotations

from ..settings.summaries import ThresholdSettings
from ..state.chain import ChainView, is_summary
from ..text.tokens import count_message_tokens
from .chain import Batch, open_indices, recent_start, slice_batch, summaries_of
from .policy import Policy


class SlidingSummary(Policy):
    """First at `message_threshold` messages or `token_threshold` tokens, keeping `keep_recent`.

    It is made again, from itself and what is older than the recent messages by then, when
    `total - (covered + keep_recent)` reaches half of `message_threshold`; or, which is ours, when the messages that are
    to go into it weigh as much as would have triggered the first.
    """

    threshold_name = "message_threshold"

    def due(self, chain: ChainView, settings: ThresholdSettings) -> Batch | None:
        """All before the recent messages: the previous summary, and the messages since."""
        batch = slice_batch(chain, 0, recent_start(chain, settings.keep_recent))
        if batch is None:
            return None
        new = open_indices(chain)
        if summaries_of(chain):
            enough = 2 * (len(new) - settings.keep_recent) >= settings.message_threshold
            heavy = count_message_tokens([m for m in batch.sources if not is_summary(m)]) >= settings.token_threshold
        else:
            enough = len(new) >= settings.message_threshold
            heavy = count_message_tokens([chain[index] for index in new]) >= settings.token_threshold
        return batch if enough or heavy else None
