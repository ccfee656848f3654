"""Facts and pins: what is known about the user, since when and from where; corrected, confirmed, pinned, set aside."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from starlette.responses import Response

from ..state.errors import InputError
from ..state.fact_records import Fact
from ..state.records import now
from .charts import WIDTH
from .visit import Visit

PAGE: Final = 50
"""Facts of a page."""

_STATES: Final = {"": "known now", "current": "sure", "conflicting": "doubtful", "superseded": "superseded",
                  "forgotten": "set aside", "all": "all"}  # fmt: skip


class _Interval(NamedTuple):
    """A fact on the timeline: its fact, and where its bar begins and how wide it is."""

    fact: Fact
    x: float
    width: float


async def facts(visit: Visit) -> Response:
    """The pins and the facts, those in a state, or with a text; as a list or on a timeline."""
    state, wanted, page = visit.asked("state"), visit.asked("q").strip().lower(), visit.number("page", 1, 100_000)
    if state not in _STATES:
        raise InputError("There is no such state of a fact: choose one that the page names.")
    known = await visit.memory.afacts()
    counts = {name: sum(_is_in(fact, name) for fact in known) for name in _STATES}
    chosen = [fact for fact in known if _is_in(fact, state) and wanted in f"{fact.text}\n{fact.subject}".lower()]
    is_timeline = visit.asked("view") == "timeline"
    chosen.sort(key=lambda fact: fact.valid_from, reverse=True)
    if is_timeline:
        chosen.sort(key=lambda fact: fact.slot or "\uffff")  # what followed what stands together
    shown = chosen[(page - 1) * PAGE : page * PAGE]
    return await visit.show(
        "facts.html",
        states=_STATES,
        counts=counts,
        state=state,
        wanted=visit.asked("q"),
        facts=shown,
        total=len(chosen),
        page=page,
        more=page + 1 if len(chosen) > page * PAGE else None,
        pins=await visit.memory.apins() if page == 1 and not wanted and not is_timeline else [],
        timeline=_intervals(shown, now()) if is_timeline else [],
        days=_scale(shown, now()) if is_timeline else [],
    )


def _is_in(fact: Fact, state: str) -> bool:
    return state == "all" or (fact.is_open if not state else fact.state == state)


def _intervals(shown: Sequence[Fact], until: datetime) -> list[_Interval]:
    """The facts on a scale from the first to now; a bar is never too thin to be seen."""
    if not shown:
        return []
    first = min(fact.valid_from for fact in shown)
    scale = WIDTH / max((until - first).total_seconds(), 1.0)
    placed = []
    for fact in shown:
        x = min(max(0.0, (fact.valid_from - first).total_seconds() * scale), WIDTH - 4)
        width = ((fact.valid_to or until) - fact.valid_from).total_seconds() * scale
        placed.append(_Interval(fact, round(x, 1), round(min(max(4.0, width), WIDTH - x), 1)))
    return placed


def _scale(shown: Sequence[Fact], until: datetime) -> list[datetime]:
    """Where the timeline begins, and its middle, where that is another day."""
    first = min((fact.valid_from for fact in shown), default=until)
    middle = first + (until - first) / 2
    return [first, middle] if first.date() < middle.date() < until.date() else [first]


async def fact(visit: Visit) -> Response:
    """One fact: its interval, what it was said in, what it superseded or was superseded by."""
    known = {fact.id: fact for fact in await visit.memory.afacts()}
    if (found := known.get(visit.asked("id"))) is None:
        raise InputError("There is no such fact: it was forgotten.")
    beside = [one for one in known.values() if one.id != found.id and one.slot is not None and one.slot == found.slot]
    beside += [one for one in known.values() if found.id == one.superseded_by and one not in beside]
    return await visit.show(
        "fact.html",
        fact=found,
        source=await visit.memory.afact_source(found),
        successor=known.get(found.superseded_by or ""),
        beside=sorted(beside, key=lambda one: one.valid_from),
    )


async def add(visit: Visit) -> Response:
    """Keep what the user wants known."""
    await visit.memory.aadd_fact(await visit.needed("text"))
    return visit.go("facts", done="added")


async def correct(visit: Visit) -> Response:
    """Put what the user says in the place of a fact."""
    (new, *_) = await visit.memory.aadd_fact(await visit.needed("text"), corrects=await visit.needed("id"))
    return visit.go("fact", id=new.id, done="corrected")


async def confirm(visit: Visit) -> Response:
    """Note that a fact holds."""
    sure = await visit.memory.aconfirm_fact(await visit.needed("id"))
    return visit.go("fact", id=sure.id, done="confirmed")


async def set_aside(visit: Visit) -> Response:
    """Never use a fact again, and leave what was said."""
    await visit.memory.aforget_fact(await visit.needed("id"), keep_said=True)
    return visit.go("facts", done="set-aside")


async def pin(visit: Visit) -> Response:
    """Pin a text: that of a fact, or any."""
    thread = await visit.thread(await visit.needed("thread"))
    source = (await visit.form()).get("source") or None
    await visit.memory.apin(await visit.needed("text"), thread_id=thread, source_id=source)
    return visit.go("facts", done="pinned")


async def unpin(visit: Visit) -> Response:
    """Remove a pin."""
    await visit.memory.aunpin(await visit.needed("id"))
    return visit.go("facts", done="unpinned")
