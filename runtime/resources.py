"""`Resources`: what the nodes share between turns: storage, embedding model, chat models, tools, background work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final

from langchain_core.embeddings import Embeddings
from typing_extensions import Unpack

from ..facts.read_archive import read_batch
from ..facts.rows import FactRows
from ..memory.changed_model import ChangedModel, changed_model
from ..memory.keywords import KeywordIndex
from ..memory.recall import MemorySearch
from ..memory.store_index import StoreIndex, vector_index
from ..models.calibration import Calibration
from ..models.embeddings import BUNDLED_MODEL, Embedder, is_bundled
from ..settings.settings import Settings
from ..state.errors import EverthreadError, SettingsError
from ..state.observer import Observer
from ..storage.archive import Archive
from ..storage.branches import Branches
from ..storage.loop_thread import io_thread
from ..storage.open import storage_of
from ..storage.postgres.thread_lock import ThreadLocks
from ..storage.reports import TurnReports
from ..storage.storage import Storage
from ..storage.summary_rows import SummaryRows
from .background import Background
from .chat_models import ChatModels
from .components import Components, check_names
from .responder import Responder
from .run_settings import RunSettings
from .toolbox import Toolbox

logger = logging.getLogger(__name__)

CLOSING_SECONDS: Final = 2.0
"""That the graph waits, when it is closed, for what goes on in the background."""


class Resources:
    """What one graph shares between its turns. Nothing is opened or loaded before it is used.

    Args:
        settings: the base over which the context of each run is laid.
        database: a storage that others share; by default that of the settings.
        **components: see `Components`.

    Attributes:
        locks: keep the turns of one thread apart; those of this process alone, unless `open_graph` gives others.

    Raises:
        SettingsError: something is no settings, model, tool or responder, or two tools have the same name.
    """

    def __init__(
        self, settings: Settings, *, database: Storage | None = None, **components: Unpack[Components]
    ) -> None:
        if not isinstance(settings, Settings):
            raise SettingsError(f"A {type(settings).__name__} is no settings: give Settings(name=value, ...).")
        check_names(components)
        self.settings = settings
        self.state_schema: type[Any] | None = components.get("state_schema")
        self.engines = components.get("engines")
        self.models = ChatModels(components)
        self.calibration = Calibration()
        self.toolbox = Toolbox(components.get("tools") or ())
        responder = components.get("responder")
        self.responder = Responder(responder) if responder is not None else None

        self.database = database or storage_of(settings)
        self.archive = Archive(self.database)
        self.branches = Branches(self.database)
        self.summaries = SummaryRows(self.database)
        self.reports = TurnReports(self.database)
        self.facts = FactRows(self.database)
        self.locks = ThreadLocks()

        embeddings = components.get("embeddings")
        name = settings.embedding_model if embeddings is None else _name_of(embeddings)
        self.embedder = Embedder(name, embeddings, cache_bytes=settings.embedding_cache * 1_000_000)
        self.vectors = vector_index(settings, self.database, self.embedder, components.get("vector_store"))
        self.search = MemorySearch(self.vectors.memories, self.vectors, KeywordIndex(self.database))

        self.runs = RunSettings(settings)
        self.observer = Observer()
        self.background = Background()
        self._turns: dict[str, str] = {}
        self._checking: Future[None] | None = None

    def watch(self, observer: Observer) -> None:
        """Tell this observer from now on what goes on in nodes, database, embedding model and background."""
        self.observer = self.database.observer = self.embedder.observer = self.background.observer = observer

    async def open(self) -> None:
        """Open the database and begin to load the embedding model in the background.

        Raises:
            StorageError: the database cannot be started or reached.
        """
        self.embedder.load()
        await self.database.open()
        self.embed_later(self.settings.user_id, self.settings.embedding_timeout)
        self._checking = asyncio.run_coroutine_threadsafe(self._warn_of_changed_model(), io_thread.loop)

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
        await self.locks.close()
        await self.database.close()

    async def changed_model(self, *, wait: bool = False) -> ChangedModel | None:
        """Whether the user's vectors are of another embedding model than the current one.

        Args:
            wait: whether to load the model to see if one of the same name makes vectors of another size now.

        Raises:
            StorageError: the database cannot be reached.
        """
        if isinstance(self.vectors, StoreIndex):
            return None
        user_id, timeout = self.settings.user_id, self.settings.embedding_timeout
        return await changed_model(self.database, self.embedder, user_id, timeout=timeout, wait=wait)

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

    def embed_later(self, user_id: str, timeout: float) -> None:
        """Embed what the user has pending, in the background; `timeout` is seconds a batch."""

        async def step() -> bool:
            return await self.vectors.embed_pending(user_id, timeout=timeout) > 0

        self.background.begin("embedding", user_id, step)

    def learn_later(self, user_id: str, auto_pin_score: float | None) -> None:
        """Read what of the user's messages was not read for facts yet, in the background."""

        async def step() -> bool:
            return (await read_batch(self.facts, user_id, auto_pin_score))[1]

        self.background.begin("facts", user_id, step)

    async def _warn_of_changed_model(self) -> None:
        try:
            if changed := await self.changed_model(wait=True):
                logger.warning("%s", changed)
        except EverthreadError as error:
            logger.warning("Whether the embedding model has changed is not known: %s", error)


def _name_of(embeddings: Embeddings) -> str:
    """The name that tells the vectors of one model from those of another."""
    names = (getattr(embeddings, attribute, None) for attribute in ("model_name", "model"))
    name = next((str(name) for name in names if name), type(embeddings).__name__)
    return BUNDLED_MODEL if is_bundled(name) else name
