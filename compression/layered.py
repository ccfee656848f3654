"""The policy of `layered`: a short window, medium summaries of batches, one long summary (seed `004`)."""

from __future__ import annotations

from typing import Final

from langchain_core.messages import HumanMessage

from ..settings.summaries import ThresholdSettings
from ..state.chain import ChainView, summary_of
from ..text.tokens import count_message_tokens
from .chain import Batch, cut_after, open_indices, recent_start, slice_batch, summaries_of
from .policy import Policy

MEDIUM: Final = 1
"""The level of a medium summary."""

LONG: Final = 2
"""The level of the long summary; one of a higher level, from another profile, is taken in."""


_TO_THE_END: Final = 2
"""Messages by which a batch may grow, to end with an exchange: the seed's 8 to 10."""


class Layered(Policy):
    """Batches of `message_threshold` to two more messages that are older than the newest `keep_recent`.

    A batch ends with an exchange where one ends within its limits. `n_sum_sum` medium summaries, or `token_threshold`
    tokens of them, are folded into the long one.
    """

    threshold_name = "message_threshold"
    merges_duplicates = True

    def due(self, chain: ChainView, settings: ThresholdSettings) -> Batch | None:
        """A batch of messages, else the medium summaries that have gathered."""
        return _medium(chain, settings) or _long(chain, settings)


def _medium(chain: ChainView, settings: ThresholdSettings) -> Batch | None:
    recent = recent_start(chain, settings.keep_recent)
    older = [index for index in open_indices(chain) if index < recent]
    if len(older) < settings.message_threshold:
        return None
    longest = older[: settings.message_threshold + _TO_THE_END + 1][settings.message_threshold :]
    end = next((index for index in longest if isinstance(chain[index], HumanMessage)), None)
    if end is None:
        end = older[settings.message_threshold - 1] + 1
    stop = min(cut_after(chain, end), recent)
    return slice_batch(chain, older[0], stop)


def _long(chain: ChainView, settings: ThresholdSettings) -> Batch | None:
    standing = summaries_of(chain)
    medium = [message for message in standing if summary_of(message).level == MEDIUM]
    heavy = len(medium) > 1 and count_message_tokens(medium) >= settings.token_threshold
    others = len(standing) - len(medium)
    if len(medium) < settings.n_sum_sum and not heavy and others <= 1:
        return None
    if len(standing) < 2:
        return None
    return Batch(LONG, tuple(standing))
