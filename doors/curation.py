"""What seed `002` has as an interface: see a context before it is sent, summarize a range, tend pins."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from langchain_core.messages import AnyMessage, HumanMessage

from ..compression.chain import Batch, summaries_of
from ..facts.words import key
from ..runtime.make_summary import make_summary
from ..runtime.prompt import Asked, assembled, shown_of
from ..runtime.turn import Turn
from ..runtime.user import User
from ..state.chain import summary_of
from ..state.errors import InputError
from ..state.fact_records import MANUAL_SCORE, Fact, FactSheet, Pin
from ..state.messages import message_text
from ..state.records import Memory, Recall, Summary, now
from ..state.turn_records import ContextReport
from ..storage.archive import ArchivedMessage
from ..storage.loop_thread import blocking
from .steps import found_for

_MOST: Final = 500
_PINNED: Final = 1_000


class WeighedMessage(NamedTuple):
    """A message of a context, and how important it is, in [0, 1]."""

    message: AnyMessage
    importance: float


class BuiltContext(NamedTuple):
    """What a model would be shown for a question, and what it is made of.

    Attributes:
        messages: the prompt.
        recent: the messages of the conversation in it, before the question.
        summaries: those in it.
        pins: those in it.
        facts: those in it.
        memories: those in it.
        report: tokens by section, and what was left out.
    """

    messages: Sequence[AnyMessage]
    recent: Sequence[WeighedMessage]
    summaries: Sequence[Summary]
    pins: Sequence[Pin]
    facts: Sequence[Fact]
    memories: Sequence[Memory]
    report: ContextReport

    @property
    def tokens(self) -> int:
        """What the prompt takes."""
        return self.report.tokens


class Curated:
    """The part of a memory that is looked at and tended by hand; see `ConversationMemory`."""

    user: User

    def _turn(self, thread_id: str, *, only_looks: bool = False, **changes: Any) -> Turn:
        raise NotImplementedError

    async def abuild_context(
        self, question: str, *, thread_id: str, budget: int | None = None, instructions: str = ""
    ) -> BuiltContext:
        """What a model would be shown for a question, and what it is made of. Nothing is kept or forgotten by this.

        Arguments and errors as for `acontext`.
        """
        turn = self._turn(thread_id, only_looks=True)
        state = await found_for([HumanMessage(question, id=str(uuid.uuid4()))], turn)
        asked = Asked(None, instructions=instructions)
        made = await assembled(state, turn, budget=budget, asked=asked)
        report: ContextReport = made["context_report"]
        items = {section.name: section.items for section in report.sections}
        view = shown_of(state, turn, report.budget, asked).view
        said = {str(m.id) for m in view if m.id} - {str(m.id) for m in (*summaries_of(view), *state["messages"])}
        sent: Sequence[AnyMessage] = made["context"].messages
        # Those of one speaker in a row stand in the prompt as one.
        ids, text = {str(message.id) for message in sent}, "\n".join(message_text(message) for message in sent)
        recent = [m for m in view if str(m.id) in said and (str(m.id) in ids or message_text(m).strip() in text)]
        weights = await self.user.importance.of(thread_id, [str(message.id) for message in recent])
        standing = [summary_of(message) for message in summaries_of(view)]
        sheet, known = state.get("facts", FactSheet()), items.get("facts", 0)
        pins = sheet.pins[:known]
        return BuiltContext(
            messages=sent,
            recent=[WeighedMessage(message, weights.get(str(message.id), 0.5)) for message in recent],
            # The oldest give way first.
            summaries=standing[max(0, len(standing) - items.get("summaries", 0)) :],
            pins=pins,
            facts=sheet.facts[: known - len(pins)],
            memories=made.get("recall", Recall()).memories,
            report=report,
        )

    async def asummarize(self, thread_id: str, first_id: str, last_id: str) -> Summary:
        """A summary of the messages of a thread from one to another, by the summarizer and with the checks of a turn.

        It is given, and not kept: which messages the summaries of a thread stand for is what its profile says.

        Args:
            thread_id: which conversation.
            first_id: the id of the first message.
            last_id: the id of the last message, at most 500 further.

        Raises:
            InputError: the thread has no such messages, or they stand in the other order.
            ModelError: the summary model fails, and the settings want no fallback.
            StorageError: the storage fails.
        """
        turn = self._turn(thread_id)
        messages = [row.message for row in await self._range(thread_id, first_id, last_id)]
        batch = Batch(1, tuple(messages))  # type: ignore[arg-type]  # what the archive holds is of the kinds it was given
        return (await make_summary(batch, turn.settings, turn)).summary

    async def _range(self, thread_id: str, first_id: str, last_id: str) -> list[ArchivedMessage]:
        rows = await self.user.archive.messages(thread_id)
        at = {row.id: number for number, row in enumerate(rows)}
        if first_id not in at or last_id not in at or not 0 <= at[last_id] - at[first_id] < _MOST:
            raise InputError(
                f"There are no messages from {first_id!r} to {last_id!r} in this thread: expected the ids of two of "
                f"its messages, the earlier one first, at most {_MOST} apart; `history` lists them."
            )
        return [row for row in rows[at[first_id] : at[last_id] + 1] if row.left_at is None]

    async def apin(
        self, text: str, *, thread_id: str, score: float = MANUAL_SCORE, source_id: str | None = None
    ) -> Pin:
        """Keep a text in sight: it stands in the prompts of the user's threads as long as pins fit, the highest first.

        The message that it comes from counts as at least so important. A text that is pinned again gets the new score.

        Args:
            text: up to 1,000 characters.
            thread_id: the conversation that it comes from.
            score: from 0 to 1.
            source_id: the message that it comes from; by default the newest of the thread.

        Raises:
            InputError: the text is empty, the score is none, or the thread has no such message.
            StorageError: the storage fails.
        """
        if not key(text) or len(text) > _PINNED or not 0 <= score <= 1:
            raise InputError(f"A pin is a text of 1 to {_PINNED} characters with a score from 0 to 1.")
        source = source_id or await self.user.archive.last_id(thread_id)
        if source is None or not await self.user.archive.known_ids(thread_id, [source]):
            raise InputError("The thread has no such message: a pin comes from a message that was kept.")
        pin = Pin(
            id=Pin.id_for(source, key(text)), text=text.strip(), score=score, thread_id=thread_id, source_id=source,
            created_at=now(),
        )  # fmt: skip
        await self.user.facts.pin(pin)
        return pin

    async def apins(self) -> list[Pin]:
        """What the user wanted remembered, and what was pinned by itself."""
        return await self.user.facts.pins()

    async def aunpin(self, pin_id: str) -> str:
        """Remove a pin, and leave what was said; returns its text.

        Raises:
            InputError: there is none with this id.
        """
        if pin_id not in {pin.id for pin in await self.apins()}:
            raise InputError(f"There is no pin with the id {pin_id!r}: `pins` lists them.")
        return str(await self.user.facts.forget(pin_id, now()))

    build_context = blocking(abuild_context)
    summarize = blocking(asummarize)
    pin = blocking(apin)
    pins = blocking(apins)
    unpin = blocking(aunpin)
