"""`Resources`: what the nodes share between turns: storage, embedding model, chat models, tools, background work."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from langchain_core.embeddings import Embeddings
from typing_extensions import Unpack

from ..memory.changed_model import ChangedModel, changed_model
from ..memory.recall_cache import RecallCache
from ..memory.store_index import store_client, vector_index
from ..models.bundled_weights import BUNDLED_MODEL, is_bundled
from ..models.calibration import Calibration
from ..models.embedding_models import check_embeddings
from ..models.embeddings import Embedder
from ..settings.settings import Settings
from ..state.errors import EverthreadError, InputError, SettingsError
from ..state.observer import Observer
from ..storage.loop_thread import io_thread
from ..storage.open import import_all, storage_of
from ..storage.postgres.thread_lock import ThreadLocks
from ..storage.spaces import is_space
from ..storage.storage import Storage
from ..storage.user_rows import UserRows
from .admission import Admission
from .away import AwayTurns
from .background import Background
from .chat_models import ChatModels
from .components import Components, check_names
from .later_summaries import LaterSummaries
from .read_ahead import read_ahead
from .retention import repeat_retention
from .run_settings import LayeredSettings
from .toolbox import Toolbox
from .user import User

if TYPE_CHECKING:
    from .responder import Responder

if "langgraph.graph" in sys.modules:  # as in `graph.open`
    import_all()

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
        embeddings, self._embeddings = components.get("embeddings"), components.get("embeddings")
        if isinstance(embeddings, str):
            settings, embeddings = settings.but(embedding_model=embeddings), None
        elif embeddings is not None and not isinstance(embeddings, Embeddings):
            raise SettingsError(
                f"The embeddings are a {type(embeddings).__name__}: expected LangChain Embeddings, or a name such as "
                "'openai:text-embedding-3-small'."
            )
        self.settings = settings
        self.state_schema: type[Any] | None = components.get("state_schema")
        self.engines = components.get("engines")
        self.models = ChatModels(components)
        self.calibration = Calibration()
        self.toolbox = Toolbox(components.get("tools") or ())
        self.responder = _responder(components.get("responder"))

        self.database = database or storage_of(settings, components.get("master_key"))
        self.locks = ThreadLocks()
        self.admission = Admission(settings.turns)
        self.away = AwayTurns()

        cached = settings.recall_cache * 1_000_000
        name = settings.embedding_model if embeddings is None else _name_of(embeddings)
        self.embedder = Embedder(name, embeddings, cache_bytes=cached // EMBEDDINGS_SHARE)
        self.store = store_client(settings, self.embedder, components.get("vector_store"))
        self._memories = RecallCache(lambda: self.embedder.name, cached, self.embedder.forget)

        self.runs = LayeredSettings(settings)
        self.observer = Observer()
        self.background = Background()
        self.later = LaterSummaries(self.background)
        self._users = lru_cache(maxsize=USERS)(self._user)
        self._turns: dict[str, str] = {}
        self._checking: Future[None] | None = None
        self._retaining: Future[None] | None = None
        self._closing = asyncio.Event()

    def of_user(self, user_id: str) -> User:
        """What is kept of a user, and all that is done in their name.

        Raises:
            StorageError: the user id is empty, or holds what cannot be stored.
        """
        return self._users(user_id)

    def of_member(self, space: str, user_id: str) -> User:
        """What is kept in a space, and all that a member does there: see `owner_of_space`.

        Raises:
            InputError: the user id is that of a space.
            StorageError: the user id is empty, or holds what cannot be stored.
        """
        if is_space(user_id):
            raise InputError(f"{user_id!r} is a space, which is no member of another: name a user.")
        return self._made(UserRows(self.database, space, member=self.of_user(user_id).id), self.upkeep_of(space))

    def upkeep_of(self, owner: str) -> User:
        """What is kept of a user, or in a space without a member: for what a process does by itself."""
        return self._made(UserRows(self.database, owner, is_upkeep=True)) if is_space(owner) else self.of_user(owner)

    def _user(self, user_id: str) -> User:
        return self._made(UserRows(self.database, user_id))

    def _made(self, rows: UserRows, upkeep: User | None = None) -> User:
        return User(rows, vector_index(rows, self.embedder, self.store), self._memories, self.background, upkeep)

    def watch(self, observer: Observer) -> None:
        """Tell this observer from now on what goes on in nodes, database, embedding model and background."""
        self.observer = self.database.observer = self.embedder.observer = self.background.observer = observer

    def check_embeddings(self) -> None:
        """Refuse the name of an embedding model that a program has given and that cannot be had (blocking).

        Raises:
            SettingsError: there is no such model here.
        """
        if isinstance(self._embeddings, str):
            check_embeddings(self._embeddings)

    async def open(self) -> None:
        """Open the database and begin to load the embedding model in the background.

        Raises:
            SettingsError: the program has named an embedding model that cannot be had.
            StorageError: the database cannot be started or reached.
        """
        await asyncio.to_thread(self.check_embeddings)
        self.embedder.load()
        read_ahead()
        await self.database.open()
        if self.store is not None and self.database.keys.is_given:
            logger.warning("Encryption does not cover the vector store of your own: it keeps texts as it likes.")
        self.of_user(self.settings.user_id).embed_later(self.settings.timeouts.embedding)
        self._checking = asyncio.run_coroutine_threadsafe(self._warn_of_changed_model(), io_thread.loop)
        self._closing = asyncio.Event()
        self._retaining = asyncio.run_coroutine_threadsafe(repeat_retention(self, self._closing), io_thread.loop)

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
        if self._retaining is not None:
            io_thread.loop.call_soon_threadsafe(self._closing.set)
            await asyncio.wait([asyncio.wrap_future(self._retaining)], timeout=CLOSING_SECONDS)
        await self.locks.close()
        await self._memories.close()
        await self.database.close()

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

    async def _warn_of_changed_model(self) -> None:
        try:
            if changed := await self.changed_model(wait=True):
                logger.warning("%s", changed)
        except EverthreadError as error:
            logger.warning("Whether the embedding model has changed is not known: %s", error)


def _responder(given: Any) -> Responder | None:
    if given is None:
        return None
    from .responder import Responder  # which loads LangGraph

    return Responder(given)


def _name_of(embeddings: Embeddings) -> str:
    """The name that tells the vectors of one model from those of another."""
    names = (getattr(embeddings, attribute, None) for attribute in ("model_name", "model"))
    name = next((str(name) for name in names if name), type(embeddings).__name__)
    return BUNDLED_MODEL if is_bundled(name) else name
