"""What the user themselves does with what is known of them: add, correct, confirm, and ask why it is believed."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Final

from langchain_core.messages import HumanMessage

from ..facts.endings import is_ending
from ..facts.extraction import Occasion, extract
from ..facts.language import language_in
from ..facts.ledger import merge, superseded
from ..facts.rows import FactRows
from ..facts.words import content_terms
from ..state.errors import InputError
from ..state.fact_records import Fact
from ..state.messages import message_text
from ..state.records import EVERTHREAD_NAMESPACE, now
from ..storage.archive import Archive
from ..storage.user_rows import UserRows

THREAD: Final = "facts"
"""The name of the thread in which what a user adds is kept as said; each user has one."""


async def add_fact(user: UserRows, text: str, *, corrects: str | None = None) -> list[Fact]:
    """Keep what a user wants known of them, as a message of a thread of its own; returns the facts in it.

    Args:
        user: whose.
        text: in the user's words.
        corrects: the id of a fact whose place it takes.

    Raises:
        InputError: there is no text, or no such fact that holds.
        StorageError: the storage fails.
    """
    if not text.strip():
        raise InputError("Expected a non-empty text for the fact.")
    rows = FactRows(user)
    old = await _open_fact(rows, corrects) if corrects is not None else None
    said = await _as_said(Archive(user), user.user_id, text)
    terms = content_terms(text, language_in(text))
    whole = said.fact(text, kind="biography", terms=terms, confidence=1.0, origin="user")
    new = list(extract(text, said, origin="user")) or [whole]

    def change(facts: Sequence[Fact]) -> tuple[Fact, ...]:
        merged = merge(facts, new)
        if old is None:
            return merged
        return tuple(superseded(fact, new[0]) if fact.id == old.id and fact.is_open else fact for fact in merged)

    await rows.update(
        [*new, *([old] if old else [])],
        lambda ledger: ledger._replace(facts=change(ledger.facts)),
        everything=any(map(is_ending, new)),
        read=[said],
    )
    return new


async def _as_said(archive: Archive, user_id: str, text: str) -> Occasion:
    """Archive what a user adds as a message of theirs."""
    thread_id = str(uuid.uuid5(EVERTHREAD_NAMESPACE, "\x1f".join([THREAD, user_id])))
    message, moment = HumanMessage(text, id=str(uuid.uuid4())), now()
    await archive.own_thread(thread_id, THREAD)
    await archive.add_messages(thread_id, [message])
    return Occasion(thread_id, str(message.id), moment)


async def confirm_fact(rows: FactRows, fact_id: str) -> Fact:
    """Say that a fact holds: it is sure from now on, and in no conflict.

    Raises:
        InputError: there is no such fact that holds.
    """
    fact = await _open_fact(rows, fact_id)
    sure = fact.model_copy(update={"state": "current", "superseded_by": None, "confirmed_at": now(), "confidence": 1.0})
    await rows.update([sure], lambda ledger: ledger._replace(
        facts=tuple(sure if known.id == sure.id else known for known in ledger.facts)
    ))  # fmt: skip
    return sure


async def said_in(archive: Archive, fact: Fact) -> str | None:
    """The message from which a fact is believed, as it was said; None where it is gone."""
    found = await archive.whole_messages(fact.thread_id, [fact.source_id])
    return message_text(found[fact.source_id]) if fact.source_id in found else None


async def _open_fact(rows: FactRows, fact_id: str) -> Fact:
    """The fact that holds with this id.

    Raises:
        InputError: there is none.
    """
    found = next((fact for fact in await rows.all_facts() if fact.id == fact_id and fact.is_open), None)
    if found is None:
        raise InputError(f"There is no fact with the id {fact_id!r} that holds: `everthread facts` lists yours.")
    return found
