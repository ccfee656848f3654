"""Reading messages for facts, a batch at a time: from the archive, through the patterns, into the ledger."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from langchain_core.messages import HumanMessage

from ..compression.importance import score_importance
from ..state.fact_records import Fact
from .counts import COUNT, MORE
from .endings import is_ending
from .ledger import DEPENDED_ON
from .reading import FactReading, Message, apply, read_again, read_facts
from .rows import UNREAD, FactRows

logger = logging.getLogger(__name__)


async def read_batch(rows: FactRows, auto_pin_score: float | None) -> tuple[int, bool]:
    """Read the oldest messages of a user that were not read yet; returns how many facts changed, and if more wait.

    Facts that an earlier version stored are read again first.

    A message is marked as read in the transaction that stores its facts, so that it is read once whatever happens.

    Raises:
        StorageError: the database fails; what was not stored is read again.
    """
    if await rows.renew(_again):
        return 0, True
    messages = await rows.unread()
    if not messages:
        return 0, False
    readings = await asyncio.to_thread(_read_all, messages, auto_pin_score)
    facts = await rows.update(
        [fact for reading in readings for fact in reading.facts],
        lambda ledger: apply(ledger, readings),
        everything=any(reading.forgets or any(map(_may_touch_others, reading.facts)) for reading in readings),
        read=[message.said for message in messages],
    )
    return len(facts), len(messages) == UNREAD


def _may_touch_others(fact: Fact) -> bool:
    return is_ending(fact) or fact.attribute in DEPENDED_ON or (fact.attribute or "").startswith((COUNT, MORE))


def _importance(text: str) -> float:
    return score_importance(HumanMessage(text))


def _read_all(messages: Sequence[Message], auto_pin_score: float | None) -> list[FactReading]:
    readings = []
    for message in messages:
        try:
            readings.append(read_facts(message, score=_importance, auto_pin_score=auto_pin_score))
        except Exception as error:  # no message may keep the others from being read, now and in every later turn
            logger.warning("A message could not be read for facts: %s", type(error).__name__)
    return readings


def _again(fact: Fact, message: str) -> Fact:
    try:
        return read_again(fact, message)
    except Exception as error:  # nor may a fact
        logger.warning("A fact could not be read again: %s", type(error).__name__)
        return fact
