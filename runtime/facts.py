"""Facts in a turn: what is known goes into the prompt, what was said is read afterwards (seeds `002`, `004`)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from langchain_core.messages import AnyMessage

from ..compression.drafts import FactDraft
from ..facts.accept import accept, accept_pins
from ..facts.extraction import Occasion
from ..facts.ledger import merge
from ..facts.reading import Ledger
from ..facts.sheet import asked_by, choose
from ..state.errors import StorageError
from ..state.fact_records import FactSheet
from ..state.messages import message_text, newest_question, role_of
from ..state.records import Recall
from ..storage.archive_rows import said_at
from .relevance import asking_share
from .turn import Turn

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)

_ALIKE: Final = 20
"""Facts read beyond those that are shown, because some are in the words of a pin or of another fact."""

_ALWAYS_SENT: Final = 3
"""Messages at the end of the chain that every context holds (seed `002`, "Always Include Minimum Recent Messages")."""


_ASKED_AGAIN: Final = 5
"""Memories of a prompt whose messages count as asked for again: behind the first five stands what is likely enough."""


def learn(turn: Turn, recall: Recall = Recall()) -> None:  # noqa: B008  # never changed
    """Begin to read what the user said since the last time, and to keep the facts and pins in it.

    The messages of the first memories in its prompt gain importance. A turn that is resumed finds nothing twice, and
    one that failed is caught up with.
    """
    if turn.settings.facts:
        found = [memory for memory in recall.memories if memory.source_type == "message"][:_ASKED_AGAIN]
        again = [(memory.thread_id, id_) for memory in found for id_ in memory.source_ids]
        turn.user.learn_later(turn.settings.auto_pin_score, again)


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
    drafts = list(drafts)
    facts = await asyncio.to_thread(accept, drafts, said)
    pins = await asyncio.to_thread(accept_pins, drafts, said) if turn.settings.auto_pin_score is not None else []
    if not facts and not pins:
        return 0

    def change(ledger: Ledger) -> Ledger:
        known = {pin.id: pin for pin in (*pins, *ledger.pins)}
        return Ledger(merge(ledger.facts, facts), tuple(known.values()))

    return len(await turn.user.facts.update(facts, change))


async def known_facts(state: ConversationState, turn: Turn) -> FactSheet:
    """The pins and facts that bear on the newest question; none, and the reason, where the database fails."""
    settings = turn.settings
    if not settings.facts or not (settings.max_facts or settings.max_pins):
        return FactSheet()
    await turn.user.caught_up("facts")
    live = [str(message.id) for message in turn.live(state).view]
    question = newest_question(state["messages"])
    asked = await asyncio.to_thread(lambda: asked_by(question, asks=bool(asking_share(question))))
    try:
        found, pins = await turn.user.facts.sheet(
            turn.thread_id, asked.terms, live=live, newest=live[-_ALWAYS_SENT:],
            pool=2 * settings.max_facts + 10, most=settings.max_facts + settings.max_pins + _ALIKE,
            max_pins=settings.max_pins, this_thread_only=settings.memory_scope == "thread",
        )  # fmt: skip
    except StorageError as error:
        logger.warning("The facts could not be read: %s", error)
        return FactSheet(error=str(error))
    return choose(found, pins, settings.max_facts, asked)
