"""`LanguageTable`: how likely each language is by the byte sequences of a text, a naive Bayes classifier.

The table `data/languages.npz` is that of the package py3langid 0.4 (`data/languages.LICENSE.txt`) without what only
languages of other scripts need, and with a byte a number; `bench/language_table.py` writes it.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt

LONGEST: Final = 5
"""Bytes of a sequence, at most."""

STEP: Final = 1 / 16
"""What a unit of the table is worth, in natural logarithms."""


class LanguageTable:
    """What each sequence of bytes says of the languages that are written in the scripts of several languages.

    Args:
        codes: the language of each column; one that is written in two scripts has two.
        sequences: of bytes.
        costs: of each sequence, by column: how much less likely than in the language that has it most, in `STEP`.
        before: by column, before anything is read: natural logarithms.
    """

    def __init__(
        self, codes: list[str], sequences: list[bytes], costs: npt.NDArray[np.uint8], before: npt.NDArray[np.float32]
    ) -> None:
        self._codes = codes
        self._rows = dict(zip(sequences, range(len(sequences)), strict=True))
        self._costs = costs
        self._before = before

    @classmethod
    @cache
    def read(cls) -> Self:
        """That of `data/languages.npz` (a blocking read of 0.05 s)."""
        with np.load(Path(__file__).with_name("data") / "languages.npz") as file:
            return cls(file["codes"].tolist(), file["sequences"].tolist(), file["costs"], file["before"])

    def likelihoods(self, text: str) -> Mapping[str, float]:
        """The probability of each language: all of them together have 1."""
        read = unicodedata.normalize("NFC", text.lower() if text.isupper() else text).encode("utf-8", "surrogatepass")
        scores = self._before.astype(np.float64)
        if rows := Counter(self._longest(read)):
            counts = np.fromiter(rows.values(), np.float64, len(rows))
            scores = scores - STEP * (np.log1p(counts) @ self._costs[list(rows)])
        else:
            scores[:] = 0
        weights = np.exp((scores - scores.max()) / math.sqrt(len(read) or 1))  # or a long text is all but certain
        found = dict.fromkeys(self._codes, 0.0)
        for code, weight in zip(self._codes, (weights / weights.sum()).tolist(), strict=True):
            found[code] += weight
        return found

    def _longest(self, read: bytes) -> list[int]:
        """The row of the longest known sequence that ends at each byte."""
        rows, known, length = list[int](), self._rows, 0
        for end in range(1, len(read) + 1):
            length = min(length + 1, LONGEST)
            while length and read[end - length : end] not in known:
                length -= 1
            if length:
                rows.append(known[read[end - length : end]])
        return rows
