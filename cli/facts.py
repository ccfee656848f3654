"""What is known about the user: facts and pins, listed and forgotten."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from ..facts.rows import FactRows
from ..state.errors import InputError
from ..state.fact_records import USER, Fact, Pin
from ..state.records import now
from ..storage.storage import Storage
from .opening import rows_of, say


async def facts(
    storage: Storage,
    all_: Annotated[bool, typer.Option("--all", help="Show what is superseded or forgotten as well.")] = False,
) -> None:
    """Print the user's facts and pins."""
    rows = FactRows(rows_of(storage))
    table = Table(Column("id", no_wrap=True), "kind", "what", "state", "since", "until", "source")
    for pin in await rows.pins(forgotten=all_):
        table.add_row(*map(escape, _pin_row(pin)))
    for fact in await rows.all_facts():
        if all_ or fact.is_open:
            table.add_row(*map(escape, _fact_row(fact)))
    Console().print(table)


async def forget(
    storage: Storage, fact: Annotated[str, typer.Argument(help="The id of the fact or pin, or its beginning.")]
) -> None:
    """Forget one fact or pin.

    Raises:
        InputError: there is none with this id, or several begin with it.
    """
    rows = FactRows(rows_of(storage))
    ids = [known.id for known in await rows.all_facts() if known.state != "forgotten"]
    ids = [id_ for id_ in [*ids, *(pin.id for pin in await rows.pins())] if id_.startswith(fact)]
    if len(ids) != 1 and fact not in ids:
        found = "no fact and no pin" if not ids else f"{len(ids)} of them"
        raise InputError(f"There is {found} whose id begins with {fact!r}: `everthread facts` lists yours.")
    say(f"Forgotten: {await rows.forget(fact if fact in ids else ids[0], now())}")


def _fact_row(fact: Fact) -> tuple[str, ...]:
    kind = fact.kind if fact.subject == USER else f"{fact.kind} ({fact.subject})"
    until = f"{fact.valid_to:%Y-%m-%d}" if fact.valid_to else ""
    source = f"{fact.origin}: {fact.source_id}"
    return fact.id[:8], kind, fact.text, fact.state, f"{fact.valid_from:%Y-%m-%d}", until, source


def _pin_row(pin: Pin) -> tuple[str, ...]:
    until = f"{pin.forgotten_at:%Y-%m-%d}" if pin.forgotten_at else ""
    state = "forgotten" if pin.forgotten_at else f"{pin.kind}, {pin.score:g}"
    return pin.id[:8], "pin", pin.text, state, f"{pin.created_at:%Y-%m-%d}", until, f"user: {pin.source_id}"
