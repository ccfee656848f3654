"""What is known about the user: facts and pins, listed and forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..facts.rows import FactRows
from ..settings.settings import Settings
from ..state.errors import InputError
from ..state.fact_records import USER, Fact, Pin
from ..state.records import now
from ..storage.open import storage_of
from ..storage.user_rows import UserRows


def list_facts(values: dict[str, Any], *, with_past: bool = False) -> None:
    """Print the user's facts and pins.

    Args:
        values: settings by name.
        with_past: whether to print what is superseded or forgotten as well.

    Raises:
        StorageError: the database cannot be started or reached.
    """

    async def work(rows: FactRows) -> None:
        table = Table("id", "kind", "what", "state", "since", "until", "source")
        for pin in await rows.pins(forgotten=with_past):
            table.add_row(*map(escape, _pin_row(pin)))
        for fact in await rows.all_facts():
            if with_past or fact.is_open:
                table.add_row(*map(escape, _fact_row(fact)))
        Console().print(table)

    _with_rows(values, work)


def forget_fact(wanted: str, values: dict[str, Any]) -> None:
    """Forget one fact or pin.

    Args:
        wanted: its id, or enough of its beginning to tell it from the others.
        values: settings by name.

    Raises:
        InputError: there is none with this id, or several begin with it.
        StorageError: the database cannot be started or reached.
    """

    async def work(rows: FactRows) -> None:
        ids = [fact.id for fact in await rows.all_facts() if fact.state != "forgotten"]
        ids = [id_ for id_ in [*ids, *(pin.id for pin in await rows.pins())] if id_.startswith(wanted)]
        if len(ids) != 1 and wanted not in ids:
            found = "no fact and no pin" if not ids else f"{len(ids)} of them"
            raise InputError(f"There is {found} whose id begins with {wanted!r}: `everthread facts` lists yours.")
        text = await rows.forget(wanted if wanted in ids else ids[0], now())
        Console(highlight=False, markup=False, soft_wrap=True).print(f"Forgotten: {text}")

    _with_rows(values, work)


def _fact_row(fact: Fact) -> tuple[str, ...]:
    kind = fact.kind if fact.subject == USER else f"{fact.kind} ({fact.subject})"
    until = f"{fact.valid_to:%Y-%m-%d}" if fact.valid_to else ""
    source = f"{fact.origin}: {fact.source_id}"
    return fact.id[:8], kind, fact.text, fact.state, f"{fact.valid_from:%Y-%m-%d}", until, source


def _pin_row(pin: Pin) -> tuple[str, ...]:
    until = f"{pin.forgotten_at:%Y-%m-%d}" if pin.forgotten_at else ""
    state = "forgotten" if pin.forgotten_at else f"{pin.kind}, {pin.score:g}"
    return pin.id[:8], "pin", pin.text, state, f"{pin.created_at:%Y-%m-%d}", until, f"user: {pin.source_id}"


def _with_rows(values: dict[str, Any], work: Callable[[FactRows], Awaitable[None]]) -> None:
    async def run() -> None:
        settings = Settings(**values)
        database = storage_of(settings)
        try:
            await work(FactRows(UserRows(database, settings.user_id)))
        finally:
            await database.close()

    asyncio.run(run())
