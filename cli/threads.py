"""What is stored: threads, their history, their checkpoints."""

from __future__ import annotations

from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..storage.archive import Archive
from ..storage.storage import Storage
from .json_output import MessageLine, ThreadLine, print_json
from .opening import Thread, rows_of, say, thread_of

_MOST_SHOWN: Final = 1_000_000
"""Messages that `everthread history` shows, at most."""


async def threads(
    storage: Storage, *, as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False
) -> None:
    """Print the user's threads."""
    rows = await Archive(rows_of(storage)).threads()
    if as_json:
        print_json(ThreadLine(**row) for row in rows)
        return
    if not rows:
        say("You have no thread yet: `everthread chat` begins one.")
        return
    table = Table("thread", "messages", "last message")
    for row in rows:
        last = f"{row['last_at']:%Y-%m-%d %H:%M}" if row["last_at"] else ""
        table.add_row(row["name"] or row["thread_id"], str(row["messages"]), last)
    Console().print(table)


async def history(
    storage: Storage,
    thread: Thread,
    *,
    before: Annotated[str | None, typer.Option("--before", help="Only what was said before this message id.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Messages, at most, the newest; all by default.")
    ] = None,
    left: Annotated[
        bool, typer.Option("--left", help="Also what has left the conversation: edited, removed, answered again.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Print the messages of a thread.

    Raises:
        InputError: the user has no such thread.
    """
    archive, id_ = Archive(rows_of(storage)), await thread_of(storage, thread)
    page = await archive.page(id_, before=before, limit=limit or _MOST_SHOWN, with_left=left)
    if as_json:
        print_json(map(MessageLine.of, page))
        return
    for message in page:
        mark = " (left)" if message.left_at is not None else ""
        who = f"{message.created_at:%Y-%m-%d %H:%M} {message.name or message.role}{mark}: "
        say(Text.assemble((who, "dim"), message.text))


async def prune(storage: Storage, thread: Thread) -> None:
    """Delete all but the newest checkpoint of a thread.

    Raises:
        InputError: the user has no such thread.
    """
    from ..storage.open import checkpointer_of

    await checkpointer_of(storage).aprune([await thread_of(storage, thread)])
    say("Kept the newest checkpoint.")
