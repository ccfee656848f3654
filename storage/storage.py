"""`Storage`: where everything of a user is kept, whatever keeps it. `Database` is Postgres, the default.

The statements of archive, facts, reports, vectors and transfer have names; each storage has its own text for them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..settings.settings import Settings
from ..settings.storage import StorageKind
from ..state.observer import Observer
from .queries import Query
from .user_keys import UserKeys
from .values import Row

if TYPE_CHECKING:
    from .held import Held
    from .unwritten import Unwritten

T = TypeVar("T")


class Cursor(Protocol):
    """What a statement brought."""

    @property
    def description(self) -> Sequence[Any] | None:
        """The columns; None where the statement brings no rows."""

    async def fetchone(self) -> Row | None:
        """The next row."""

    async def fetchall(self) -> list[Row]:
        """The rows that are left."""


class Connection(Protocol):
    """What `Storage.run` works on: the part of psycopg's connection that our statements need."""

    async def execute(self, query: Any, params: Mapping[str, Any] | Sequence[Any] | None = None, /) -> Cursor:
        """Run a statement of `Storage.queries` with its parameters by name."""

    def cursor(self, *args: Any, **options: Any) -> Any:
        """A cursor: with a `row_factory` of plain rows, with a `name` of rows that are read bit by bit."""

    def pipeline(self) -> AbstractAsyncContextManager[Any]:
        """Statements inside are sent at once, where that saves round trips."""


class Reader(Protocol):
    """What runs statements that read: a storage, or a copy of it that is a moment behind."""

    async def run(self, work: Callable[[Connection], Awaitable[T]], *, one_statement: bool = False) -> T:
        """As `Storage.run`.

        Raises:
            StorageError: it does not answer.
        """


class Storage(Protocol):
    """Opens itself with the first use; may be used from any loop."""

    settings: Settings
    observer: Observer
    keys: UserKeys
    unwritten: Unwritten
    held: Held
    write_error: str | None
    """What a user should know, in one sentence: that what was said could not be written, say."""

    @property
    def standby(self) -> Reader | None:
        """A copy that is a moment behind, for what is much to read; None where there is none."""

    @property
    def queries(self) -> Mapping[str, Query]:
        """Its statements by name."""

    @property
    def kind(self) -> StorageKind:
        """What keeps it."""

    async def open(self) -> None:
        """Start or reach it, and bring its tables up to date.

        Raises:
            StorageError: that is not possible.
        """

    async def run(
        self, work: Callable[[Connection], Awaitable[T]], *, one_statement: bool = False, one_pipeline: bool = False
    ) -> T:
        """Do `work` in one transaction; it must be safe to repeat.

        Args:
            work: what is done with the connection.
            one_statement: it is a single statement, or needs no transaction around it.
            one_pipeline: all its statements are sent in one pipeline, before anything that they bring is read.

        Raises:
            StorageError: the storage fails, or refuses.
        """

    @property
    def row_security(self) -> bool | None:
        """Whether the server itself keeps users apart, once it is open; None where none could."""

    def scope(self, user_id: str | None, member: str | None = None) -> tuple[Any, Mapping[str, Any]] | None:
        """What says, first in a transaction, whose rows it meets (None: any user's), as which member of a space; None
        where nothing asks for it."""

    def fence(self, thread_id: str) -> tuple[Any, Mapping[str, Any]] | None:
        """What a transaction says that writes in a thread, so that it fails where this process has lost its claim of
        it; None where it has none, or where nothing asks for it."""

    def connections(self) -> dict[str, int]:
        """How many connections are idle and in use, and how many callers wait for one; nothing where there are none."""

    async def close(self) -> None:
        """Give back what was opened."""
