"""What is known about the user: facts and pins, listed."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from ..facts.rows import FactRows
from ..state.fact_records import USER, Fact, Pin
from ..storage.storage import Storage
from .opening import rows_of


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


def _fact_row(fact: Fact) -> tuple[str, ...]:
    kind = fact.kind if fact.subject == USER else f"{fact.kind} ({fact.subject})"
    until = f"{fact.valid_to:%Y-%m-%d}" if fact.valid_to else ""
    source = f"{fact.origin}: {fact.source_id}"
    return fact.id[:8], kind, fact.text, fact.state, f"{fact.valid_from:%Y-%m-%d}", until, source


def _pin_row(pin: Pin) -> tuple[str, ...]:
    until = f"{pin.forgotten_at:%Y-%m-%d}" if pin.forgotten_at else ""
    state = "forgotten" if pin.forgotten_at else f"{pin.kind}, {pin.score:g}"
    return pin.id[:8], "pin", pin.text, state, f"{pin.created_at:%Y-%m-%d}", until, f"user: {pin.source_id}"
