"""How deep a JSON file is nested, told while it is read: what parses it takes memory by the square of that."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

MOST: Final = 200
"""Lists and objects in each other, at most; exports have about ten."""

_ESCAPED: Final = re.compile(rb"\\.", re.DOTALL)
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))


class Nesting:
    """Counts the brackets outside of strings, block by block."""

    def __init__(self) -> None:
        self._deep = 0
        self._in_string = False
        self._rest = b""

    def is_too_deep(self, block: bytes) -> bool:
        """Whether a block of UTF-8, which comes after those before, goes deeper than `MOST`."""
        block = self._rest + block
        backslashes = len(block) - len(block.rstrip(b"\\"))
        self._rest = block[len(block) - backslashes % 2 :]  # what it escapes comes with the next block
        parts = _ESCAPED.sub(b"", block[: len(block) - backslashes % 2]).split(b'"')
        outside = b"".join(parts[int(self._in_string) :: 2]).translate(None, _NO_BRACKETS)
        self._in_string ^= len(parts) % 2 == 0
        if not outside:
            return False
        # Of "[" and "{" the second bit is set, 0x5B and 0x7B; of "]" and "}" it is not, 0x5D and 0x7D.
        deep = self._deep + np.cumsum(np.where(np.frombuffer(outside, np.uint8) & 2, 1, -1))
        self._deep = int(deep[-1])
        return bool(deep.max() > MOST)
