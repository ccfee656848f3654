"""What is known about a user, tended by hand: listed, added to, corrected, confirmed, forgotten."""

from __future__ import annotations

from datetime import datetime

from ..runtime.forget import forget, set_fact_aside
from ..runtime.forget_wanted import a_fact
from ..runtime.own_facts import add_fact, confirm_fact, said_in
from ..runtime.resources import Resources
from ..runtime.user import User
from ..state.errors import InputError
from ..state.fact_records import Fact
from ..state.records import Deleted
from ..storage.loop_thread import blocking


class Known:
    """The part of a memory that is about facts; see `ConversationMemory`."""

    user: User
    resources: Resources

    async def afacts(self, *, as_of: datetime | None = None) -> list[Fact]:
        """What is known about the user, also what is superseded (`valid_to`) or forgotten (`state`).

        Args:
            as_of: a moment, with its zone: only what was known then, and held then.

        Raises:
            InputError: `as_of` has no zone.
            StorageError: the storage fails.
        """
        facts = await self.user.facts.all_facts()
        if as_of is None:
            return facts
        check_moment(as_of)
        return [fact for fact in facts if fact.state != "forgotten" and _held(fact, as_of)]

    async def aadd_fact(self, text: str, *, corrects: str | None = None) -> list[Fact]:
        """Keep what the user wants known of them, also in the place of a fact; returns the facts in it.

        Raises:
            InputError: the text is empty, or there is no fact with the id `corrects` that holds.
        """
        return await add_fact(self.user.rows, text, corrects=corrects)

    async def aconfirm_fact(self, fact_id: str) -> Fact:
        """Say that a fact holds.

        Raises:
            InputError: there is none with this id that holds.
        """
        return await confirm_fact(self.user.facts, fact_id)

    async def afact_source(self, fact: Fact) -> str | None:
        """Why a fact is believed: the message that it was said in; None where that is gone."""
        return await said_in(self.user.archive, fact)

    async def aforget_fact(self, fact_id: str, *, keep_said: bool = False) -> Deleted:
        """Forget a fact or a pin with the messages that say it, and with all that was made from these.

        Args:
            fact_id: its id.
            keep_said: whether the messages stay, and are found: then the fact is only never used again.

        Raises:
            InputError: there is none with this id.
            StorageError: the storage fails; nothing was forgotten.
        """
        if keep_said:
            await set_fact_aside(self.user, fact_id, asked_by="program")
            return Deleted(threads=0, messages=0, summaries=0, facts=1, pins=0)
        wanted = await a_fact(self.user, fact_id)
        return await forget(self.user, wanted, asked_by="program", locks=self.resources.locks)

    facts = blocking(afacts)
    add_fact = blocking(aadd_fact)
    confirm_fact = blocking(aconfirm_fact)
    fact_source = blocking(afact_source)
    forget_fact = blocking(aforget_fact)


def check_moment(as_of: datetime | None) -> None:
    """Refuse a moment without a zone.

    Raises:
        InputError: it has none.
    """
    if as_of is not None and as_of.tzinfo is None:
        raise InputError("The moment `as_of` has no zone: expected an aware datetime, such as datetime.now(UTC).")


def _held(fact: Fact, moment: datetime) -> bool:
    return max(fact.said_at, fact.valid_from) <= moment and (fact.valid_to is None or moment < fact.valid_to)
