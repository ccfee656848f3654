"""Forget: a message, a span of time, a fact, a conversation, everything; what will go first, and the proof after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.responses import Response

from ..maintenance.proof import prove
from ..runtime.forget import foreseen, forget, needles, records
from ..runtime.forget_wanted import Wanted, part_named, whole_threads
from ..state.errors import InputError
from ..storage.archive import ArchivedMessage
from ..storage.overview import Overview
from .threads import named_threads
from .visit import Visit

SHOWN: Final = 20
"""Messages that are shown before they go."""

_FIELDS: Final = ("thread", "message", "fact", "since", "until", "all")


async def page(visit: Visit) -> Response:
    """What would go, where something is named; else the ways to name it, and the record of what went."""
    asked = {name: visit.asked(name) for name in _FIELDS}
    if not any(asked.values()):
        rows = list(reversed(await records(visit.user.rows)))[:50]
        return await visit.show("forget.html", records=rows, threads=await named_threads(visit))
    wanted = await _wanted(visit, asked)
    going = await foreseen(visit.user, wanted)
    return await visit.show(
        "forget_ask.html",
        asked={name: value for name, value in asked.items() if value},
        what=wanted.kind,
        going=going.deleted,
        messages=await _some(visit, wanted.threads, going.ids),
        whole=len(wanted.threads),
    )


async def now(visit: Visit) -> Response:
    """Forget it; where the page is the operator's and they ask for it, prove that it is gone."""
    form = await visit.form()
    wanted = await _wanted(visit, form)
    if wanted.kind == "user" and form.get("sure", "").strip() != visit.user_id:
        raise InputError("To forget everything, write the name of the user that the page shows: nothing was forgotten.")
    is_proven = visit.site.is_own and "prove" in form
    resources = visit.site.graph.resources
    looked_for = await needles(visit.user, wanted) if is_proven else None
    gone = await forget(visit.user, wanted, asked_by="page", locks=resources.locks)
    proof = None if looked_for is None else await prove(resources.database, visit.user_id, looked_for)
    return await visit.show("forgotten.html", gone=gone, proof=proof)


async def _wanted(visit: Visit, asked: Mapping[str, str]) -> Wanted:
    """What is named: whole conversations, or a part."""
    thread = asked.get("thread") or None
    if thread is not None:
        await visit.thread(thread)
    message, fact = asked.get("message"), asked.get("fact")
    since, until = visit.moment("since", asked), visit.moment("until", asked, end=True)
    if not (message or fact or since or until):
        if not thread and not asked.get("all"):
            raise InputError("Name what to forget.")
        return await whole_threads(visit.user, thread)
    return await part_named(
        visit.user, thread, messages=[message] if message else (), since=since, until=until, fact=fact or None
    )


async def _some(visit: Visit, threads: Sequence[str], ids: Mapping[str, frozenset[str]]) -> list[ArchivedMessage]:
    """Some of the messages, in the order they were said."""
    found: list[ArchivedMessage] = []
    for thread in threads[:SHOWN]:
        found += await visit.memory.ahistory(thread, limit=max(1, SHOWN // len(threads)), with_left=True)
    for thread, of_thread in ids.items():
        found += await Overview(visit.user.rows).messages(thread, sorted(of_thread)[: 10 * SHOWN])
        if len(found) >= SHOWN:
            break
    return sorted(found, key=lambda message: (message.created_at, message.seq))[:SHOWN]
