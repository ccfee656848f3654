"""An embedding model without a model: texts that share words are alike, and nothing is loaded."""

from __future__ import annotations

import re
import time
import unicodedata
import zlib
from functools import lru_cache

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

SIZE = 384
"""As many numbers as the default model's vectors have."""

WITHOUT_SPACES = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class WordEmbeddings(Embeddings):
    """Each word (of Chinese, Japanese and Korean each letter) is a direction; a text is the mean of its words."""

    model_name = "fakes.embeddings:WORDS"

    def embed_query(self, text: str) -> list[float]:
        return vector(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [vector(text) for text in texts]


class SlowEmbeddings(WordEmbeddings):
    """The same, slow enough to be stopped in the middle."""

    model_name = "fakes.embeddings:SLOW"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        time.sleep(0.02 * len(texts))
        return super().embed_documents(texts)


def vector(text: str) -> list[float]:
    """The direction of a text, of length 1."""
    total = np.sum([direction(word) for word in words(text) or [text]], axis=0)
    return list(map(float, total / np.linalg.norm(total)))


@lru_cache(maxsize=10_000)
def direction(word: str) -> NDArray[np.float64]:
    """The direction of a word: always the same, and across those of other words."""
    return np.random.default_rng(zlib.crc32(word.encode("utf-8", "replace"))).standard_normal(SIZE)


def words(text: str) -> list[str]:
    """The words of a text without their endings, as far as five letters tell them apart."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return [word[:5] for word in re.findall(r"\w+", WITHOUT_SPACES.sub(r" \g<0> ", plain))]


WORDS = WordEmbeddings()
"""What `EVERTHREAD_EMBEDDING_MODEL=fakes.embeddings:WORDS` names."""

SLOW = SlowEmbeddings()
