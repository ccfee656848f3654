"""`FactRows`: facts and pins in Postgres. Each write is an upsert on a stable id; a message is read for facts once."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from ..compression.importance import CORRECTED
from ..state.fact_records import Fact, Pin
from ..state.records import EVERTHREAD_NAMESPACE
from ..storage.importance import Importance
from ..storage.readable import Rows, readable
from ..storage.term_keys import term_keys
from ..storage.user_rows import Exchange, UserRows
from ..storage.values import Json, Row
from .clauses import MOST_CHARACTERS
from .extraction import Occasion
from .ledger import changed, meaning
from .reading import Ledger, Message
from .sheet import weight

UNREAD: Final = 50
"""Messages that are read for facts at once."""

_MOST: Final = 5_000
"""Open facts that "forget ..." looks through; the newest ones."""


class FactRows:
    """The facts and pins of one user.

    Args:
        rows: the user's.
    """

    def __init__(self, rows: UserRows) -> None:
        self._rows = rows
        self._may_be_outdated = True

    async def unread(self, limit: int = UNREAD) -> list[Message]:
        """The user's messages that were not read for facts yet, the oldest first, each with what was said before it."""
        rows = await self._rows.fetch(
            "facts.unread", limit=limit, characters=MOST_CHARACTERS, own_name=self._rows.user_id
        )
        return readable(self._rows, "messages", rows, _message)

    async def update(
        self,
        candidates: Collection[Fact],
        change: Callable[[Ledger], Ledger],
        *,
        everything: bool = False,
        read: Sequence[Occasion] = (),
    ) -> tuple[Fact, ...]:
        """Change a user's ledger, and mark messages as read, in one transaction; returns the facts that changed.

        Args:
            candidates: the facts that come in: what may have to do with them is loaded.
            change: the ledger after, from the one before. It may be called twice.
            everything: whether all open facts and all pins are loaded.
            read: the messages that need not be read again. If one of them is gone, nothing is changed.

        Raises:
            StorageError: the database fails; then nothing was changed.
        """

        async def work(rows: Exchange) -> tuple[Fact, ...]:
            where = {"threads": [said.thread_id for said in read], "ids": [said.source_id for said in read]}
            if read and len(await rows.fetch("facts.read", **where)) < len(read):
                await rows.fetch("facts.not_read", **where)
                return ()
            before = await _load(rows, candidates, everything=everything)
            after = change(before)
            facts = changed(before.facts, after.facts)
            known = {pin.id: pin for pin in before.pins}
            pins = [pin for pin in after.pins if known.get(pin.id) != pin]
            if facts:
                await store(rows, facts)
            if pins:
                await rows.fetch("facts.upsert_pins", rows=Json([pin.model_dump(mode="json") for pin in pins]))
            await _weigh(rows, before.facts, facts, pins)
            return facts

        return await self._rows.exclusive(work)

    async def renew(self, read_again: Callable[[Fact, str], Fact]) -> bool:
        """Bring facts that an earlier version stored up to date; returns whether there may be more.

        Args:
            read_again: a fact as it is read today, from what is stored and the message it was said in, which may be
                gone. It is called in a thread.

        Raises:
            StorageError: the database fails.
        """

        async def work(rows: Exchange) -> bool:
            outdated = await rows.fetch("facts.outdated", limit=UNREAD, characters=MOST_CHARACTERS)
            pairs = readable(rows, "facts", outdated, lambda row: (_fact_of(row), row["said"] or ""))
            facts = await asyncio.to_thread(lambda: [read_again(*pair) for pair in pairs])
            if facts:
                await store(rows, facts, read_again=True)
            return bool(facts)

        self._may_be_outdated = self._may_be_outdated and await self._rows.exclusive(work)
        return self._may_be_outdated

    async def sheet(
        self, thread_id: str, terms: Iterable[str], *, live: Sequence[str], newest: Sequence[str],
        pool: int, most: int, max_pins: int, this_thread_only: bool,
    ) -> tuple[Iterator[Fact], list[Pin]]:  # fmt: skip
        """The facts and pins among which a turn's are chosen, the most important facts first, in one round trip.

        Args:
            thread_id: the thread.
            terms: the words of the question.
            live: ids of the live chain; what is pinned by itself from there is left out.
            newest: ids of the messages that are in every context anyway: no facts from these.
            pool: facts that are looked at: this many by their weight, and this many that the question names.
            most: facts, at most.
            max_pins: pins, at most.
            this_thread_only: whether other threads count.
        """
        rows = await self._rows.fetch(
            "facts.sheet",
            thread_id=thread_id,
            thread_only=thread_id if this_thread_only else None,
            keys=term_keys(self._rows.user_id, list(terms)),
            live=list(live),
            newest=list(newest),
            pool=pool,
            most=most,
            max_pins=max_pins,
        )
        found = (row["row"] for row in rows if row["what"] == "fact")
        facts = (fact for row in found for fact in facts_of(self._rows, [row]))  # as many as are asked for
        return facts, _pins_of(self._rows, [row["row"] for row in rows if row["what"] == "pin"])

    async def all_facts(self) -> list[Fact]:
        """All facts of a user, in every state, in the order they were said.

        Of those that were said in what has left its conversation (edited, or of an earlier branch) none is open.
        """
        return facts_of(self._rows, map(_as_left, await self._rows.fetch("facts.all")))

    async def pins(self, *, forgotten: bool = False) -> list[Pin]:
        """The pins of a user, the oldest first; without `forgotten` those that stand."""
        return _pins_of(self._rows, await self._rows.fetch("facts.pins", forgotten=forgotten))

    async def pin(self, pin: Pin) -> None:
        """Keep a pin; one of the same id gets its score, also where it was forgotten."""

        async def work(rows: Exchange) -> None:
            await rows.fetch("facts.upsert_pins", rows=Json([pin.model_dump(mode="json")]))
            await rows.fetch("facts.pin_again", id=pin.id, score=pin.score)
            await _weigh(rows, (), (), [pin])

        await self._rows.exclusive(work)

    async def related(self, told: Collection[Fact]) -> list[Fact]:
        """The facts that may have to do with these: of the same thing, or saying the same."""
        return list((await _load(self._rows, told, everything=False)).facts)

    async def forget(self, id_: str, moment: datetime) -> str | None:
        """Forget one fact or pin from this moment on; returns its text, or None where there is none to forget."""
        values: dict[str, Any] = {"id": id_, "moment": moment}
        rows = await self._rows.fetch("facts.forget_fact", **values)
        rows = rows or await self._rows.fetch("facts.forget_pin", **values)
        return str(rows[0]["text"]) if rows else None


async def _weigh(rows: Exchange, before: Iterable[Fact], after: Iterable[Fact], pins: Iterable[Pin]) -> None:
    """Messages that are pinned count at least as much as their pins; those whose facts are superseded, less."""
    for pin in pins:
        if pin.forgotten_at is None:
            await Importance(rows).move([(pin.thread_id, pin.source_id)], least=pin.score)
    held = {fact.id for fact in before if fact.is_open}
    corrected = [fact for fact in after if fact.state == "superseded" and fact.id in held]
    await Importance(rows).move([(fact.thread_id, fact.source_id) for fact in corrected], step=CORRECTED)


async def _load(rows: UserRows | Exchange, candidates: Collection[Fact], *, everything: bool) -> Ledger:
    wanted = [fact_row(rows.user_id, fact) for fact in candidates]
    facts: list[Row] = []
    if wanted:
        facts = await rows.fetch(
            "facts.related",
            meanings=[row["meaning"] for row in wanted],
            slots=[row["slot"] for row in wanted if row["slot"]],
            ids=[row["id"] for row in wanted],
        )
    pins: list[Row] = []
    if everything:
        facts += await rows.fetch("facts.open", limit=_MOST)
        pins = await rows.fetch("facts.pins", forgotten=False)
    known = {fact.id: fact for fact in facts_of(rows, facts)}
    return Ledger(tuple(known.values()), tuple(_pins_of(rows, pins)))


async def store(rows: Exchange, facts: Iterable[Fact], *, read_again: bool = False) -> None:
    """Write facts; `read_again`: they are not those of an earlier version any more."""
    values = [fact_row(rows.user_id, fact) for fact in facts]
    await rows.fetch("facts.upsert_facts", rows=Json(values), read_again=read_again)


def fact_row(user_id: str, fact: Fact) -> dict[str, Any]:
    """The columns of a fact, as JSON."""
    slot = _hash(fact.slot) if fact.slot is not None else None
    return {
        **fact.model_dump(mode="json"),
        "meaning": _hash(meaning(fact)),
        "slot": slot,
        "weight": weight(fact),
        "term_keys": term_keys(user_id, fact.terms),
    }


def _fact_of(row: Row) -> Fact:
    """The fact of a row."""
    return Fact.model_validate({name: row[name] for name in Fact.model_fields})


def facts_of(user: Rows, rows: Iterable[Row]) -> list[Fact]:
    """The facts of rows of the table."""
    return readable(user, "facts", rows, _fact_of)


def _as_left(row: Row) -> Row:
    """The row of a fact as it is where the message that says it has left its conversation."""
    if row["left_at"] is None or row["valid_to"] is not None:
        return row
    return {**row, "state": "superseded", "valid_to": max(row["left_at"], row["valid_from"])}


def _pins_of(user: Rows, rows: Iterable[Row]) -> list[Pin]:
    return readable(user, "pins", rows, lambda row: Pin.model_validate({name: row[name] for name in Pin.model_fields}))


def _message(row: Row) -> Message:
    if row["created_at"] is None:
        raise ValueError("a message has a time")
    occasion = Occasion(row["thread_id"], row["id"], row["created_at"])
    before, before_id, reply = row["before"] or "", row["before_id"] or "", row["reply"] or ""
    return Message(occasion, row["text"], before, before_id, reply, bool(row["of_another"]))


def _hash(text: str) -> str:
    return str(uuid.uuid5(EVERTHREAD_NAMESPACE, text))
