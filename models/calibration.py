"""Calibration, learned from what providers say: how far their count of a prompt is above ours, and a model's window."""

from __future__ import annotations

from collections import deque
from typing import Final

from cachetools import LRUCache

_REMEMBERED: Final = 8
_MODELS: Final = 64
_SMALLEST: Final = 200
"""Tokens of a prompt below which what the provider adds around it says nothing about its text."""

_HIGHEST: Final = 2.0
_IMPLAUSIBLE: Final = 4.0
"""More than this is no count of the same prompt, but that of several calls together."""


class Calibration:
    """A factor for each model, in [1, 2], by which our counts are raised.

    It is the largest of the last eight ratios of reported to counted tokens. It never goes below 1: a prompt that is
    too small costs little, one that is too large fails the turn.
    """

    def __init__(self) -> None:
        self._ratios = LRUCache[str, deque[float]](_MODELS)
        self._windows = LRUCache[str, int](_MODELS)

    def observe(self, model: str, *, counted: float, reported: int | None) -> None:
        """Learn from a reply.

        Args:
            model: the model's name.
            counted: our count of the prompt, before the factor; small prompts teach nothing.
            reported: the provider's count of the same prompt; None where it reports none.
        """
        if not reported or counted < _SMALLEST or reported > _IMPLAUSIBLE * counted:
            return
        self._ratios.setdefault(model, deque(maxlen=_REMEMBERED)).append(reported / counted)

    def factor(self, model: str) -> float:
        """By what the counts for this model are multiplied; 1 for a model that never answered."""
        return min(_HIGHEST, max(1.0, *self._ratios.get(model, (1.0,))))

    def learn_window(self, model: str, tokens: int) -> None:
        """Remember the tokens that a provider said its model takes, in refusing a prompt that had more."""
        self._windows[model] = min(tokens, self._windows.get(model, tokens))

    def window(self, model: str) -> int | None:
        """Tokens that the model takes, prompt and reply together; None where its provider never said so."""
        return self._windows.get(model)
