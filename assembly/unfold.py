"""The chain unfolded: what was said under its newest summaries, down the tree through their sources."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from ..state.chain import SummaryMessage
from ..state.messages import question_at
from ..state.records import Summary

Texts = Mapping[str, Summary | AnyMessage]
"""By id, messages and summaries as far as they were read."""

_DEPTH: Final = 60
"""Summaries above each other that are looked into."""


class Node:
    """A message, or a summary with its sources; one whose sources were not read has none.

    Hundreds are made a turn, so they are plain: no tuple, whose `new` is slower, and no `isinstance` of pydantic's.

    Args:
        text: it, as it stands in a view or was read.
        sources: in their order.

    Attributes:
        id: that of the message or summary.
        summary: the summary, where it is one.
    """

    __slots__ = ("id", "sources", "summary", "text")

    def __init__(self, text: AnyMessage | Summary, summary: Summary | None, sources: tuple[Node, ...] = ()) -> None:
        self.text, self.summary, self.sources = text, summary, sources
        self.id = str(text.id)

    @property
    def message(self) -> AnyMessage:
        """It, as it stands in a view."""
        return SummaryMessage.of(self.text) if isinstance(self.text, Summary) else self.text


def node_of(text: AnyMessage | Summary, texts: Texts, depth: int = _DEPTH) -> Node:
    """A message or summary with what stands under it, as far as that was read."""
    kind = type(text)
    if kind is Summary:
        summary = cast("Summary", text)
    elif kind is SummaryMessage:
        summary = cast("SummaryMessage", text).record
    else:
        return Node(text, None)
    if not depth or not all(map(texts.__contains__, summary.source_ids)):
        return Node(text, summary)
    return Node(text, summary, tuple([node_of(texts[id_], texts, depth - 1) for id_ in summary.source_ids]))


def is_of_tools(message: AnyMessage) -> bool:
    """Whether a message is a call of a tool, or what came of one."""
    return isinstance(message, ToolMessage) or bool(isinstance(message, AIMessage) and message.tool_calls)


def newest(nodes: Sequence[Node]) -> Iterator[Node]:
    """Messages, and summaries that were not looked into, the newest first."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node.sources:
            waiting.extend(node.sources)
        else:
            yield node


def to_read(
    view: Sequence[AnyMessage],
    texts: Texts,
    is_enough: Callable[[int, int], bool],
    count: Callable[[AnyMessage], int],
    each: int,
    *,
    stood: Collection[str] = (),
) -> tuple[list[str], set[str], list[str]]:
    """What is to be read next, so that enough of the newest of the conversation is there as said.

    And so that the summaries of the prompt before are found, where the chain has merged them since.

    Args:
        view: the chain.
        texts: what was read already.
        is_enough: whether so many tokens are, of so many messages beside calls of tools and their results.
        count: the tokens of a message.
        each: tokens that a message which was not read is taken for.
        stood: ids of these summaries.

    Returns:
        Ids of what is to be read, of what that reaches of what was, and of all messages that are there.
    """
    roots = [node_of(message, texts) for message in view[: question_at(view)]]
    merged = [root for root in roots if root.id not in stood] if stood else []
    merged += [below for root in merged for below in root.sources if below.id not in stood]
    wanted = [id_ for node in merged if not node.sources for id_ in _unread(node, texts)]
    reached = {one.id for node in merged for one in (node, *node.sources)}
    said, counted = list[str](), set[str]()
    waiting, tokens, messages, enough = roots, 0, 0, False
    while waiting:
        node = waiting.pop()
        if node.sources:
            waiting.extend(node.sources)
        elif node.summary is None:
            said.append(node.id)
        enough = enough or is_enough(tokens, messages)
        if enough:
            continue
        reached.update((node.id, *[source.id for source in node.sources]))
        if not node.sources and (summary := node.summary) is not None:
            wanted += _unread(node, texts)
            covers = max(summary.covers, 1)
            tokens, messages = tokens + covers * each, messages + covers
        elif not node.sources and node.id not in counted:  # one that is kept beside its summary stands there twice
            counted.add(node.id)
            tokens, messages = tokens + count(node.message), messages + (not is_of_tools(node.message))
    return list(dict.fromkeys(wanted)), reached, said


def _unread(node: Node, texts: Texts) -> list[str]:
    summary = node.summary
    return [id_ for id_ in summary.source_ids if id_ not in texts] if summary is not None else []
