"""`cut`: where the conversation as said begins in a prompt, and which summaries stand for what is older.

Between two cuts a prompt only grows at its end, so that a provider's prompt cache serves what was sent before: the
conversation grows to a high mark, then is cut to a low one. What a prompt began with is in its report: the next one
begins with the same, also where the chain has merged its summaries since. Where no prompt came before, the cut follows
from the conversation alone: of the places within the marks that of the highest rank, as on a ruler, whose longer lines
are rarer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from langchain_core.messages import AnyMessage, HumanMessage

from ..models.counting import TokenCounter
from ..state.chain import ChainView, is_summary
from ..state.messages import question_at
from ..state.records import Place
from .fit import fit_unit
from .marks import EXCHANGE, NEWEST, Marks
from .unfold import Node, Texts, is_of_tools, newest, node_of


class Cut(NamedTuple):
    """What a prompt shows of a conversation.

    Attributes:
        view: summaries of what is older, then all messages since as they were said.
        since: when the first of these was said; None where it is new.
        unfolded: ids of summaries in whose place their messages stand.
        begins: ids of what stands before the conversation as said, and of the message with which that begins.
        light: ids of messages of which only head and end are shown.
    """

    view: ChainView
    since: datetime | None = None
    unfolded: frozenset[str] = frozenset()
    begins: tuple[str, ...] = ()
    light: frozenset[str] = frozenset()


def cut(
    view: ChainView,
    texts: Texts,
    places: Mapping[str, Place],
    marks: Marks,
    counter: TokenCounter | None = None,
    *,
    before: Sequence[str] = (),
) -> Cut:
    """The chain with its newest summaries unfolded to what was said, as far as the marks allow.

    Args:
        view: the chain.
        texts: what stands under its summaries, as far as it was read; what was not stays a summary.
        places: where messages stand in the conversation; one without a place is newer than all others.
        marks: between which sizes the conversation grows.
        counter: what counts; by default the estimate.
        before: the `begins` of the prompt before this one; none where that is not known.
    """
    question = question_at(view)
    asked = len(view) if question is None else question
    roots = [node_of(message, texts) for message in view[:asked]]
    counter = counter or TokenCounter()
    said, is_whole = _as_said(roots, places, marks, counter)
    marks = _that_fit(said, marks, counter.messages(view[asked:]))
    spans = _Spans(said.messages)
    begun = spans.index.get(before[-1], -1) if before else -1
    tree = [node for node in roots if node.id not in view.kept]  # what is kept has its summary there
    stood = _stood(tree, said, spans, before, marks) if begun >= 0 else None
    short = _in_short(stood or (), marks.waiting, counter)
    if is_whole and said.sizes[0] <= marks.limit(*said.since(0)):
        start, older, short = 0, list[AnyMessage](), list[AnyMessage]()
    elif stood is not None and counter.messages(short) + said.sizes[begun] <= marks.limit(*said.since(begun)):
        start, older = begun, stood
    elif (found := _start(roots, said, spans, marks, view, to_low=begun >= 0)) is not None:
        start, older = found, list(_older(tree, spans, found))
        short = _in_short(older, marks.waiting, counter)
    else:
        return Cut(view)
    shown = [*short, *said.messages[start:]]
    unfolded = (node.id for node in _summaries(roots) if spans.of(node)[0] >= start)
    begins = tuple(str(message.id) for message in shown[: len(older) + 1]) if start < len(said.messages) else ()
    place = places.get(begins[-1]) if begins else None
    since = place.said_at if place is not None else None
    light = frozenset(str(one.id) for one, whole in zip(short, older, strict=True) if one is not whole)
    return Cut(ChainView([*shown, *view[asked:]], view.kept), since, frozenset(unfolded), begins, light)


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

    def since(self, start: int) -> tuple[int, int]:
        """Tokens, and messages that are spoken, from there on."""
        return self.sizes[start], self.spoken[start]


def _as_said(
    roots: Sequence[Node], places: Mapping[str, Place], marks: Marks, counter: TokenCounter
) -> tuple[_Said, bool]:
    """The newest messages, and whether they are all."""
    found: dict[str, AnyMessage] = {}
    counts: dict[str, int] = {}
    tokens, shown, is_whole = 0, 0, True
    for node in newest(roots):
        if node.summary is not None or marks.is_enough(tokens, shown):
            is_whole = False
            break
        if node.id not in found:
            found[node.id], counts[node.id] = node.message, counter.messages([node.message])
            tokens += counts[node.id]
            shown += not is_of_tools(node.message)
    lines = {id_: places[id_].seq if id_ in places else math.inf for id_ in found}
    messages = list(found.values())[::-1]
    messages.sort(key=lambda message: lines[str(message.id)])
    sizes, spoken = [0], [0]
    for message in reversed(messages):
        sizes.append(sizes[-1] + counts[str(message.id)])
        spoken.append(spoken[-1] + (not is_of_tools(message)))
    return _Said(messages, sizes[::-1], [lines[str(message.id)] for message in messages], spoken[::-1]), is_whole


def _that_fit(said: _Said, marks: Marks, question: int) -> Marks:
    """The marks for what fits beside the question: as many whole exchanges, one at least.

    More than two exchanges stay only where they leave half of the room to grow.
    """
    messages, taken, room = marks.messages, dict(zip(said.spoken, said.sizes, strict=True)), marks.room - question
    while messages > EXCHANGE and taken.get(messages, 0) > (room // 2 if messages > NEWEST else room):
        messages -= EXCHANGE
    return marks._replace(messages=messages, room=room, free=marks.free - question)


def _stood(
    roots: Sequence[Node], said: _Said, spans: _Spans, before: Sequence[str], marks: Marks
) -> list[AnyMessage] | None:
    """What stood before the conversation as said, while that may begin where it did; None where it may not."""
    start = spans.index[before[-1]]
    if said.sizes[start] < marks.low or said.spoken[start] < marks.messages:
        return None
    stood = list(_down_to(frozenset(before[:-1]), roots, spans, start))
    return stood if [str(message.id) for message in stood] == list(before[:-1]) else None


def _in_short(older: Sequence[AnyMessage], limit: int, counter: TokenCounter) -> list[AnyMessage]:
    """The same with the messages among them, which are in no summary yet, in so many tokens together.

    They read the same until the next cut, and none is left out.
    """
    short = iter(fit_unit([message for message in older if not is_summary(message)], limit, counter))
    return [message if is_summary(message) else next(short) for message in older]


def _down_to(ids: frozenset[str], nodes: Sequence[Node], spans: _Spans, start: int) -> Iterator[AnyMessage]:
    """Down the tree as far as these stand in it, and else to its ends: all that is older than the start."""
    for node in nodes:
        if node.id in ids or (not node.sources and spans.of(node)[0] < start):
            yield node.message
        elif spans.of(node)[0] < start:
            yield from _down_to(ids, node.sources, spans, start)


def _start(
    roots: Sequence[Node], said: _Said, spans: _Spans, marks: Marks, view: ChainView, *, to_low: bool
) -> int | None:
    """Where the messages begin that are shown as said: with one of the user, if it can be behind a summary's end.

    Args:
        to_low: whether what is left is as little as may be; else see `_highest`.
    """
    open_ = {node.id for node in roots if node.summary is None} - view.kept
    inside = {at for node in _summaries(roots) for at in _parted(node, spans.index)}
    asked = [at for at, m in enumerate(said.messages) if isinstance(m, HumanMessage) and math.isfinite(said.lines[at])]
    ends = [at for at in asked if at and at not in inside and str(said.messages[at - 1].id) not in open_]
    choose = _lowest if to_low else _highest
    found = choose(ends, said, marks)
    return choose(asked, said, marks) if found is None or said.sizes[found] > marks.room // 2 else found


def _lowest(starts: Sequence[int], said: _Said, marks: Marks) -> int | None:
    """The newest place above the low mark."""
    fit = (at for at in reversed(starts) if said.sizes[at] >= marks.low and said.spoken[at] >= marks.messages)
    return next(fit, None)


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
            ends = [end for source in node.sources for end in self.of(source)]
            known = self._known[id(node)] = min(ends), max(ends)
        return known
