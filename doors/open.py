"""`open_memory`: the memory of a user with its storage, without the graph."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from typing_extensions import Unpack

from ..runtime.components import Components
from ..runtime.resources import Resources
from ..settings.settings import Settings
from ..state.threads import DEFAULT_USER
from ..storage.loop_thread import node_thread
from ..storage.open import locks_of
from .memory import ConversationMemory


class open_memory:  # noqa: N801  # used like the function `open`
    """Open the memory of a user with its storage: `async with open_memory(user_id="ada") as memory:`, or `with`.

    Args:
        settings: which storage, embedding model, profile; by default the environment's.
        user_id: whose memory; by default the settings'.
        **components: see `Components`; `model` writes the summaries.

    Raises:
        SettingsError: a setting is not allowed, or something is no component; or the embedding model that is named
            cannot be had (when entered).
        StorageError: the storage cannot be started or reached (when entered).
    """

    def __init__(
        self, settings: Settings | None = None, *, user_id: str | None = None, **components: Unpack[Components]
    ) -> None:
        self._resources = Resources(Settings() if settings is None else settings, **components)
        self._user_id = user_id or self._resources.settings.user_id or DEFAULT_USER

    if not TYPE_CHECKING:  # a type checker knows that there is no such attribute

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"The memory is not open, and has no {name!r} yet: enter it, `with open_memory(...) as memory:`, or "
                f"`async with`, then use `memory.{name}`."
            )

    async def __aenter__(self) -> ConversationMemory:
        self._resources.locks = locks_of(self._resources.database)
        await self._resources.open()
        return ConversationMemory(self._resources, self._user_id)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._resources.close()

    def __enter__(self) -> ConversationMemory:
        return node_thread.run_sync(self.__aenter__())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        node_thread.run_sync(self.__aexit__(kind, error, trace))
