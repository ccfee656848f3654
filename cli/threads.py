"""What is stored: threads, their history, their checkpoints."""

from __future__ import annotations

from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from ..state.errors import InputError
from ..storage.archive import Archive
from ..storage.storage import Storage
from .opening import Thread, graph_on, rows_of, say, thread_of

MOST_SHOWN: Final = 1_000_000
"""Messages that `everthread history` shows, at most."""


async def threads(storage: Storage) -> None:
    """Print the user's threads."""
    table = Table("thread", "messages", "last message")
    for row in await Archive(rows_of(storage)).threads():
        last = f"{row['last_at']:%Y-%m-%d %H:%M}" if row["last_at"] else ""
        table.add_row(row["name"] or row["thread_id"], str(row["messages"]), last)
    Console().print(table)


async def history(
    storage: Storage,
    thread: Thread,
    before: Annotated[str | None, typer.Option("--before", help="Only what was said before this message id.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Messages, at most, the newest; all by default.")
    ] = None,
    left: Annotated[
        bool, typer.Option("--left", help="Also what has left the conversation: edited, removed, answered again.")
    ] = False,
) -> None:
    """Print the messages of a thread.

    Raises:
        InputError: the user has no such thread.
    """
    archive, id_ = Archive(rows_of(storage)), await thread_of(storage, thread)
    for message in await archive.page(id_, before=before, limit=limit or MOST_SHOWN, with_left=left):
        mark = " (left)" if message.left_at is not None else ""
        say(f"{message.created_at:%Y-%m-%d %H:%M} {message.name or message.role}{mark}: ", end="", style="dim")
        say(message.text)


async def prune(storage: Storage, thread: Thread) -> None:
    """Delete all but the newest checkpoint of a thread.

    Raises:
        InputError: the user has no such thread.
    """
    from ..storage.open import checkpointer_of

    await checkpointer_of(storage).aprune([await thread_of(storage, thread)])
    say("Kept the newest checkpoint.")


async def delete(
    storage: Storage,
    thread: Annotated[str | None, typer.Argument(help="The name or the id of the thread.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Delete all of your threads.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a thread, or all of the user's, with everything that was made from them.

    Raises:
        InputError: the user has no such thread, or it is not said which.
        EmbeddingError: a vector store of one's own fails; nothing was deleted.
        StorageError: the database cannot be reached; nothing was deleted.
    """
    if (thread is None) is not all_:
        raise InputError("Name the thread to delete, or pass --all to delete all of yours.")
    from ..runtime.forget import forget_threads, threads_of

    id_ = None if thread is None else await thread_of(storage, thread)
    number = len(await threads_of(rows_of(storage), id_))
    if number and not yes:
        asked = "Delete it for good?" if thread else f"Delete all of your threads ({number}) for good?"
        typer.confirm(asked, abort=True)
    async with graph_on(storage) as graph:
        user = graph.resources.of_user(storage.settings.user_id)
        gone = await forget_threads(user, id_, asked_by="command", locks=graph.resources.locks)
    say(
        f"Deleted: {gone.threads} threads, {gone.messages} messages, {gone.summaries} summaries, "
        f"{gone.facts} facts, {gone.pins} pins."
    )
