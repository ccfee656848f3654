"""`Resources`: what the nodes share between turns: database, archive, vectors, embedding model, chat models."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import Future

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from ..memory.archive import Archive
from ..memory.database import Database
from ..memory.keywords import KeywordIndex
from ..memory.loop_thread import io_thread
from ..memory.recall import MemorySearch
from ..memory.reindex import ChangedModel, changed_model
from ..memory.vectors import VectorIndex
from ..models.chat import aload, is_capable
from ..models.embeddings import BUNDLED_MODEL, Embedder, is_bundled
from ..models.locality import is_local_model, is_local_name
from ..search.engines import SearchEngine
from ..state.errors import EverthreadError
from ..state.settings import Settings

logger = logging.getLogger(__name__)

_CONTEXTS = 256


class Resources:
    """What one graph shares between its turns. Nothing is opened or loaded before it is used.

    Args:
        settings: the base over which the context of each run is laid.
        model: a chat model that answers, instead of the one that the settings name.
        embeddings: an embedding model, instead of the one that the settings name.
        engines: search engines by name, beside those that everthread knows.
        database: a database that others share.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        model: BaseChatModel | None = None,
        embeddings: Embeddings | None = None,
        engines: Mapping[str, SearchEngine] | None = None,
        database: Database | None = None,
    ) -> None:
        self.settings = settings
        self.database = database or Database(settings)
        self.archive = Archive(self.database)
        self.embedder = Embedder(_embedding_name(settings, embeddings), embeddings)
        self.vectors = VectorIndex(self.database, self.embedder)
        self.search = MemorySearch(self.database, self.vectors, KeywordIndex(self.database))
        self.engines = engines
        self.embeds_in_background = False
        self._model = model
        self._contexts: dict[int, tuple[Settings, Settings]] = {}
        self._catching_up: dict[str, Future[None]] = {}
        self._checking: Future[None] | None = None

    def settings_of(self, runtime: Runtime[Settings]) -> Settings:
        """The settings of this run: the context laid over the base, and the authenticated user over both.

        Raises:
            SettingsError: the context does not agree with the base.
        """
        settings = self._laid_over(runtime.context) if runtime.context is not None else self.settings
        user = runtime.server_info.user if runtime.server_info is not None else None
        if user is not None and user.is_authenticated and user.identity:
            settings = settings.model_copy(update={"user_id": str(user.identity)})
        return settings

    def _laid_over(self, context: Settings) -> Settings:
        """The context over the base. All nodes of a run ask for the same, and validation takes a millisecond."""
        known = self._contexts.get(id(context))
        if known is None or known[0] is not context:
            known = self._contexts[id(context)] = (context, context.over(self.settings))
            while len(self._contexts) > _CONTEXTS:
                self._contexts.pop(next(iter(self._contexts)))
        return known[1]

    def has_capable_model(self, settings: Settings) -> bool:
        """Whether a real model answers, and not one of the built-in ones."""
        return self._model is not None or is_capable(settings.model)

    async def chat_model(self, settings: Settings) -> BaseChatModel:
        """The model that answers.

        Raises:
            ModelError: it cannot be loaded.
        """
        if self._model is not None:
            return self._model
        return await aload(settings.model, max_tokens=settings.max_reply_tokens, timeout=settings.model_timeout)

    async def router_model(self, settings: Settings) -> BaseChatModel | None:
        """The small model that decides on web search, or None where none is set."""
        if settings.slm_model is None:
            return None
        return await aload(settings.slm_model, timeout=settings.model_timeout)

    async def summary_model(self, settings: Settings) -> BaseChatModel | None:
        """The model that writes summaries, or None for the extractive summarizer."""
        name = settings.summary_model
        if settings.summarize_locally and name != "extractive" and self._answers_locally(settings):
            name = None
        if name is None and self._model is not None:
            return self._model
        name = name or settings.model
        if name == "extractive" or not is_capable(name):
            return None
        return await aload(name, max_tokens=settings.max_reply_tokens, timeout=settings.model_timeout)

    def _answers_locally(self, settings: Settings) -> bool:
        return is_local_model(self._model) if self._model is not None else is_local_name(settings.model)

    async def open(self) -> None:
        """Open the database and begin to load the embedding model in the background.

        Raises:
            StorageError: the database cannot be started or reached.
        """
        self.embedder.load()
        await self.database.open()
        self.embed_later(self.settings.user_id, self.settings.embedding_timeout)
        self._checking = asyncio.run_coroutine_threadsafe(self._warn_of_changed_model(), io_thread.loop)

    async def changed_model(self, *, wait: bool = False) -> ChangedModel | None:
        """Whether the user's vectors are of another embedding model than the current one.

        Args:
            wait: whether to load the model to see if one of the same name makes vectors of another size now.

        Raises:
            StorageError: the database cannot be reached.
        """
        user_id, timeout = self.settings.user_id, self.settings.embedding_timeout
        return await changed_model(self.database, self.embedder, user_id, timeout=timeout, wait=wait)

    async def close(self) -> None:
        """Give the connections back. What is not embedded yet is embedded after the next start."""
        for work in [*self._catching_up.values(), *([self._checking] if self._checking else [])]:
            work.cancel()
        await self.database.close()

    def embed_later(self, user_id: str, timeout: float) -> None:
        """Embed what the user has pending, in the background; `timeout` is seconds a batch."""
        if user_id not in self._catching_up:
            work = asyncio.run_coroutine_threadsafe(self._embed_all(user_id, timeout), io_thread.loop)
            self._catching_up[user_id] = work
            work.add_done_callback(lambda _: self._catching_up.pop(user_id, None))

    async def _embed_all(self, user_id: str, timeout: float) -> None:
        try:
            while await self.vectors.embed_pending(user_id, timeout=timeout):
                pass
        except EverthreadError as error:
            logger.warning("Embedding in the background stopped: %s", error)

    async def _warn_of_changed_model(self) -> None:
        try:
            if changed := await self.changed_model(wait=True):
                logger.warning("%s", changed)
        except EverthreadError as error:
            logger.warning("Whether the embedding model has changed is not known: %s", error)


def _embedding_name(settings: Settings, embeddings: Embeddings | None) -> str:
    """The name that tells the vectors of one model from those of another."""
    if embeddings is None:
        return settings.embedding_model
    names = (getattr(embeddings, attribute, None) for attribute in ("model_name", "model"))
    name = next((str(name) for name in names if name), type(embeddings).__name__)
    return BUNDLED_MODEL if is_bundled(name) else name
