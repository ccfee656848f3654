"""`Layout`: in which order the parts of a prompt stand, which give way first, and what each may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from ..settings.settings import Settings

QUESTION_SHARE: Final = 0.6
"""The share of the prompt that one over-long user message may take before the other parts have theirs."""

TAIL_SHARE: Final = 0.5
"""The same for what follows the question: tool calls and their results."""

LEAST_SHARE: Final = 0.3
"""The same for the recent messages that always stay."""

_DEFAULTS: Final = {name: field.default for name, field in Settings.model_fields.items()}


@dataclass(frozen=True)
class Layout:
    """What a profile decides about the prompt.

    Attributes:
        order: the parts before the question; without "summaries" these stand where their sources stood.
        trim: the parts that give way, the first one first.
        shares: what each part may take before the others have theirs: up to 1 a share of the prompt, above it tokens.
        min_recent: recent messages that always stay.
        max_recent: recent messages, at most.
        max_summaries: summaries, at most, the newest.
        max_memories: memories, at most, the most relevant.
        memory_tokens: tokens of one message in a memory, at most.
    """

    order: tuple[str, ...] = _DEFAULTS["context_order"]
    trim: tuple[str, ...] = _DEFAULTS["trim_order"]
    shares: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType(
            {name: _DEFAULTS[f"{name}_budget"] for name in ("system", "facts", "summaries", "retrieved", "recent")}
        )
    )
    min_recent: int = _DEFAULTS["min_recent"]
    max_recent: int | None = None
    max_summaries: int | None = None
    max_memories: int = _DEFAULTS["max_memories"]
    memory_tokens: int = _DEFAULTS["memory_tokens"]

    @classmethod
    def of(cls, settings: Settings) -> Layout:
        """The layout that these settings describe."""
        return cls(
            order=settings.context_order,
            trim=settings.trim_order,
            shares={
                "system": settings.system_budget,
                "facts": settings.facts_budget,
                "summaries": settings.summaries_budget,
                "retrieved": settings.retrieved_budget,
                "recent": settings.recent_budget,
            },
            min_recent=settings.min_recent,
            max_recent=settings.max_recent,
            max_summaries=settings.max_summaries,
            max_memories=settings.max_memories,
            memory_tokens=settings.memory_tokens,
        )

    @property
    def in_place(self) -> bool:
        """Whether summaries stand where their sources stood."""
        return "summaries" not in self.order

    @property
    def before(self) -> tuple[str, ...]:
        """The parts that lead the recent messages."""
        return self.order[: self.order.index("recent")]

    @property
    def after(self) -> tuple[str, ...]:
        """The parts that stand with the question."""
        return self.order[self.order.index("recent") + 1 :]

    def limit(self, part: str, budget: int) -> int:
        """Tokens that a part may take before the others have theirs."""
        fixed = {"question": QUESTION_SHARE, "tail": TAIL_SHARE, "least": LEAST_SHARE}
        share = fixed.get(part) or self.shares[part]
        return int(share * budget if share <= 1 else share)


def granted(needs: Mapping[str, int], layout: Layout, budget: int) -> dict[str, int]:
    """Tokens for each part: first what it may take, then what others leave unused, the most important part first.

    Seed `000`, "Dynamic context allocation"; seed `003`, "Token Budget Enforcement". The order of importance is: the
    question, the instructions, what follows the question, the recent messages that always stay, and then the reverse
    of `layout.trim`.

    Args:
        needs: tokens that each part would take whole.
        layout: limits and order.
        budget: tokens for all parts together.
    """
    ranked = [part for part in ("question", "system", "tail", "least", *reversed(layout.trim)) if part in needs]
    left = budget = max(0, budget)
    grants: dict[str, int] = {}
    for part in ranked:
        # Those that always stay are recent messages too: what they take is of the same share.
        taken = grants.get("least", 0) if part == "recent" else 0
        grants[part] = min(needs[part], max(0, layout.limit(part, budget) - taken), left)
        left -= grants[part]
    for part in ranked:
        more = min(needs[part] - grants[part], left)
        grants[part] += more
        left -= more
    return grants
