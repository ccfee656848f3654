"""`everthread partitions`: how the tables of a Postgres server are divided by user, and dividing them."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from ..state.errors import InputError
from ..storage.storage import Storage
from .opening import say


async def partitions(
    storage: Storage,
    number: Annotated[
        int | None,
        typer.Argument(help="How many each table is to have, up to 256; 1: none. Without it they are only counted."),
    ] = None,
) -> None:
    """Show how many partitions each table has, or bring all to a number. If stopped, it resumes where it was.

    Raises:
        InputError: the storage is no Postgres, or that is no number of partitions.
        StorageError: the login does not own the tables, or the database fails.
    """
    if storage.kind != "postgres":
        raise InputError("Only tables of Postgres have partitions: set EVERTHREAD_DATABASE_URL to a Postgres server.")
    from ..storage.postgres.database import Database
    from ..storage.postgres.partitions import partition, partitions_of

    database = cast("Database", storage)
    if number is not None:
        await partition(database, number, advance=lambda table: say(f"Moved: {table}"))
    for table in await partitions_of(database):
        say(
            f"{table.name}: {table.partitions} by {table.key}"
            if table.partitions > 1
            else f"{table.name}: in one piece"
        )
