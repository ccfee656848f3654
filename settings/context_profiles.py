"""What each profile sets of `ContextSettings`; `profiles` lays it under the profile's other settings."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

CONTEXT_OF: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        # Facts are chosen anew for each question: where the seed gives them no place, they stand with the question, so
        # that a provider's prompt cache serves what is before them.
        # 000: search results, memories, current context; the defaults of `ContextSettings`.
        "multi_strategy": {},
        # 001: [summary] + [recent 10].
        "sliding_summary": {
            "context_order": ("summaries", "recent", "facts", "results", "memories"),
            "min_recent": 2,
        },
        # 002: 3,000 tokens in a window of 4,096; summaries, recent, pins; recent 8, never fewer than 3, then pins.
        "hybrid": {
            "max_context_tokens": 3000,
            "max_reply_tokens": 596,
            "context_window": 4096,
            "context_order": ("summaries", "recent", "facts", "results", "memories"),
            "min_recent": 3,
            "max_recent": 8,
            "max_summaries": 3,
            "max_pins": 5,
            "facts_budget": 0.5,  # pins before all but three of the recent messages
        },
        # 003: summaries, retrieved snippets, the last four pairs; 8,000 tokens in fixed parts.
        "archive": {
            "max_context_tokens": 8000,
            "context_window": 16_000,
            "context_order": ("summaries", "facts", "results", "memories", "recent"),
            "system_budget": 1500,
            "summaries_budget": 2000,
            "retrieved_budget": 1500,
            "recent_budget": 3000,
            "max_recent": 8,
        },
        # 004: facts, summaries, recent; the oldest summaries give way first, facts last.
        "layered": {
            "context_order": ("facts", "summaries", "recent", "results", "memories"),
            "trim_order": ("summaries", "retrieved", "recent", "facts"),
            "facts_budget": 0.5,  # nothing is left out of them while another part has room
        },
    }
)
"""Values by the names of the settings, by the name of the profile."""
