"""`MiniLM`: the default embedding model, all-MiniLM-L6-v2, on ONNX Runtime.

`minilm.onnx` beside this file is the graph without weights (`bench/embedding_graph.py` writes it): the weights are read
from `model.safetensors` as its authors published it. Vectors equal those of sentence-transformers within 1e-6.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from .encoder import Encoder, session_options

_GRAPH: Final = Path(__file__).with_name("minilm.onnx")
_MAX_TOKENS: Final = 256
"""Tokens of a text that are read, as the model's authors set it; the rest is cut off."""


class MiniLM(Encoder):
    """all-MiniLM-L6-v2: 384 dimensions, unit length, English. Loading takes about 0.2 s.

    Args:
        folder: where `model.safetensors` and `tokenizer.json` lie.
    """

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        options = session_options()
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
        super().__init__(_GRAPH.read_bytes(), options)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.no_padding()

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
