"""`EmbeddingCache`: vectors that were made before, by model, user, and hash of the text."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

Kind = Literal["query", "document"]

_OVERHEAD: Final = 200
"""Bytes, about, that an entry takes beside its numbers."""

_SAME: Final = 0.999
"""The cosine from which two vectors of one text count as the same: batches differ in the last digits."""


class EmbeddingCache:
    """Vectors in memory, in single precision. When they are too many, those used least recently go.

    Some models embed a question otherwise than a document. Whether this one does is learned from the first text that
    is embedded as both; where it does not, a vector made for the one serves the other. Safe to use from any thread.

    Args:
        model: the name of the model.
        max_bytes: bytes, at most; 0 keeps nothing.
    """

    def __init__(self, model: str, max_bytes: int) -> None:
        self._model = model
        self.max_bytes = max_bytes
        self._vectors = LRUCache[bytes, NDArray[np.float32]](max_bytes, getsizeof=_size)
        self._lock = threading.Lock()
        self._symmetric: bool | None = None

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return int(self._vectors.currsize)

    def get(self, kind: Kind, text: str, user_id: str = "") -> list[float] | None:
        """The vector of a user's text, or None."""
        with self._lock:
            found = self._vectors.get(self._key(kind, text, user_id))
            if found is None and self._symmetric:
                found = self._vectors.get(self._key(_other(kind), text, user_id))
        return None if found is None else _single(found)

    def put(self, kind: Kind, text: str, vector: list[float], user_id: str = "") -> None:
        """Keep the vector of a user's text."""
        value = np.asarray(vector, dtype=np.float32)
        if _size(value) > self.max_bytes:
            return
        with self._lock:
            twin = self._vectors.get(self._key(_other(kind), text, user_id)) if self._symmetric is None else None
            if twin is not None:
                self._symmetric = _cosine(value, twin) >= _SAME
            self._vectors[self._key(kind, text, user_id)] = value

    def clear(self) -> None:
        """Keep nothing of what was kept."""
        with self._lock:
            self._vectors.clear()

    def _key(self, kind: Kind, text: str, user_id: str) -> bytes:
        whole = "\x1f".join((self._model, str(len(user_id)), user_id, kind, text)).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(whole, digest_size=16).digest()


def _single(vector: Sequence[float] | NDArray[np.float32]) -> list[float]:
    """The numbers of a vector in single precision, as pgvector and the cache keep them."""
    return [float(number) for number in np.asarray(vector, dtype=np.float32)]


def _size(vector: NDArray[np.float32]) -> int:
    return vector.nbytes + _OVERHEAD


def _other(kind: Kind) -> Kind:
    return "document" if kind == "query" else "query"


def _cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / length if one.shape == other.shape and length > 0 else 0.0
