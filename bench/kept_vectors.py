"""`KeptVectors`: an embedding model whose vectors stay on disk, so that a set is embedded once and not at each run."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings

from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.models.embedding_models import load_embeddings


class KeptVectors(Embeddings):
    """The bundled model, which embeds a question as a document; it is loaded for the first text that is not there.

    Args:
        file: a SQLite database, made where it is missing.
    """

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(file, check_same_thread=False, timeout=60)
        self._database.execute("CREATE TABLE IF NOT EXISTS vectors (hash BLOB PRIMARY KEY, numbers BLOB)")
        self._model: Embeddings | None = None
        self.model_name = BUNDLED_MODEL

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts, in their order."""
        hashes = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        missing = {hash_: text for hash_, text in zip(hashes, texts, strict=True) if self._kept(hash_) is None}
        if missing:
            self._model = self._model or load_embeddings(BUNDLED_MODEL)
            made = self._model.embed_documents(list(missing.values()))
            rows = zip(missing, (np.asarray(vector, np.float32).tobytes() for vector in made), strict=True)
            self._database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
            self._database.commit()
        return [np.frombuffer(numbers, np.float32).tolist() for hash_ in hashes if (numbers := self._kept(hash_))]

    def _kept(self, hash_: bytes) -> bytes | None:
        row = self._database.execute("SELECT numbers FROM vectors WHERE hash = ?", (hash_,)).fetchone()
        return None if row is None else row[0]
