"""`Policy`: what a profile decides about compression. Pure functions of chain and settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from ..settings.summaries import ThresholdSettings
from ..state.chain import ChainView
from .chain import Batch, recent_start, slice_batch


class Policy(ABC):
    """When a profile compresses, and which part of the chain.

    The chain that it is given is live and closed: without commands, without what a summary stands for already, and
    without a question that is still to be answered. Each batch makes the chain shorter, so that asking again ends.
    """

    threshold_name: ClassVar[str]
    """The setting that `/summary` asks the user for."""

    merges_duplicates: ClassVar[bool] = False
    """Whether a summary that says the same as one that stands already becomes one with it."""

    @abstractmethod
    def due(self, chain: ChainView, settings: ThresholdSettings) -> Batch | None:
        """What is to be summarized next, or None."""

    def forced(self, chain: ChainView, settings: ThresholdSettings) -> Batch | None:
        """What is summarized when the user asks for it now: all before the recent messages, else all there is."""
        older = slice_batch(chain, 0, recent_start(chain, settings.keep_recent))
        return older or slice_batch(chain, 0, len(chain))

    def recent(self, settings: ThresholdSettings) -> int:
        """How many of the newest messages stay in the chain although a summary covers them."""
        return 0
