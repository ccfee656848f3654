"""`KeptVectors`: an embedding model whose vectors stay on disk, so that a set is embedded once and not at each run."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings

from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.models.embedding_models import load_embeddings


class KeptVectors(Embeddings):
    """A model by its name, loaded for the first text that is not there. The bundled one embeds all texts alike.

    Args:
        file: a SQLite database, made where it is missing.
        name: of the model.
    """

    def __init__(self, file: Path, name: str = BUNDLED_MODEL) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(file, check_same_thread=False, timeout=60)
        self._database.execute("CREATE TABLE IF NOT EXISTS vectors (hash BLOB PRIMARY KEY, numbers BLOB)")
        self._model: Embeddings | None = None
        self.model_name = name

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        if self.model_name == BUNDLED_MODEL:
            return self.embed_documents([text])[0]
        return self._made([text], "query", lambda model, missing: list(map(model.embed_query, missing)))[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts, in their order."""
        return self._made(texts, "document", lambda model, missing: model.embed_documents(missing))

    def _made(
        self, texts: list[str], kind: str, embed: Callable[[Embeddings, list[str]], list[list[float]]]
    ) -> list[list[float]]:
        prefix = "" if self.model_name == BUNDLED_MODEL else f"{self.model_name} {kind}: "
        written = [(prefix + text).encode("utf-8", "surrogatepass") for text in texts]
        hashes = [hashlib.blake2b(text, digest_size=16).digest() for text in written]
        missing = {hash_: text for hash_, text in zip(hashes, texts, strict=True) if self._kept(hash_) is None}
        if missing:
            self._model = self._model or load_embeddings(self.model_name)
            made = embed(self._model, list(missing.values()))
            rows = zip(missing, (np.asarray(vector, np.float32).tobytes() for vector in made), strict=True)
            self._database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
            self._database.commit()
        return [np.frombuffer(numbers, np.float32).tolist() for hash_ in hashes if (numbers := self._kept(hash_))]

    def _kept(self, hash_: bytes) -> bytes | None:
        row = self._database.execute("SELECT numbers FROM vectors WHERE hash = ?", (hash_,)).fetchone()
        return None if row is None else row[0]
