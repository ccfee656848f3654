"""`Embedder`: the embedding model, loaded in the background and called off the event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np
from langchain_core.embeddings import Embeddings

from ..state.errors import EmbeddingError, first_line
from ..state.observer import Observer
from .bundled_weights import BUNDLED_MODEL, MULTILINGUAL
from .embedding_cache import EmbeddingCache
from .embedding_models import load_embeddings
from .similarity import ANSWERS, OF_LANGUAGES, QUESTIONS, USUAL, scale_of
from .worker import Worker

logger = logging.getLogger(__name__)

T = TypeVar("T")

_KNOWN: Final = {BUNDLED_MODEL: USUAL, MULTILINGUAL.model: OF_LANGUAGES}
"""Models whose scale need not be measured."""

_VECTORS: Final = {MULTILINGUAL.model: f"{MULTILINGUAL.model} (2)"}
"""The name beside the vectors of a model that an earlier version made otherwise, so that the two never mix."""

_CHOOSE: Final = "Choose another EVERTHREAD_EMBEDDING_MODEL."

BATCH: Final = 32
"""Texts in one call of the model."""

SLOW_SECONDS: Final = 1.0
"""A call that takes longer is one of fewer texts the next time: for so long a question may wait."""

CACHE_BYTES: Final = 16_000_000
"""Bytes of vectors that are kept: about 9,000 of 384 dimensions."""


class Embedder:
    """An embedding model by name, or one that is given.

    The model is loaded once, in a thread of its own, when `load` or the first text asks for it: a large one takes
    seconds. All calls run in that thread, one after the other, questions first. While it hangs in a call that took too
    long, other calls fail at once, so that one slow provider does not delay every turn.

    Args:
        name: a Hugging Face name or folder, 'provider:name', or 'package.module:factory'.
        model: a LangChain `Embeddings` to use instead of loading one.
        cache_bytes: bytes of vectors that are kept for texts that come again, at most.

    Attributes:
        name: what identifies the vectors.
        scale: of the cosines of its vectors: see `models.similarity`.
        failure: why it could not be loaded the last time; None where it could, or was not yet.
    """

    def __init__(self, name: str, model: Embeddings | None = None, *, cache_bytes: int = CACHE_BYTES) -> None:
        self.name = _VECTORS.get(name, name)
        self._model_name = name
        self._model = model
        self._worker = Worker("everthread-embeddings")
        self._cache = EmbeddingCache(self.name, cache_bytes)
        self._asked: dict[tuple[str, str], Future[list[float]]] = {}
        self._asking = threading.Lock()
        self._late: Future[Any] | None = None
        self._loaded = threading.Event()
        self._batch = BATCH
        self.failure: str | None = None
        self.scale = _KNOWN.get(name, USUAL)
        self.observer = Observer()
        if model is not None:
            self._loaded.set()

    @property
    def ready(self) -> bool:
        """Whether the model is loaded."""
        return self._loaded.is_set()

    def load(self) -> None:
        """Begin to load the model in the background, and return at once; `scale` is its own a moment later."""
        self._worker.submit(self._quiet_load)

    async def query(self, text: str, *, timeout: float, user_id: str = "", cached: bool = True) -> list[float]:
        """The vector of a question. Who asks for one that is being made waits for the same call.

        Args:
            text: any text.
            timeout: seconds, loading included.
            user_id: who asks: how long it takes tells nobody what others have asked or said.
            cached: whether it is looked up and kept.

        Raises:
            EmbeddingError: the model cannot be loaded, fails, is too slow, or returns no numbers.
        """
        known = self._cache.get("query", text, user_id) if cached else None
        self.observer.looked_up("query embeddings", found=known is not None)
        if known is not None:
            return known
        self._refuse_while_late()
        alone = partial(self._ask, text)
        future = self._asking_for(text, user_id) if cached else self._worker.submit(alone, is_urgent=True)
        with self.observer.embedding("query", 1):
            return await self._result(future, timeout)

    def forget(self) -> None:
        """Drop the vectors that were made before: a text of one of them may be forgotten."""
        self._cache.clear()

    def expect(self, text: str, user_id: str = "") -> None:
        """Begin to embed a question for which `query` will be called soon."""
        if self._cache.max_bytes and not self._is_late() and self._cache.get("query", text, user_id) is None:
            self._asking_for(text, user_id)

    async def documents(
        self, texts: Sequence[str], *, timeout: float, user_id: str = "", cached: bool = True
    ) -> list[list[float]]:
        """The vectors of texts, in their order.

        Args:
            texts: any texts.
            timeout: seconds for each batch of 32 that is not cached.
            user_id: whose texts.
            cached: whether they are looked up and kept; of no use for many that come once.

        Raises:
            EmbeddingError: as for `query`, or not one vector a text.
        """
        known = {text: self._cache.get("document", text, user_id) if cached else None for text in texts}
        wanted = [text for text, vector in known.items() if vector is None]
        while wanted:
            # One call a batch, so that a question need not wait for all of them.
            batch, wanted = wanted[: self._batch], wanted[self._batch :]
            self._refuse_while_late()
            call = self._worker.submit(partial(self._embed, batch))
            try:
                with self.observer.embedding("documents", len(batch)):
                    vectors = await self._result(call, timeout)
            finally:
                call.cancel()
            for text, made in zip(batch, self._checked(vectors, len(batch)), strict=True):
                known[text] = made
                if cached:
                    self._cache.put("document", text, made, user_id)
        return [vector for text in texts if (vector := known[text]) is not None]

    def _asking_for(self, text: str, user_id: str) -> Future[list[float]]:
        """The call for a question: the one that is under way, or a new one."""
        with self._asking:
            future = self._asked.get((user_id, text))
            if future is None:
                ask = partial(self._ask_once, text, user_id)
                future = self._asked[user_id, text] = self._worker.submit(ask, is_urgent=True)
        return future

    def _ask_once(self, text: str, user_id: str) -> list[float]:
        try:
            vector = self._ask(text)
            # Before the call is forgotten, so that who comes next finds the one or the other.
            self._cache.put("query", text, vector, user_id)
            return vector
        finally:
            self._asked.pop((user_id, text), None)

    def _ask(self, text: str) -> list[float]:
        # In single precision, as the cache gives it to whoever asks next.
        (vector,) = self._checked([self._get().embed_query(text)], 1)
        return vector

    def _embed(self, texts: list[str]) -> list[list[float]]:
        model, started = self._get(), time.monotonic()
        vectors = model.embed_documents(texts)
        is_slow = time.monotonic() - started > SLOW_SECONDS
        self._batch = min(max(self._batch // 2 if is_slow else self._batch * 2, 1), BATCH)
        return vectors

    async def _result(self, future: Future[T], timeout: float) -> T:
        waiting = asyncio.wrap_future(future)
        waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            # Others may wait for the same call: who gives up does not take it from them.
            return await asyncio.wait_for(asyncio.shield(waiting), timeout)
        except TimeoutError:
            self._late = self._worker.running
            raise EmbeddingError(
                f"The embedding model {self.name!r} took longer than {timeout:g} s: memory is not searched by meaning "
                "until it answers. Set EVERTHREAD_TIMEOUTS=embedding=120, or choose a faster model."
            ) from None
        except EmbeddingError:
            raise
        except Exception as error:
            raise EmbeddingError(f"The embedding model {self.name!r} failed: {first_line(error)}.") from error

    def _is_late(self) -> bool:
        return self._late is not None and not self._late.done()

    def _refuse_while_late(self) -> None:
        if self._is_late():
            raise EmbeddingError(
                f"The embedding model {self.name!r} has not answered an earlier call yet: memory is not searched by "
                "meaning until it does. Check the model's server, or choose a faster model."
            )

    def _checked(self, vectors: Any, number: int) -> list[list[float]]:
        """What a model returned, as one vector of finite numbers in single precision for each text.

        Raises:
            EmbeddingError: it is something else.
        """
        returned = f"The embedding model {self.name!r} returned"
        try:
            with np.errstate(over="ignore"):
                found = [np.asarray(vector, dtype=np.float32) for vector in vectors]
        except (TypeError, ValueError, OverflowError):
            told = f"{returned} something else than vectors: expected a list of numbers for each text. {_CHOOSE}"
            raise EmbeddingError(told) from None
        if len(found) != number:
            raise EmbeddingError(f"{returned} {len(found)} vectors for {number} texts: expected one each. {_CHOOSE}")
        if not all(vector.ndim == 1 and vector.size and np.isfinite(vector).all() for vector in found):
            raise EmbeddingError(
                f"{returned} a vector that is empty or holds NaN or Infinity: expected finite numbers in single "
                f"precision. {_CHOOSE}"
            )
        return [vector.tolist() for vector in found]

    def _get(self) -> Embeddings:
        if self._model is None:
            try:
                self._model = load_embeddings(self._model_name)
            except EmbeddingError as error:
                self.failure = str(error)
                raise
            self.failure = None
            self._loaded.set()
        return self._model

    def _quiet_load(self) -> None:
        try:
            model = self._get()
        except EmbeddingError as error:
            logger.warning("%s", error)
            return
        if self._model_name not in _KNOWN:
            try:
                questions = [model.embed_query(question) for question in QUESTIONS]
                self.scale = scale_of(questions, model.embed_documents(list(ANSWERS)))
            except Exception as error:  # whatever a provider raises; the first real text will tell the user
                logger.warning("The scale of the embedding model %r is not known: %s", self.name, type(error).__name__)
