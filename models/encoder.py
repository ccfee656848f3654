"""`Encoder`: what the embedding models that run on ONNX Runtime have in common."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings

if TYPE_CHECKING:
    from onnxruntime import SessionOptions

_BATCH: Final = 32
_MAX_THREADS: Final = 8

Vectors = npt.NDArray[np.float32]


def session_options() -> SessionOptions:
    """How the graphs of this folder are run: in fused operators already, by threads that sleep while they wait."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = _threads()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


class Encoder(Embeddings):
    """Texts as the mean of the vectors of their tokens, at unit length. Calls may run in any thread.

    Args:
        graph: the ONNX graph: one vector a token out.
        options: with its weights.
    """

    def __init__(self, graph: bytes, options: SessionOptions) -> None:
        import onnxruntime

        self._session: Any = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def embed_query(self, text: str) -> list[float]:
        """The vector of one text."""
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts, in their order."""
        return self._embed(self._tokens(texts))

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        raise NotImplementedError

    def _inputs(self, tokens: npt.NDArray[np.int32]) -> Mapping[str, Any]:
        """What the graph takes beside the mask: texts by tokens."""
        return {"tokens": tokens}

    def _embed(self, tokens: Sequence[list[int]]) -> list[list[float]]:
        vectors: list[list[float]] = [[] for _ in tokens]
        by_length = sorted(range(len(tokens)), key=lambda index: len(tokens[index]))
        for start in range(0, len(tokens), _BATCH):
            batch = by_length[start : start + _BATCH]
            made = self._vectors([tokens[index] for index in batch])
            for index, vector in zip(batch, made.tolist(), strict=True):
                vectors[index] = vector
        return vectors

    def _vectors(self, texts: list[list[int]]) -> Vectors:
        """Texts by dimensions: the mean of the vectors of a text's tokens, at unit length."""
        shape = len(texts), max(map(len, texts))
        tokens, mask = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        for row, ids in enumerate(texts):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        (hidden,) = self._session.run(None, {**self._inputs(tokens), "mask": mask})
        return unit((hidden * mask[:, :, None]).sum(axis=1, dtype=np.float32))


def unit(vectors: Vectors) -> Vectors:
    """The same at unit length, in place."""
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _threads() -> int:
    """Threads for one call: OMP_NUM_THREADS where it is set, else a thread a core, up to 8."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdecimal() and int(given):
        return int(given)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MAX_THREADS)
