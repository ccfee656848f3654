"""The chain unfolded: what was said under its newest summaries, down the tree through their sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from langchain_core.messages import AnyMessage

from ..state.chain import SummaryMessage, is_summary, summary_of
from ..state.messages import question_at
from ..state.records import Summary

Texts = Mapping[str, Summary | AnyMessage]
"""By id, messages and summaries as far as they were read."""

_DEPTH: Final = 60
"""Summaries above each other that are looked into."""


class Node(NamedTuple):
    """A message, or a summary with its sources; one whose sources were not read has none.

    Attributes:
        message: it, as it stands in a view.
        sources: in their order.
        missing: ids of sources that were not read.
    """

    message: AnyMessage
    sources: tuple[Node, ...] = ()
    missing: tuple[str, ...] = ()


def node_of(message: AnyMessage, texts: Texts, depth: int = _DEPTH) -> Node:
    """A message or summary of a view with what stands under it, as far as that was read."""
    if not is_summary(message):
        return Node(message)
    ids = summary_of(message).source_ids
    found = [texts.get(id_) for id_ in ids] if depth else []
    if not found or None in found:
        return Node(message, missing=tuple(id_ for id_ in ids if id_ not in texts))
    below = (SummaryMessage.of(text) if isinstance(text, Summary) else text for text in found if text is not None)
    return Node(message, tuple(node_of(text, texts, depth - 1) for text in below))


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
    view: Sequence[AnyMessage], texts: Texts, limit: int, count: Callable[[AnyMessage], int], each: int
) -> list[str]:
    """Ids of what is to be read next, so that the newest `limit` tokens of the conversation are there as said.

    Args:
        view: the chain.
        texts: what was read already.
        limit: tokens, at most.
        count: the tokens of a message.
        each: tokens that a message which was not read is taken for.
    """
    wanted: list[str] = []
    for node in newest([node_of(message, texts) for message in view[: question_at(view)]]):
        if limit <= 0:
            break
        if not is_summary(node.message):
            limit -= count(node.message)
            continue
        wanted += node.missing
        limit -= max(summary_of(node.message).covers, 1) * each
    return wanted
