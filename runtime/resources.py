"""`Resources`: what the nodes share between turns: database, archive, vectors, embedding model, chat models."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, Final

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.vectorstores import VectorStore
from langgraph.runtime import Runtime

from ..memory.changed_model import ChangedModel, changed_model
from ..memory.recall_cache import RecallCache
from ..memory.store_index import store_client, vector_index
from ..models.answering import Candidate
from ..models.bundled_weights import BUNDLED_MODEL, is_bundled
from ..models.calibration import Calibration
from ..models.chat import aload, check_models, is_capable, model_name
from ..models.embeddings import Embedder
from ..models.locality import is_local_model, is_local_name
from ..models.offline import OfflineChatModel
from ..search.engines import SearchEngine
from ..settings.profiles import PROFILES
from ..settings.run_context import RunContext
from ..settings.settings import Settings
from ..state.errors import EverthreadError, ModelError, SettingsError
from ..state.observer import Observer
from ..storage.loop_thread import io_thread
from ..storage.open import storage_of
from ..storage.storage import Storage
from ..storage.user_rows import UserRows
from .background import Background
from .responder import Responder
from .run_settings import LayeredSettings
from .toolbox import Tool, Toolbox
from .user import User

logger = logging.getLogger(__name__)

CLOSING_SECONDS: Final = 2.0
"""That the graph waits, when it is closed, for what goes on in the background."""


USERS: Final = 1_000
"""Users of whom is remembered what was found out about their vectors: those who were here last."""

EMBEDDINGS_SHARE: Final = 32
"""The part of `recall_cache` that embeddings may take beside it: one in so many."""


class Resources:
    """What one graph shares between its turns. Nothing is opened or loaded before it is used.

    Args:
        settings: the base over which the context of each run is laid.
        model: a chat model that answers, instead of the one that the settings name.
        embeddings: an embedding model, instead of the one that the settings name.
        engines: search engines by name, beside those that everthread knows.
        vector_store: a LangChain vector store or its import path, instead of our own table.
        fallbacks: chat models that answer where the first fails, before those that the settings name.
        tools: what the model may call.
        responder: what answers instead of a model.
        database: a database that others share.

    Raises:
        SettingsError: something is no settings, model, tool or responder, or two tools have the same name.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        model: BaseChatModel | None = None,
        embeddings: Embeddings | None = None,
        engines: Mapping[str, SearchEngine] | None = None,
        vector_store: VectorStore | str | None = None,
        fallbacks: Sequence[BaseChatModel] = (),
        tools: Sequence[Tool] = (),
        responder: Runnable[Any, Any] | Callable[..., Any] | None = None,
        database: Storage | None = None,
    ) -> None:
        if not isinstance(settings, Settings):
            raise SettingsError(f"A {type(settings).__name__} is no settings: give Settings(name=value, ...).")
        check_models([*([] if model is None else [model]), *fallbacks])
        self.settings = settings
        self.database = database or storage_of(settings)
        self.embedder = Embedder(
            _embedding_name(settings, embeddings),
            embeddings,
            cache_bytes=settings.recall_cache * 1_000_000 // EMBEDDINGS_SHARE,
        )
        self.store = store_client(settings, self.embedder, vector_store)
        self._memories = RecallCache(lambda: self.embedder.name, settings.recall_cache * 1_000_000)
        self.engines = engines
        self.calibration = Calibration()
        self.observer = Observer()
        self.toolbox = Toolbox(tools)
        self.responder = Responder(responder) if responder is not None else None
        self.background = Background(self._left_undone)
        self._users = lru_cache(maxsize=USERS)(self._user)
        self._turns: dict[str, str] = {}
        self._model = model
        self._fallbacks = tuple(fallbacks)
        self._runs = LayeredSettings(settings)
        self._checking: Future[None] | None = None

    def of_user(self, user_id: str) -> User:
        """What is kept of a user, and all that is done in their name.

        Raises:
            StorageError: the user id is empty, or holds what cannot be stored.
        """
        return self._users(user_id)

    def _user(self, user_id: str) -> User:
        rows = UserRows(self.database, user_id)
        vectors = vector_index(rows, self.embedder, self.store)
        return User(rows, vectors, self._memories, self.background)

    def watch(self, observer: Observer) -> None:
        """Tell this observer from now on what goes on in nodes, database and embedding model."""
        self.observer = self.database.observer = self.embedder.observer = observer

    def settings_of(self, runtime: Runtime[Any], config: RunnableConfig | None = None) -> Settings:
        """The settings of this run: what it was given laid over the base, and the authenticated user over both.

        Args:
            runtime: with the context of the run, whoever it belongs to.
            config: whose `configurable` may hold settings under the key `everthread`, and a `user_id`.

        Raises:
            SettingsError: a value is not allowed, a name is unknown, or the context does not agree with the base.
        """
        return self._runs.settings_of(runtime, config)

    def read_context(self, context: Mapping[str, Any]) -> RunContext:
        """What a mapping chooses for a run.

        Raises:
            SettingsError: a value is not allowed, or a name is unknown or the operator's.
        """
        return self._runs.read(context)

    def has_capable_model(self, settings: Settings) -> bool:
        """Whether a real model answers, and not one of the built-in ones."""
        return self.responder is not None or self._model is not None or is_capable(settings.model)

    async def chat_model(self, settings: Settings) -> BaseChatModel:
        """The model that answers: the first that can be loaded.

        Of a responder of one's own nothing is known; the offline model stands for it, whose window is open.

        Raises:
            ModelError: none can be loaded; the sentence is that of the first.
        """
        if self.responder is not None and self._model is None:
            return OfflineChatModel()
        failed: ModelError | None = None
        for candidate in self.candidates(settings):
            try:
                return await candidate.load()
            except ModelError as error:
                failed = failed or error
        raise failed or ModelError("No chat model is given.")

    def candidates(self, settings: Settings) -> list[Candidate]:
        """The models that may answer, in the order in which they are asked."""
        named = [] if self._model is not None else [settings.model]
        load = partial(aload, max_tokens=settings.max_reply_tokens, timeout=settings.timeouts.model)
        given = [model for model in (self._model, *self._fallbacks) if model is not None]
        by_object = [Candidate(model_name(model), partial(_already_loaded, model)) for model in given]
        first = [Candidate(name or "default", partial(load, name)) for name in named]
        later = [Candidate(name, partial(load, name)) for name in settings.fallback_models]
        return [*first, *by_object, *later]

    async def router_model(self, settings: Settings) -> BaseChatModel | None:
        """The small model that decides on web search, or None where none is set."""
        if settings.slm_model is None:
            return None
        return await aload(settings.slm_model, timeout=settings.timeouts.model)

    async def summary_model(self, settings: Settings) -> BaseChatModel | None:
        """The model that writes summaries, or None for the extractive summarizer."""
        name = settings.summary_model
        if PROFILES[settings.profile].summarizes_locally and name != "extractive" and self._answers_locally(settings):
            name = None
        if name is None and self._model is not None:
            return self._model
        name = name or settings.model
        if name == "extractive" or not is_capable(name):
            return None
        return await aload(name, max_tokens=settings.max_reply_tokens, timeout=settings.timeouts.model)

    def _answers_locally(self, settings: Settings) -> bool:
        return is_local_model(self._model) if self._model is not None else is_local_name(settings.model)

    async def open(self) -> None:
        """Open the database and begin to load the embedding model in the background.

        Raises:
            StorageError: the database cannot be started or reached.
        """
        self.embedder.load()
        await self.database.open()
        self.of_user(self.settings.user_id).embed_later(self.settings.timeouts.embedding)
        self._checking = asyncio.run_coroutine_threadsafe(self._warn_of_changed_model(), io_thread.loop)

    async def changed_model(self, *, wait: bool = False) -> ChangedModel | None:
        """Whether the user's vectors are of another embedding model than the current one.

        Args:
            wait: whether to load the model to see if one of the same name makes vectors of another size now.

        Raises:
            StorageError: the database cannot be reached.
        """
        if self.store is not None:
            return None
        rows, timeout = self.of_user(self.settings.user_id).rows, self.settings.timeouts.embedding
        return await changed_model(rows, self.embedder, timeout=timeout, wait=wait)

    @contextmanager
    def turn_of(self, user_id: str, thread_id: str) -> Iterator[None]:
        """A turn that has claimed its thread for the user, which its nodes need not do again."""
        self._turns[thread_id] = user_id
        try:
            yield
        finally:
            del self._turns[thread_id]

    def is_claimed(self, user_id: str, thread_id: str) -> bool:
        """Whether the turn that runs in the thread has claimed it for the user."""
        return self._turns.get(thread_id) == user_id

    async def close(self) -> None:
        """Give the connections back, when what was begun in the background is done or has taken `CLOSING_SECONDS`.

        What is not embedded by then is embedded after the next start. A model that is being loaded is not waited for.
        """
        if not self.embedder.ready:
            self.background.cancel("embedding")
        await self.background.settled(CLOSING_SECONDS)
        self.background.cancel()
        if self._checking is not None:
            self._checking.cancel()
        await self.database.close()

    async def settled(self) -> None:
        """Wait until all that was said is embedded and read for facts."""
        await self.background.settled()

    def _left_undone(self, part: str) -> None:
        self.observer.left_undone(part)

    async def _warn_of_changed_model(self) -> None:
        try:
            if changed := await self.changed_model(wait=True):
                logger.warning("%s", changed)
        except EverthreadError as error:
            logger.warning("Whether the embedding model has changed is not known: %s", error)


async def _already_loaded(model: BaseChatModel) -> BaseChatModel:
    return model


def _embedding_name(settings: Settings, embeddings: Embeddings | None) -> str:
    """The name that tells the vectors of one model from those of another."""
    if embeddings is None:
        return settings.embedding_model
    names = (getattr(embeddings, attribute, None) for attribute in ("model_name", "model"))
    name = next((str(name) for name in names if name), type(embeddings).__name__)
    return BUNDLED_MODEL if is_bundled(name) else name
