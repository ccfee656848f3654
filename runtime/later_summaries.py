"""`LaterSummaries`: what a model has to write for a thread is written beside its turns.

What is due follows from the chain, and a summary has the same id whoever makes it: so it goes into the archive first,
and a later turn, in this process or another, finds it there and puts it into its chain. No turn is waited for, and
what a process leaves undone the next turn of the thread begins again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Coroutine, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..compression.chain import Batch, summaries_of
from ..compression.ends import BOUND, MOST_BEHIND, outline, planned
from ..compression.summarizer import FAILED
from ..compression.thread import control_of, regeneration_due, settings_in
from ..compression.together import is_worth_a_call
from ..compression.writing import Written
from ..state.errors import ModelError
from ..state.turn_records import Coherence, ModelCall
from ..state.update import Update
from ..storage.loop_thread import node_thread
from .background import Background
from .facts import keep_summary_facts
from .make_summary import LOOK_AHEAD, make_summaries, with_archived, without_repeating
from .regenerate_rejected import Tried, try_owed
from .turn import Turn

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)

T = TypeVar("T")

AT_ONCE: Final = 4
"""Threads for which a process has summaries written at once, each a step in turn."""

SUMMARIES_A_TURN: Final = 12
"""Summaries that one turn has made, at most: a long thread that was brought in is caught up with over several turns."""

_LOOK_SECONDS: Final = 1.0
"""Between two looks whether the loop of the turn is still there."""

_TOLD_LATER: Final = 1_000
"""Threads of which is remembered what their next turn is to be told."""


@dataclass
class _Outcome:
    """What the next turn is told of what was done since the last one."""

    degraded: list[str] = field(default_factory=list)
    calls: list[ModelCall] = field(default_factory=list)
    coherence: list[Coherence] = field(default_factory=list)
    error: str | None = None
    tried: Tried | None = None


@dataclass
class _Asked:
    """What a turn asked for: its state and its loop, on which the model is called as it was in the turn."""

    state: ConversationState
    turn: Turn
    loop: asyncio.AbstractEventLoop
    regenerates: bool
    left: int = SUMMARIES_A_TURN
    summarizer: dict[str, Any] = field(default_factory=dict)
    """How it is asked, by what came of it before: see `compression.writing.Summarizer`."""

    def learn(self, written: Sequence[Written], *, of: int) -> list[str]:
        """What was not written as it should have been: why. A model that failed is not asked again in this turn, one
        whose text was not accepted is asked once for each of the rest, and one that gave one of several, singly.
        """
        reasons = [one.instead.rstrip(".") for one in written if one.instead]
        if reasons:
            self.summarizer["tries"] = 1
        if failed := next((reason for reason in reasons if reason.startswith(FAILED)), None):
            self.summarizer["down"] = failed
        if len(written) == 1 < of:
            self.summarizer["alone"] = True
        return reasons


class LaterSummaries:
    """The summaries that are still to be written, by thread.

    Args:
        background: where the work goes on.

    Attributes:
        may_be_behind: ends of turns that may wait for their summaries before a turn waits for them.
    """

    def __init__(self, background: Background) -> None:
        self._background = background
        self._asked: dict[str, _Asked] = {}
        self._outcomes: OrderedDict[str, _Outcome] = OrderedDict()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self.may_be_behind = MOST_BEHIND

    def begin(self, state: ConversationState, turn: Turn, *, at_end: bool) -> None:
        """Have written what is due in the thread, if a model writes it; at the end of a turn also what was rejected.

        Args:
            state: with its chain and its texts.
            turn: whose thread it is.
            at_end: whether the turn ends.
        """
        settings, live, key = settings_in(state, turn.settings), turn.live(state), _key(turn)
        if not turn.resources.models.summarizes(settings):
            return
        again = at_end and key not in self._asked and regeneration_due(state, live.view)
        if again or is_worth_a_call(self._plan(state, turn), settings):
            self._asked[key] = _Asked(state, turn.apart(), asyncio.get_running_loop(), again)
            # In a context of its own, as it is no part of the run: no stream and no trace of that goes on with it.
            Context().run(self._background.begin, "summaries", key, partial(self._step, key))

    async def resumed(self, state: ConversationState, turn: Turn) -> tuple[ConversationState, Update]:
        """The state with what was written since the last turn, and what that changes; what is left is gone on with.

        Raises:
            StorageError: the archive cannot be read.
        """
        state, update = await with_archived(state, turn)
        self.begin(state, turn, at_end=False)
        return state, update

    def told(self, turn: Turn) -> _Outcome:
        """What was done for the thread since this was last asked."""
        return self._outcomes.pop(_key(turn), None) or _Outcome()

    async def _step(self, key: str) -> bool:
        asked = self._asked.get(key)
        if asked is None:
            return False
        try:
            async with self._slots:
                more = await self._on_its_loop(asked, self._part(key, asked))
        except BaseException:
            self._done(key, asked)
            raise
        if not more:
            self._done(key, asked)
        return key in self._asked

    def _done(self, key: str, asked: _Asked) -> None:
        if self._asked.get(key) is asked:
            del self._asked[key]

    async def _on_its_loop(self, asked: _Asked, part: Coroutine[Any, Any, bool]) -> bool:
        """Do a part on the loop of the turn; where that is gone, the rest is done on ours."""
        if asked.loop.is_closed():
            asked.loop = node_thread.loop
        done = asyncio.run_coroutine_threadsafe(part, asked.loop)
        waiting = asyncio.wrap_future(done)
        try:
            while not (await asyncio.wait([waiting], timeout=_LOOK_SECONDS))[0]:
                if asked.loop.is_closed():  # it took the part with it, and told nobody
                    break
        except asyncio.CancelledError:
            if not asked.loop.is_closed():
                done.cancel()
            raise
        if waiting.done() and not waiting.cancelled():
            return waiting.result()
        asked.loop = node_thread.loop
        return True

    async def _part(self, key: str, asked: _Asked) -> bool:
        """Write and archive what one call brings of what is due; whether more is to be done."""
        turn, settings = asked.turn, settings_in(asked.state, asked.turn.settings)
        asked.state, _ = await with_archived(asked.state, turn)
        plan = self._plan(asked.state, turn)
        try:
            if asked.left > 0 and is_worth_a_call(plan, settings):
                return await self._write(key, asked, plan)
            if asked.regenerates and "down" not in asked.summarizer:
                asked.regenerates = False
                self._tell(key).tried = await try_owed(asked.state, settings, turn)
        except ModelError as error:
            self._tell(key).error = str(error)
        return False

    def _plan(self, state: ConversationState, turn: Turn) -> list[Batch]:
        live, settings = turn.live(state), settings_in(state, turn.settings)
        if not control_of(state).enabled:
            return []
        return planned(live.chain, live.view, settings, thread_id=turn.thread_id, most=LOOK_AHEAD)

    async def _write(self, key: str, asked: _Asked, plan: Sequence[Batch]) -> bool:
        turn, settings, rows = asked.turn, settings_in(asked.state, asked.turn.settings), asked.turn.user.summaries
        view, plan = turn.live(asked.state).view, plan[: max(asked.left, 1)]
        sources = await rows.sources(turn.thread_id, _given(plan, turn.thread_id))
        if sources.missing or sources.left:
            logger.info("What was to be summarized is no longer part of the conversation.")
            return False
        whole = {str(message.id): message for message in sources.messages}
        plan = [b._replace(sources=tuple(whole.get(str(m.id), m) for m in b.sources)) for b in plan]
        written = await make_summaries(plan, settings, turn, standing=summaries_of(view), asked=asked.summarizer)
        reasons = asked.learn(written, of=len(plan))
        if len(written) == 1:
            batch, one = without_repeating(plan[0], written[0], view, settings, turn.thread_id)
            plan, written = [batch], [one]
        asked.left -= len(written)
        told = self._tell(key)
        told.degraded += (f"A summary is the extractive summarizer's, not the model's: {reason}." for reason in reasons)
        told.calls += (call for one in written for call in one.calls)
        told.coherence += (one.coherence for one in written if one.coherence is not None)
        used = _given(plan[: len(written)], turn.thread_id)
        sources = sources._replace(messages=tuple(whole[id_] for id_ in used if id_ in whole))
        if not await rows.add(turn.thread_id, [one.summary for one in written], sources):
            logger.info("Summaries were dropped, as their sources have changed meanwhile.")
            return False
        self.may_be_behind = BOUND
        for batch, one in zip(plan, written, strict=False):
            if one.facts:
                await keep_summary_facts(turn, one.facts, batch.sources)
        if turn.resources.embedder.ready:
            turn.user.embed_later(settings.timeouts.embedding)
        return True

    def _tell(self, key: str) -> _Outcome:
        outcome = self._outcomes.setdefault(key, _Outcome())
        while len(self._outcomes) > _TOLD_LATER:
            self._outcomes.popitem(last=False)
        return outcome


def _given(plan: Sequence[Batch], thread_id: str) -> list[str]:
    """Ids of the sources of a plan that are there already, each once."""
    new = {outline(batch, thread_id).id for batch in plan}
    return list(dict.fromkeys(id_ for batch in plan for id_ in batch.source_ids if id_ not in new))


def _key(turn: Turn) -> str:
    return f"{turn.user.id}\n{turn.thread_id}"
