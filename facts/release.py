"""What becomes of other facts when facts are deleted: only what was said nowhere else is gone."""

from __future__ import annotations

from collections.abc import Sequence

from ..storage.user_rows import Exchange
from .ledger import changed, without_facts
from .rows import fact_of, store


async def release_facts(rows: Exchange, gone: Sequence[str]) -> None:
    """Before facts are deleted: what they had ended holds again, and what confirmed them is read again.

    Args:
        rows: the user's, from which the messages that are forgotten are gone.
        gone: ids of the facts.
    """
    touched = [fact_of(row) for row in await rows.fetch("facts.touched", gone=list(gone))]
    after = changed(touched, without_facts(touched, frozenset(gone)))
    if after:
        await store(rows, after)
    await rows.fetch("facts.read_again", gone=list(gone))
