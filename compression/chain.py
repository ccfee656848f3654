"""Parts of the chain: what counts, where it may be cut, where its open end begins. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from ..state.chain import NOTHING_KEPT, ChainView, is_summary, summary_of
from ..state.records import MASTER_LEVEL, covered


class Batch(NamedTuple):
    """What is to be summarized next: the level of the summary, and its sources in the order of the chain.

    Sources whose ids are in `kept_ids` stay in the chain as they were said, beside the summary. `end` is what stood
    last in the chain at the end of the turn as of which it is due; of those before it, nothing is due any longer.
    """

    level: int
    sources: tuple[AnyMessage, ...]
    kept_ids: frozenset[str] = NOTHING_KEPT
    end: str | None = None

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The ids of the sources."""
        return tuple(str(message.id) for message in self.sources)

    @property
    def covers(self) -> int:
        """How many messages the summary will stand for, those below its source summaries included."""
        return covered(summary_of(message).covers if is_summary(message) else 1 for message in self.sources)


def _is_conversational(message: AnyMessage) -> bool:
    """Whether a message of a view, which holds no empty ones, is neither summary nor instruction."""
    return not isinstance(message, SystemMessage)


def is_open(chain: ChainView, message: AnyMessage) -> bool:
    """Whether a message is conversational and in no summary yet."""
    return _is_conversational(message) and not chain.is_kept(message)


def open_indices(chain: ChainView) -> list[int]:
    """Where the messages stand that are in no summary yet."""
    return [index for index, message in enumerate(chain) if is_open(chain, message)]


def summaries_of(chain: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The summaries that stand in the chain, in its order."""
    return [message for message in chain if is_summary(message)]


def of_level(chain: ChainView, level: int) -> list[AnyMessage]:
    """The summaries of one level, in the order of the chain."""
    return [message for message in summaries_of(chain) if summary_of(message).level == level]


def slice_batch(chain: ChainView, start: int, stop: int) -> Batch | None:
    """A batch of all in a slice of the chain that is not summarized yet, and of the summaries among it.

    None where nothing new stands in it. A summary that takes others in is of the highest level among them.
    """
    sources = tuple(message for message in chain[start:stop] if is_open(chain, message) or is_summary(message))
    if not any(is_open(chain, message) for message in sources):
        return None
    levels = [summary_of(message).level for message in sources if is_summary(message)]
    return Batch(MASTER_LEVEL if MASTER_LEVEL in levels else max(levels, default=1), sources)


def closed(chain: ChainView) -> ChainView:
    """The chain without its open end: a question that is not answered yet, calls whose results are to come."""
    asked, answer = _asked_and_answer(chain)
    if asked >= 0 and answer < 0:
        chain = chain[:asked]
        asked, answer = _asked_and_answer(chain)
    # Looked at from the end: providers use the id of a call again.
    results: set[str] = set()
    stop = len(chain)
    for index in range(len(chain) - 1, max(asked, answer), -1):
        message = chain[index]
        if isinstance(message, ToolMessage):
            results.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            calls = {str(call["id"]) for call in message.tool_calls}
            stop = index if not calls <= results else stop
            results -= calls
    return chain[:stop]


def _asked_and_answer(chain: ChainView) -> tuple[int, int]:
    """Where the newest question stands, and the newest answer to it; -1 where there is none."""
    asked = max((index for index, m in enumerate(chain) if isinstance(m, HumanMessage)), default=-1)
    return asked, max((index for index in range(asked + 1, len(chain)) if _is_answer(chain[index])), default=-1)


def _is_answer(message: AnyMessage) -> bool:
    """Whether nothing before this is still open: a reply, or a summary, which is made of what is closed."""
    return is_summary(message) or (isinstance(message, AIMessage) and not message.tool_calls)


def _safe_cuts(chain: Sequence[AnyMessage]) -> list[bool]:
    """For each place from 0 to the length of the chain, whether a cut before it parts no tool call from its result."""
    depth = [0] * (len(chain) + 2)
    called: dict[str, int] = {}
    for index, message in enumerate(chain):
        if isinstance(message, AIMessage):
            called.update({str(call["id"]): index for call in message.tool_calls})
        elif isinstance(message, ToolMessage):
            depth[called.get(message.tool_call_id, index - 1) + 1] += 1
            depth[index + 1] -= 1
    cuts = [inside == 0 for inside in accumulate(depth)][: len(chain) + 1]
    cuts[0] = True
    return cuts


def cut_before(chain: Sequence[AnyMessage], index: int) -> int:
    """The nearest place at or before this one where the chain may be cut."""
    cuts = _safe_cuts(chain)
    return next(at for at in range(min(max(index, 0), len(chain)), -1, -1) if cuts[at])


def cut_after(chain: Sequence[AnyMessage], index: int) -> int:
    """The nearest place at or after this one where the chain may be cut."""
    cuts = _safe_cuts(chain)
    return next(at for at in range(min(max(index, 0), len(chain)), len(chain) + 1) if cuts[at] or at == len(chain))


def recent_start(chain: Sequence[AnyMessage], count: int) -> int:
    """Where the newest `count` messages of the conversation begin; earlier where a tool call would be cut."""
    said = [index for index, message in enumerate(chain) if _is_conversational(message)]
    if count <= 0 or not said:
        return len(chain)
    return 0 if len(said) <= count else cut_before(chain, said[-count])
