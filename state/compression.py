"""When the live chain is compressed, and which part of it: pure functions of chain and settings.

Source: seed `000`, strategy 3. Level 1 when `n_sum` messages stand in the chain; level k + 1 when `n_sum_sum`
summaries of level k do; the master summary when `sum_window` of the highest level do, and again for each later one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from .messages import is_empty, is_summary, live_chain, mark_covered, summary_message, summary_of
from .records import MASTER_LEVEL, Summary
from .settings import Settings


class Batch(NamedTuple):
    """What is to be summarized next: the level of the summary, and its sources in the order of the chain."""

    level: int
    sources: tuple[AnyMessage, ...]

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The ids of the sources."""
        return tuple(str(message.id) for message in self.sources)


def next_batch(messages: Sequence[AnyMessage], settings: Settings) -> Batch | None:
    """The next part of the chain to be summarized, or None when nothing is due.

    Args:
        messages: the `messages` of the state.
        settings: `n_sum`, `sum_window`, `n_sum_sum`, `max_sum_lvl`, `summary_window`.
    """
    chain = live_chain(messages)
    return _message_batch(chain, settings) or _summary_batch(chain, settings) or _master_batch(chain, settings)


def compress(messages: Sequence[AnyMessage], batch: Batch, summary: Summary) -> list[AnyMessage]:
    """The chain with the summary where its sources stood.

    Sources that were said in the newest turn stay until the next one (`live_chain` leaves them out), so that the
    caller of the turn still finds the reply at the end.
    """
    sources = set(batch.source_ids)
    turn = _newest_turn(messages)
    compressed: list[AnyMessage] = []
    for place, message in enumerate(messages):
        if message.id == batch.source_ids[0]:
            compressed.append(summary_message(summary))
        if message.id not in sources:
            compressed.append(message)
        elif place >= turn:
            compressed.append(mark_covered(message))
    return compressed


def outdated_ids(messages: Sequence[AnyMessage]) -> list[str]:
    """Ids of messages of earlier turns that a summary in the chain already stands for, or that hold nothing."""
    live = {message.id for message in live_chain(messages) if not is_empty(message)}
    return [str(message.id) for message in messages[: _newest_turn(messages)] if message.id not in live]


def _newest_turn(messages: Sequence[AnyMessage]) -> int:
    """Where the newest turn begins: at the last of the user's messages."""
    for place in range(len(messages) - 1, -1, -1):
        if isinstance(messages[place], HumanMessage):
            return place
    return len(messages)


def _message_batch(chain: Sequence[AnyMessage], settings: Settings) -> Batch | None:
    said = [place for place, message in enumerate(chain) if _counts(message)]
    if len(said) < settings.n_sum:
        return None
    if settings.summary_window == "last":
        stop = said[-1] + 1
        start = _back_over_tools(chain, max(said[-settings.sum_window], _run_start(chain, stop)))
    else:
        start = said[0]
        stop = _over_tools(chain, min(said[settings.sum_window - 1] + 1, _run_stop(chain, start)))
    sources = tuple(message for message in chain[start:stop] if _counts(message))
    return Batch(1, sources)


def _summary_batch(chain: Sequence[AnyMessage], settings: Settings) -> Batch | None:
    for level in range(1, settings.max_sum_lvl):
        same = _of_level(chain, level)
        if len(same) >= settings.n_sum_sum:
            return Batch(level + 1, tuple(same[: settings.n_sum_sum]))
    return None


def _master_batch(chain: Sequence[AnyMessage], settings: Settings) -> Batch | None:
    master = _of_level(chain, MASTER_LEVEL)
    highest = _of_level(chain, settings.max_sum_lvl)
    enough = 1 if master else settings.sum_window
    if len(highest) < enough:
        return None
    return Batch(MASTER_LEVEL, (*master, *highest))


def _of_level(chain: Sequence[AnyMessage], level: int) -> list[AnyMessage]:
    return [message for message in chain if is_summary(message) and summary_of(message).level == level]


def _counts(message: AnyMessage) -> bool:
    """Whether a message is part of the conversation: not a summary, not an instruction, not empty."""
    return not is_summary(message) and not isinstance(message, SystemMessage) and not is_empty(message)


def _run_start(chain: Sequence[AnyMessage], stop: int) -> int:
    """Where the unbroken run of messages that ends before `stop` begins; a summary breaks it."""
    start = stop
    while start > 0 and not is_summary(chain[start - 1]):
        start -= 1
    return start


def _run_stop(chain: Sequence[AnyMessage], start: int) -> int:
    """Where the unbroken run of messages that begins at `start` ends."""
    stop = start
    while stop < len(chain) and not is_summary(chain[stop]):
        stop += 1
    return stop


def _back_over_tools(chain: Sequence[AnyMessage], start: int) -> int:
    """Move the start back until a tool's result is not parted from its call."""
    while start > 0 and isinstance(chain[start], ToolMessage):
        start -= 1
    return start


def _over_tools(chain: Sequence[AnyMessage], stop: int) -> int:
    """Move the end on until a call is not parted from its results."""
    while stop < len(chain) and isinstance(chain[stop], ToolMessage):
        stop += 1
    last = chain[stop - 1]
    open_call = isinstance(last, AIMessage) and bool(last.tool_calls)
    return _over_tools(chain, stop + 1) if open_call and stop < len(chain) else stop
