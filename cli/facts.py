"""What is known about the user: facts and pins, listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from ..facts.rows import FactRows
from ..state.errors import InputError
from ..state.fact_records import USER, Fact, Pin
from ..storage.archive import Archive
from ..storage.storage import Storage
from .json_output import Known, print_json
from .opening import rows_of, say


async def facts(
    storage: Storage,
    *,
    all_: Annotated[bool, typer.Option("--all", help="Show what is superseded or forgotten as well.")] = False,
    add: Annotated[str | None, typer.Option(metavar="TEXT", help="Keep this about you.")] = None,
    correct: Annotated[str | None, typer.Option(metavar="ID", help="With --add: the fact it replaces.")] = None,
    confirm: Annotated[str | None, typer.Option(metavar="ID", help="Say that a fact holds.")] = None,
    why: Annotated[str | None, typer.Option(metavar="ID", help="Show what a fact was said in.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Print the user's facts and pins, or change what is known."""
    user = rows_of(storage)
    rows = FactRows(user)
    if confirm or add is not None or why:
        from ..runtime.own_facts import add_fact, confirm_fact, said_in  # which a list does not need
    if correct and add is None:
        raise InputError("Say with --add what takes the place of the fact.")
    if confirm:
        await confirm_fact(rows, (await _meant(rows, confirm)).id)
    if add is not None:
        old = (await _meant(rows, correct)).id if correct else None
        await add_fact(user, add, corrects=old)
    if why:
        fact = await _meant(rows, why)
        text = await said_in(Archive(user), fact)
        said = "It was said in a message that is gone." if text is None else text
        say(f"{fact.said_at:%Y-%m-%d %H:%M}, thread {fact.thread_id}: {said}")
        return
    pins = await rows.pins(forgotten=all_)
    facts = [fact for fact in await rows.all_facts() if all_ or fact.is_open]
    if as_json:
        print_json(Known(facts=tuple(facts), pins=tuple(pins)))
    else:
        _list(facts, pins)


def _list(facts: Sequence[Fact], pins: Sequence[Pin]) -> None:
    if not facts and not pins:
        say("Nothing is known about you yet.")
        return
    table = Table(Column("id", no_wrap=True), "kind", "what", "state", "since", "until", "source")
    for pin in pins:
        table.add_row(*map(escape, _pin_row(pin)))
    for fact in facts:
        table.add_row(*map(escape, _fact_row(fact)))
    Console().print(table)


async def _meant(rows: FactRows, beginning: str) -> Fact:
    """The one fact whose id begins so."""
    found = [fact for fact in await rows.all_facts() if fact.id.startswith(beginning)]
    if len(found) != 1:
        number = "no fact" if not found else f"{len(found)} facts"
        raise InputError(f"There is {number} whose id begins with {beginning!r}: `everthread facts` lists yours.")
    return found[0]


def _fact_row(fact: Fact) -> tuple[str, ...]:
    kind = fact.kind if fact.subject == USER else f"{fact.kind} ({fact.subject})"
    until = f"{fact.valid_to:%Y-%m-%d}" if fact.valid_to else ""
    source = f"{fact.origin}: {fact.source_id}"
    return fact.id[:8], kind, fact.text, fact.state, f"{fact.valid_from:%Y-%m-%d}", until, source


def _pin_row(pin: Pin) -> tuple[str, ...]:
    until = f"{pin.forgotten_at:%Y-%m-%d}" if pin.forgotten_at else ""
    state = "forgotten" if pin.forgotten_at else f"{pin.kind}, {pin.score:g}"
    return pin.id[:8], "pin", pin.text, state, f"{pin.created_at:%Y-%m-%d}", until, f"user: {pin.source_id}"
