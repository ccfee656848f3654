"""`Layout`: in which order the parts of a prompt stand, which give way first, and what each may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from ..settings.profiles import ProfileName
from ..settings.run import RunSettings

QUESTION_SHARE: Final = 0.6
"""The share of the prompt that one over-long user message may take before the other parts have theirs."""

TAIL_SHARE: Final = 0.5
"""The same for what follows the question: tool calls and their results."""

LEAST_SHARE: Final = 0.3
"""The same for the recent messages that always stay."""

RESERVED_SHARE: Final = 1 / 16
"""The share of the prompt that they leave to all else."""


@dataclass(frozen=True)
class Layout:
    """What a profile decides about the prompt. The defaults are those of `multi_strategy` (seed `000`).

    Attributes:
        order: the parts before the question; without "summaries" these stand where their sources stood.
        trim: the parts that give way, the first one first.
        shares: what each part may take before the others have theirs: up to 1 a share of the prompt, above it tokens.
        newest: messages just said that stay whole, as long as they fit beside the question.
        shown: messages just said that stand before anything that was found, whole or cut.
        min_recent: recent messages that always stay.
        kept: recent messages that stay where the conversation as said is cut, at least.
        high: to which share of what recent messages may take it grows before it is cut; by trial on LoCoMo.
        max_summaries: summaries, at most, the newest.
        max_memories: memories, at most, the most relevant.
        memory_tokens: tokens of one message in a memory, at most.
        by_importance: whether the most important of the recent messages stay where not all fit, and not the newest.
    """

    order: tuple[str, ...] = ("facts", "recent", "news", "results", "memories")
    trim: tuple[str, ...] = ("retrieved", "recent", "summaries", "facts")
    shares: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType(
            {"system": 0.25, "facts": 0.1, "summaries": 0.25, "retrieved": 0.35, "recent": 0.4}
        )
    )
    newest: int = 4
    shown: int = 4
    min_recent: int = 2
    kept: int = 4
    high: float = 0.65
    max_summaries: int | None = None
    max_memories: int = RunSettings.model_fields["max_memories"].default
    memory_tokens: int = RunSettings.model_fields["memory_tokens"].default

    by_importance: bool = False

    @classmethod
    def of(cls, settings: RunSettings) -> Layout:
        """The layout of the profile, with the budgets that are set."""
        layout = LAYOUTS[settings.profile]
        shares = {**layout.shares, **settings.budgets.model_dump(exclude_none=True)}
        if settings.profile == "hybrid":
            layout = replace(layout, max_summaries=settings.max_active_summaries)
        if settings.profile in {"sliding_summary", "hybrid", "layered"}:
            layout = replace(layout, kept=max(layout.kept, settings.keep_recent))
        return replace(layout, shares=shares, max_memories=settings.max_memories, memory_tokens=settings.memory_tokens)

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
        fixed = {"question": QUESTION_SHARE, "tail": TAIL_SHARE, "newest": 1.0, "least": LEAST_SHARE}
        share = fixed.get(part) or self.shares[part]
        return int(share * budget if share <= 1 else share)


# What changes with the question stands behind the conversation in all of them, also the snippets of seed 003: so a
# provider's prompt cache serves what is before it.
LAYOUTS: Final[Mapping[ProfileName, Layout]] = MappingProxyType(
    {
        "multi_strategy": Layout(),
        # 001: [summary] + [recent 10].
        "sliding_summary": Layout(order=("summaries", "facts", "recent", "news", "results", "memories")),
        # 002: summaries, recent, pins; recent 8, never fewer than 3, then pins: before all but three recent messages.
        "hybrid": Layout(
            order=("summaries", "facts", "recent", "news", "results", "memories"),
            shares=MappingProxyType({**Layout().shares, "facts": 0.5}),
            newest=3,
            min_recent=3,
            high=0.9,
            by_importance=True,
        ),
        # 003: summaries, retrieved snippets, the last four pairs; 8,000 tokens in fixed parts: of large messages three
        # stand before the snippets have theirs.
        "archive": Layout(
            order=("summaries", "facts", "recent", "news", "results", "memories"),
            shares=MappingProxyType(
                {**Layout().shares, "system": 1500, "summaries": 2000, "retrieved": 1500, "recent": 3000}
            ),
            newest=3,
            shown=3,
            kept=8,
            high=0.4,
        ),
        # 004: facts, summaries, recent; the oldest summaries give way first. No fact is left out while there is room.
        "layered": Layout(
            order=("facts", "summaries", "recent", "news", "results", "memories"),
            trim=("summaries", "retrieved", "recent", "facts"),
            shares=MappingProxyType({**Layout().shares, "facts": 0.5}),
        ),
    }
)
"""The layout of each profile, as its seed has it."""


def granted(needs: Mapping[str, int], layout: Layout, budget: int) -> dict[str, int]:
    """Tokens for each part: first what it may take, then what others leave unused, the most important part first.

    Seed `000`, "Dynamic context allocation"; seed `003`, "Token Budget Enforcement". The order of importance is: the
    question, the instructions, what follows the question, what was just said, the recent messages that always stay, and
    then the reverse of `layout.trim`.

    Args:
        needs: tokens that each part would take whole; "next" is what the recent messages may take in any case.
        layout: limits and order.
        budget: tokens for all parts together.
    """
    first = ("question", "system", "tail", "newest", "least")
    ranked = [part for part in (*first, *reversed(layout.trim)) if part in needs]
    left = budget = max(0, budget)
    grants: dict[str, int] = {}
    for part in ranked:
        # Those that always stay are recent messages too: what they take is of the same share.
        taken = grants.get("newest", 0) + grants.get("least", 0) if part == "recent" else 0
        least = needs.get("next", 0) if part == "recent" else 0
        grants[part] = min(needs[part], max(least, layout.limit(part, budget) - taken), left)
        left -= grants[part]
    for part in ranked:
        more = min(needs[part] - grants[part], left)
        grants[part] += more
        left -= more
    return grants
