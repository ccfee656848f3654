"""The engine: what is compressed next under a profile, and how the chain looks afterwards. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from langchain_core.messages import AnyMessage

from ..settings.profiles import ProfileName
from ..settings.run import RunSettings
from ..state.chain import Chain, ChainView, Link, is_instruction, is_summary, relinked, summary_link, summary_of
from ..state.messages import message_text
from ..state.records import Summary
from .acceptance import prefix_hash
from .archive import ArchiveEverything
from .chain import Batch, closed, recent_start
from .hybrid import Hybrid
from .layered import Layered
from .multi_strategy import MultiStrategy
from .policy import Policy
from .sliding_summary import SlidingSummary
from .topics import to_change_of_topic

__all__ = ["POLICIES", "Batch", "compress", "duplicate_of", "forced_batch", "next_batch", "outdated_ids", "policy_of"]

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


def policy_of(settings: RunSettings) -> Policy:
    """The policy of the profile."""
    return POLICIES[settings.profile]


def next_batch(chain: ChainView, settings: RunSettings) -> Batch | None:
    """The next part of the chain to be summarized, or None when nothing is due.

    A question that is still to be answered is never part of it, nor is a tool call without its results.

    Args:
        chain: with its texts.
        settings: the profile and its thresholds.
    """
    chain = closed(chain)
    batch = policy_of(settings).due(chain, settings)
    return to_change_of_topic(batch, chain) if batch is not None and settings.summary_window == "topic" else batch


def forced_batch(chain: ChainView, settings: RunSettings) -> Batch | None:
    """What is summarized when the user asks for it now, whatever the thresholds; None when nothing can be."""
    return policy_of(settings).forced(closed(chain), settings)


def compress(chain: Chain, batch: Batch, summary: Summary) -> Chain:
    """The chain with the summary where its sources stood; those that the batch keeps stay beside it."""
    sources, ends = set(batch.source_ids), chain.get("ends", [])
    if batch.end in ends:
        chain = {**chain, "ends": ends[ends.index(batch.end) :]}
    links: list[Link] = []
    for link in chain["links"]:
        if link["id"] == batch.source_ids[0]:
            links.append(summary_link(summary))
        if link["id"] not in sources:
            links.append(link)
        elif link["id"] in batch.kept_ids:
            links.append(Link(id=link["id"], kept=True))
    return relinked(chain, links, {batch.source_ids[0]: summary.id})


def outdated_ids(chain: ChainView, settings: RunSettings) -> set[str]:
    """Ids of messages that need not stand in the chain any longer.

    A summary has them and they are not recent, or they are instructions that came again with a later message.
    """
    recent = {message.id for message in chain[recent_start(chain, policy_of(settings).recent(settings)) :]}
    newest = {message_text(message): message.id for message in chain if is_instruction(message)}
    return {
        str(message.id)
        for message in chain
        if (chain.is_kept(message) and message.id not in recent)
        or (is_instruction(message) and newest[message_text(message)] != message.id)
    }


def duplicate_of(chain: ChainView, summary: Summary) -> AnyMessage | None:
    """A summary of the same level in the chain that says the same (seed `004`: the hash of the first 120 characters).

    Where the first 120 characters are the same and the rest is not, they are no twins: both are kept.
    """
    for message in chain:
        if (
            is_summary(message)
            and summary_of(message).level == summary.level
            and message.id != summary.id
            and prefix_hash(message_text(message)) == prefix_hash(summary.content)
            and message_text(message).strip() == summary.content.strip()
        ):
            return message
    return None
