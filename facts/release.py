"""What becomes of the facts of other threads when threads are deleted: only what was said nowhere else is gone."""

from __future__ import annotations

from collections.abc import Sequence

from ..storage.user_rows import Exchange
from .ledger import changed, without_facts
from .rows import facts_of, store


async def release_facts(rows: Exchange, threads: Sequence[str]) -> None:
    """Before threads are deleted: what their facts had ended holds again, and what confirmed them is read again.

    Args:
        rows: the user's.
        threads: those that are about to be deleted, with their facts.
    """
    names = list(threads)
    touched = facts_of(rows, await rows.fetch("facts.touched", threads=names))
    gone = {fact.id for fact in touched if fact.thread_id in names}
    after = changed(touched, without_facts(touched, gone))
    if after:
        await store(rows, after)
    await rows.fetch("facts.read_again", threads=names)
