"""How a command begins: with the settings of its options, and the storage that they name, closed when it is done."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..settings.settings import Settings
from ..state.errors import InputError
from .options import with_settings

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ..graph.conversation import Conversation
    from ..storage.storage import Storage
    from ..storage.user_rows import UserRows

Thread = Annotated[str, typer.Argument(help="The name or the id of the thread.")]


def as_command(work: Callable[..., Any], name: str) -> Callable[..., None]:
    """What typer runs for a function: its arguments are those of the command, its result is the exit code.

    Args:
        work: takes the `settings` first, or the `storage`, and is async then; a storage that cannot be started or
            reached raises a `StorageError` at its first use.
        name: that of the command.
    """
    first, *own = inspect.signature(work, eval_str=True).parameters.values()

    async def on_storage(storage: Storage, arguments: dict[str, Any]) -> Any:
        try:
            return await work(storage, **arguments)
        finally:
            await storage.close()

    @wraps(work)
    def command(values: dict[str, Any], **arguments: Any) -> None:
        settings = Settings(**values)
        if first.name == "settings":
            raise typer.Exit(work(settings, **arguments) or 0)
        from ..storage.open import storage_of

        raise typer.Exit(asyncio.run(on_storage(storage_of(settings), arguments)) or 0)

    command.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]  # `with_settings` reads it
    return with_settings(command, name)


@asynccontextmanager
async def graph_on(storage: Storage) -> AsyncIterator[Conversation]:
    """The graph on an open storage, for work between turns: no model is loaded for it."""
    with loading():
        from ..graph.open import conversation_on
        from ..runtime.resources import Resources
    resources = Resources(storage.settings, database=storage)
    try:
        yield conversation_on(resources)
    finally:
        await resources.locks.close()


def rows_of(storage: Storage) -> UserRows:
    """The rows of the user of the settings."""
    from ..storage.user_rows import UserRows

    return UserRows(storage, storage.settings.user_id)


async def thread_of(storage: Storage, typed: str) -> str:
    """The id of the user's thread that is called so, by name or by id.

    Raises:
        InputError: the user has no such thread.
        StorageError: the storage fails.
    """
    from ..storage.archive import Archive

    archive = Archive(rows_of(storage))
    id_ = await archive.thread_named(typed)
    if not await archive.has_thread(id_):
        raise InputError(f"There is no thread {typed!r}: `everthread threads` lists yours.")
    return id_


def loading() -> AbstractContextManager[object]:
    """A line that says that everthread is being loaded; only a terminal shows it, and only until it is done."""
    from rich.console import Console

    return Console(stderr=True).status("Loading everthread ...")


def console() -> Console:
    """What prints lines as they are: without markup, wrapped at words in a terminal, and not at all elsewhere."""
    from rich.console import Console

    return Console(highlight=False, markup=False, soft_wrap=not sys.stdout.isatty())


def say(text: str | Text, **style: Any) -> None:
    """Print a line as it is, in no colours but those of the style."""
    console().print(text, **style)
