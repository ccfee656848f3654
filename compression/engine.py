"""The engine: what is compressed next under a profile, and how the chain looks afterwards. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from langchain_core.messages import AnyMessage, HumanMessage

from ..state.messages import (
    is_empty,
    is_instruction,
    is_kept,
    is_summary,
    live_chain,
    mark_covered,
    mark_kept,
    message_text,
    summary_message,
    summary_of,
)
from ..state.profiles import ProfileName
from ..state.records import Summary
from ..state.settings import Settings
from .acceptance import prefix_hash
from .archive import ArchiveEverything
from .chain import Batch, closed, recent_start
from .hybrid import Hybrid
from .layered import Layered
from .multi_strategy import MultiStrategy
from .policy import Policy
from .sliding_summary import SlidingSummary

__all__ = ["POLICIES", "Batch", "compress", "forced_batch", "next_batch", "outdated_ids", "policy_of", "twin_of"]

POLICIES: Final[Mapping[ProfileName, Policy]] = MappingProxyType(
    {
        "multi_strategy": MultiStrategy(),
        "sliding_summary": SlidingSummary(),
        "hybrid": Hybrid(),
        "archive": ArchiveEverything(),
        "layered": Layered(),
    }
)
"""The policy of every profile."""


def policy_of(settings: Settings) -> Policy:
    """The policy of the profile."""
    return POLICIES[settings.profile]


def next_batch(messages: Sequence[AnyMessage], settings: Settings) -> Batch | None:
    """The next part of the chain to be summarized, or None when nothing is due.

    A question that is still to be answered is never part of it, nor is a tool call without its results.

    Args:
        messages: the `messages` of the state.
        settings: the profile and its thresholds.
    """
    return policy_of(settings).due(closed(live_chain(messages)), settings)


def forced_batch(messages: Sequence[AnyMessage], settings: Settings) -> Batch | None:
    """What is summarized when the user asks for it now, whatever the thresholds; None when nothing can be."""
    return policy_of(settings).forced(closed(live_chain(messages)), settings)


def compress(messages: Sequence[AnyMessage], batch: Batch, summary: Summary) -> list[AnyMessage]:
    """The chain with the summary where its sources stood.

    Sources that were said in the newest turn stay until the next one (`live_chain` leaves them out), so that the
    caller of the turn still finds the reply at the end. Those that the batch keeps stay live.
    """
    sources = set(batch.source_ids)
    turn = _newest_turn(messages)
    compressed: list[AnyMessage] = []
    for place, message in enumerate(messages):
        if message.id == batch.source_ids[0]:
            compressed.append(summary_message(summary))
        if message.id not in sources:
            compressed.append(message)
        elif message.id in batch.kept_ids:
            compressed.append(mark_kept(message))
        elif place >= turn:
            compressed.append(mark_covered(message))
    return compressed


def outdated_ids(messages: Sequence[AnyMessage], settings: Settings) -> list[str]:
    """Ids of messages of earlier turns that need not stand in the chain any longer.

    A summary stands for them and they are not recent, or they hold nothing, or they are commands, or instructions that
    came again with a later message.
    """
    live = live_chain(messages)
    recent = {message.id for message in live[recent_start(live, policy_of(settings).recent(settings)) :]}
    needed = {
        message.id for message in live if not is_empty(message) and (not is_kept(message) or message.id in recent)
    }
    newest = {message_text(message): message.id for message in live if is_instruction(message)}
    needed -= {m.id for m in live if is_instruction(m) and newest[message_text(m)] != m.id}
    return [str(message.id) for message in messages[: _newest_turn(messages)] if message.id not in needed]


def twin_of(messages: Sequence[AnyMessage], summary: Summary) -> AnyMessage | None:
    """A summary of the same level in the chain that says the same (seed `004`: the hash of the first 120 characters).

    Where the first 120 characters are the same and the rest is not, they are no twins: both are kept.
    """
    for message in live_chain(messages):
        if (
            is_summary(message)
            and summary_of(message).level == summary.level
            and message.id != summary.id
            and prefix_hash(message_text(message)) == prefix_hash(summary.content)
            and message_text(message).strip() == summary.content.strip()
        ):
            return message
    return None


def _newest_turn(messages: Sequence[AnyMessage]) -> int:
    """Where the newest turn begins: at the last of the user's messages."""
    for place in range(len(messages) - 1, -1, -1):
        if isinstance(messages[place], HumanMessage):
            return place
    return len(messages)
