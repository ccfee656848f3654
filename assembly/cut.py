"""`cut`: where the conversation as said begins in a prompt, and which summaries stand for what is older.

Between two cuts a prompt only grows at its end, so that a provider's prompt cache serves what was sent before: the
conversation grows to a high mark, then is cut to a low one. Where it is cut follows from the conversation alone, and is
the same after a restart and through every door: of the places within the marks that of the highest rank, as on a ruler,
whose longer lines are rarer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from ..models.counting import TokenCounter
from ..state.chain import ChainView
from ..state.messages import question_at
from ..state.records import Place
from .layout import Layout
from .unfold import Node, Texts, newest, node_of

_HIGH, _LOW = 0.75, 0.12
"""The marks, as shares of what recent messages may take; by trial on LoCoMo."""


class Marks(NamedTuple):
    """Between which sizes the conversation as said grows.

    Attributes:
        high: tokens, at most.
        low: tokens that stay when it is cut, at least.
        messages: messages that stay, at least, beside calls of tools and their results.
    """

    high: int
    low: int
    messages: int = 4

    @classmethod
    def of(cls, layout: Layout, budget: int) -> Marks:
        """Those of a layout, for a prompt of so many tokens."""
        room = min(layout.limit("recent", budget), budget // 2)
        return cls(int(room * _HIGH), int(room * _LOW), max(layout.kept, 4))


class Cut(NamedTuple):
    """What a prompt shows of a conversation.

    Attributes:
        view: summaries of what is older, then all messages since as they were said.
        since: when the first of these was said; None where it is new.
        unfolded: ids of summaries in whose place their messages stand.
    """

    view: ChainView
    since: datetime | None = None
    unfolded: frozenset[str] = frozenset()


def cut(
    view: ChainView, texts: Texts, places: Mapping[str, Place], marks: Marks, counter: TokenCounter | None = None
) -> Cut:
    """The chain with its newest summaries unfolded to what was said, as far as the marks allow.

    Args:
        view: the chain.
        texts: what stands under its summaries, as far as it was read; what was not stays a summary.
        places: where messages stand in the conversation; one without a place is newer than all others.
        marks: between which sizes the conversation grows.
        counter: what counts; by default the estimate.
    """
    question = question_at(view)
    asked = len(view) if question is None else question
    roots = [node_of(message, texts) for message in view[:asked]]
    said, is_whole = _as_said(roots, places, marks, counter or TokenCounter())
    spans = _Spans(said.messages)
    if is_whole and said.sizes[0] <= marks.high:
        start = 0
    elif (found := _start(roots, said, spans, marks, view)) is not None:
        start = found
    else:
        return Cut(view)
    shown = [*_older(roots, spans, start), *said.messages[start:], *view[asked:]]
    place = places.get(str(said.messages[start].id)) if start < len(said.messages) else None
    unfolded = (node.id for node in _summaries(roots) if spans.of(node)[0] >= start)
    return Cut(ChainView(shown, view.kept), place.said_at if place is not None else None, frozenset(unfolded))


class _Said(NamedTuple):
    """The newest messages as they were said, in their order.

    Attributes:
        messages: a little more of them than the marks allow.
        sizes: tokens of each and all after it; one more, of none.
        lines: where each stands in the conversation.
        spoken: how many each and all after it are beside calls of tools and their results; one more, none.
    """

    messages: list[AnyMessage]
    sizes: list[int]
    lines: list[float]
    spoken: list[int]


def _as_said(
    roots: Sequence[Node], places: Mapping[str, Place], marks: Marks, counter: TokenCounter
) -> tuple[_Said, bool]:
    """The newest messages, and whether they are all."""
    found: dict[str, AnyMessage] = {}
    counts: dict[str, int] = {}
    tokens, is_whole = 0, True
    for node in newest(roots):
        if node.summary is not None or tokens > 2 * marks.high:
            is_whole = False
            break
        if node.id not in found:
            found[node.id], counts[node.id] = node.message, counter.messages([node.message])
            tokens += counts[node.id]
    lines = {id_: places[id_].seq if id_ in places else math.inf for id_ in found}
    messages = list(found.values())[::-1]
    messages.sort(key=lambda message: lines[str(message.id)])
    sizes, spoken = [0], [0]
    for message in reversed(messages):
        sizes.append(sizes[-1] + counts[str(message.id)])
        spoken.append(spoken[-1] + (not _is_of_tools(message)))
    return _Said(messages, sizes[::-1], [lines[str(message.id)] for message in messages], spoken[::-1]), is_whole


def _is_of_tools(message: AnyMessage) -> bool:
    return isinstance(message, ToolMessage) or bool(isinstance(message, AIMessage) and message.tool_calls)


def _start(roots: Sequence[Node], said: _Said, spans: _Spans, marks: Marks, view: ChainView) -> int | None:
    """Where the messages begin that are shown as said: with one of the user, if it can be behind a summary's end."""
    open_ = {node.id for node in roots if node.summary is None} - view.kept
    inside = {at for node in _summaries(roots) for at in _parted(node, spans.index)}
    asked = [at for at, m in enumerate(said.messages) if isinstance(m, HumanMessage) and math.isfinite(said.lines[at])]
    ends = [at for at in asked if at and at not in inside and str(said.messages[at - 1].id) not in open_]
    found = _highest(ends, said, marks)
    return _highest(asked, said, marks) if found is None else found


def _highest(starts: Sequence[int], said: _Said, marks: Marks) -> int | None:
    """Of the places between the marks the oldest of the highest rank, else the newest above the high mark."""
    best, highest = None, -1
    for before, at in pairwise([starts[0], *starts] if starts else []):
        if said.sizes[at] < marks.low or said.spoken[at] < marks.messages:
            break
        rank = (int(said.lines[before]) ^ int(said.lines[at])).bit_length()
        if said.sizes[at] > marks.high:
            best = at
        elif rank > highest:
            best, highest = at, rank
    return best


def _summaries(nodes: Sequence[Node]) -> Iterator[Node]:
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node.sources:
            yield node
            waiting.extend(node.sources)


def _parted(node: Node, index: Mapping[str, int]) -> range:
    """The places in which a cut would part messages that one summary was made from."""
    ats = [index.get(source.id, -1) for source in node.sources if source.summary is None]
    return range(min(ats) + 1, max(ats) + 1) if ats else range(0)


def _older(nodes: Sequence[Node], spans: _Spans, start: int) -> Iterator[AnyMessage]:
    """What stands for the messages before the start: summaries, of nothing newer if it can be, and messages in none."""
    for node in nodes:
        oldest, newest_ = spans.of(node)
        parted = any(one.summary is None and spans.of(one)[1] < start for one in node.sources)
        if newest_ < start or (parted and oldest < start):
            yield node.message
        elif oldest < start and node.sources:
            yield from _older(node.sources, spans, start)


class _Spans:
    """Where what stands under the nodes of one tree is among messages as said.

    Attributes:
        index: by id, the place of a message.
    """

    def __init__(self, messages: Sequence[AnyMessage]) -> None:
        self.index = {str(message.id): at for at, message in enumerate(messages)}
        self._known: dict[int, tuple[int, int]] = {}

    def of(self, node: Node) -> tuple[int, int]:
        """Where the oldest and the newest message under a node stand; -1 before all that is there as said."""
        if not node.sources:
            at = self.index.get(node.id, -1)
            return at, at
        if (known := self._known.get(id(node))) is None:
            spans = [self.of(source) for source in node.sources]
            known = min(oldest for oldest, _ in spans), max(newest_ for _, newest_ in spans)
            self._known[id(node)] = known
        return known
