"""What is stored: threads, their history, their checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from ..memory.store_index import store_client, vector_index
from ..models.embeddings import Embedder
from ..runtime.deletion import Deletion
from ..settings.settings import Settings
from ..state.errors import InputError
from ..storage.archive import Archive
from ..storage.open import checkpointer_of, locks_of, storage_of
from ..storage.storage import Storage
from ..storage.user_rows import UserRows
from .naming import as_typed

MOST_SHOWN: Final = 1_000_000
"""Messages that `everthread history` shows, at most."""


def list_threads(values: dict[str, Any]) -> None:
    """Print the user's threads.

    Raises:
        StorageError: the database cannot be started or reached.
    """

    async def work(database: Storage, rows: UserRows) -> None:
        table = Table("thread", "messages", "last message")
        for row in await Archive(rows).threads():
            last = f"{row['last_at']:%Y-%m-%d %H:%M}" if row["last_at"] else ""
            table.add_row(row["name"] or row["thread_id"], str(row["messages"]), last)
        Console().print(table)

    _with_database(values, work)


def show_history(
    thread: str, values: dict[str, Any], *, before: str | None, limit: int | None, with_left: bool
) -> None:
    """Print the messages of a thread.

    Args:
        thread: its name or id.
        values: settings by name.
        before: the id of the message before which they end.
        limit: how many, at most, the newest; None for all.
        with_left: whether what has left the conversation is shown, marked so.

    Raises:
        InputError: the user has no such thread.
        StorageError: the database cannot be started or reached.
    """

    async def work(database: Storage, rows: UserRows) -> None:
        archive = Archive(rows)
        id_ = await archive.thread_named(thread)
        found = await archive.page(id_, before=before, limit=limit or MOST_SHOWN, with_left=with_left)
        if not found:
            raise InputError(f"There is no thread {thread!r} with messages: `everthread threads` lists yours.")
        console = Console(highlight=False, markup=False, soft_wrap=True)
        for message in found:
            left = " (left)" if message.left_at is not None else ""
            said = f"{message.created_at:%Y-%m-%d %H:%M} {message.name or message.role}{left}: "
            console.print(said, end="", style="dim")
            console.print(message.text)

    _with_database(values, work)


def prune_checkpoints(thread: str, values: dict[str, Any]) -> None:
    """Delete all but the newest checkpoint of a thread.

    Raises:
        ThreadOwnershipError: the thread belongs to another user.
        StorageError: the database cannot be started or reached.
    """

    async def work(database: Storage, rows: UserRows) -> None:
        archive = Archive(rows)
        id_ = await archive.thread_named(thread)
        await archive.own_thread(id_)
        await checkpointer_of(database).aprune([id_])
        Console().print("Kept the newest checkpoint.")

    _with_database(values, work)


def delete_threads(thread: str | None, values: dict[str, Any], confirm: Callable[[int], None]) -> None:
    """Delete a thread, or all of the user's, with everything that was made from them.

    Args:
        thread: its name or id; None for all.
        values: settings by name.
        confirm: called with the number of threads to be deleted; raises where they shall stay.

    Raises:
        InputError: the user has no such thread.
        EmbeddingError: a vector store of one's own fails; nothing was deleted.
        StorageError: the database cannot be reached; nothing was deleted.
    """

    async def work(database: Storage, rows: UserRows) -> None:
        locks, settings = locks_of(database), database.settings
        embedder = Embedder(settings.embedding_model)
        deletion = Deletion(rows, vector_index(rows, embedder, store_client(settings, embedder)), locks)
        try:
            id_ = None if thread is None else await Archive(rows).thread_named(thread)
            with as_typed(id_, thread):
                await asyncio.to_thread(confirm, len(await deletion.threads(id_)))
                gone = await deletion.delete(id_)
        finally:
            await locks.close()
        Console(highlight=False).print(
            f"Deleted: {gone.threads} threads, {gone.messages} messages, {gone.summaries} summaries, "
            f"{gone.facts} facts, {gone.pins} pins."
        )

    _with_database(values, work)


def _with_database(values: dict[str, Any], work: Callable[[Storage, UserRows], Awaitable[None]]) -> None:
    async def run() -> None:
        settings = Settings(**values)
        database = storage_of(settings)
        try:
            await work(database, UserRows(database, settings.user_id))
        finally:
            await database.close()

    asyncio.run(run())
