"""`MiniLM`: the default embedding model, all-MiniLM-L6-v2, on ONNX Runtime.

`minilm.onnx` beside this file is the graph without weights (`bench/embedding_graph.py` writes it): the weights are read
from `model.safetensors` as its authors published it. Vectors equal those of sentence-transformers within 1e-6.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings

_GRAPH: Final = Path(__file__).with_name("minilm.onnx")
_MAX_TOKENS: Final = 256
"""Tokens of a text that are read, as the model's authors set it; the rest is cut off."""
_BATCH: Final = 32
_MAX_THREADS: Final = 8

Vectors = npt.NDArray[np.float32]


class MiniLM(Embeddings):
    """all-MiniLM-L6-v2: 384 dimensions, unit length, English. Loading takes about 0.2 s; calls may run in any thread.

    Args:
        folder: where `model.safetensors` and `tokenizer.json` lie.
    """

    def __init__(self, folder: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = _threads()
        # The graph is written in fused operators already.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
        # Threads that wait sleep: the processor is the turn's.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        graph = _GRAPH.read_bytes()
        self._session: Any = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.no_padding()

    def embed_query(self, text: str) -> list[float]:
        """The vector of one text."""
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts, in their order."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]
        vectors: list[list[float]] = [[] for _ in texts]
        by_length = sorted(range(len(texts)), key=lambda index: len(tokens[index]))
        for start in range(0, len(texts), _BATCH):
            batch = by_length[start : start + _BATCH]
            made = self._vectors([tokens[index] for index in batch])
            for index, vector in zip(batch, made.tolist(), strict=True):
                vectors[index] = vector
        return vectors

    def _vectors(self, texts: list[list[int]]) -> Vectors:
        """Texts by 384: the mean of the vectors of a text's tokens, at unit length."""
        shape = len(texts), max(map(len, texts))
        tokens, mask = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        for row, ids in enumerate(texts):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        (hidden,) = self._session.run(None, {"tokens": tokens, "mask": mask})
        vectors: Vectors = (hidden * mask[:, :, None]).sum(axis=1, dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


def _threads() -> int:
    """Threads for one call: OMP_NUM_THREADS where it is set, else a thread a core, up to 8."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdecimal() and int(given):
        return int(given)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MAX_THREADS)
