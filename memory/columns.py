"""`Column`: a numpy array that grows."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

S = TypeVar("S", bound=np.generic)


class Column(Generic[S]):
    """Values of one type, added at the end in constant time each, on average.

    Args:
        dtype: what the values are.
        width: how many numbers each value has; None for a plain one.
    """

    def __init__(self, dtype: DTypeLike, width: int | None = None) -> None:
        self._room: NDArray[S] = np.zeros((0,) if width is None else (0, width), dtype)
        self._length = 0

    @property
    def values(self) -> NDArray[S]:
        """The values; writing to them changes the column."""
        return self._room[: self._length]

    @property
    def nbytes(self) -> int:
        """Bytes that the column takes, with the room to grow."""
        return int(self._room.nbytes)

    def extend(self, values: Any) -> None:
        """Add values at the end."""
        new = np.asarray(values, dtype=self._room.dtype)
        length = self._length + len(new)
        if length > len(self._room):
            room = np.zeros((max(length, len(self._room) * 3 // 2), *self._room.shape[1:]), self._room.dtype)
            room[: self._length] = self.values
            self._room = room
        self._room[self._length : length] = new
        self._length = length
