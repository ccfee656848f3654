"""Facts in a turn: what is known goes into the prompt, what was said is read afterwards (seeds `002`, `004`)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Final

from langchain_core.messages import AnyMessage

from ..compression.drafts import FactDraft
from ..facts.accept import accept
from ..facts.extraction import Occasion
from ..facts.ledger import merge
from ..facts.sheet import choose, question_terms, told_once, weight
from ..state.conversation import ConversationState
from ..state.errors import StorageError
from ..state.fact_records import Fact, FactSheet, Pin
from ..state.messages import message_text, newest_question, role_of
from ..storage.archive_rows import said_at
from .relevance import QUESTION, asking_share
from .turn import Turn

logger = logging.getLogger(__name__)

_NAMED: Final = 0.34
"""The share of its words by which a message that asks in passing names a fact; of a question one word is enough."""

_STANDING: Final = 2
"""Times as many facts as are shown that are there to be shown: some were said since the conversation was cut."""

_ALWAYS_SENT: Final = 3
"""Messages at the end of the chain that every context holds (seed `002`, "Always Include Minimum Recent Messages")."""


def learn(turn: Turn) -> None:
    """Begin to read what the user said since the last time, and to keep the facts and pins in it.

    A turn that is resumed finds nothing twice, and one that failed is caught up with.
    """
    if turn.settings.facts:
        turn.user.learn_later(turn.settings.auto_pin_score)


async def keep_summary_facts(turn: Turn, drafts: Iterable[FactDraft], sources: Sequence[AnyMessage]) -> int:
    """Keep the facts that a summarizer listed beside its summary; returns how many are new or changed.

    Args:
        turn: whose facts.
        drafts: what the model gave. What its sources do not say is dropped.
        sources: the messages that were summarized.

    Raises:
        StorageError: the database fails; nothing was kept.
    """
    if not turn.settings.facts:
        return 0
    said = [
        (Occasion(turn.thread_id, str(message.id), said_at(message)), message_text(message))
        for message in sources
        if role_of(message) == "user"
    ]
    facts = await asyncio.to_thread(accept, drafts, said)
    if not facts:
        return 0
    return len(await turn.user.facts.update(facts, lambda ledger: ledger._replace(facts=merge(ledger.facts, facts))))


async def known_facts(state: ConversationState, turn: Turn) -> FactSheet:
    """The pins and facts that bear on the newest question; none, and the reason, where the database fails."""
    settings = turn.settings
    if not settings.facts or not (settings.max_facts or settings.max_pins):
        return FactSheet()
    await turn.user.caught_up("facts")
    live = [str(message.id) for message in turn.live(state).view]
    question = newest_question(state["messages"])
    share = await asyncio.to_thread(asking_share, question)
    terms = await asyncio.to_thread(question_terms, question) if share else ()
    pool = 2 * settings.max_facts + 10
    try:
        found, pins = await turn.user.facts.sheet(
            turn.thread_id, terms, live=live, newest=live[-_ALWAYS_SENT:],
            pool=pool, most=2 * pool,
            max_pins=settings.max_pins, this_thread_only=settings.memory_scope == "thread",
        )  # fmt: skip
    except StorageError as error:
        logger.warning("The facts could not be read: %s", error)
        return FactSheet(error=str(error))
    return await asyncio.to_thread(_sheet, list(found), pins, settings.max_facts, frozenset(terms), share)


def _sheet(found: Sequence[Fact], pins: Sequence[Pin], most: int, asked: frozenset[str], share: float) -> FactSheet:
    least = 1 if share >= QUESTION else _NAMED * len(asked)
    by_weight = sorted(found, key=lambda fact: (weight(fact), fact.said_at, fact.id), reverse=True)
    named = frozenset(fact.id for fact in found if asked and len(asked.intersection(fact.terms)) >= least)
    standing = told_once(by_weight, pins, _STANDING * most)
    return choose(found, pins, most).model_copy(update={"standing": standing, "named": named})
