"""Which messages of the live chain the prompt will surely show whole, before it is known what will be found.

All others may be recalled: one that is beyond the budget, or of which only head and end are sent, is in no summary
yet, and the model would not know of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, SystemMessage

from ..models.counting import TokenCounter
from .chain import take_apart
from .history import History, bounded_message
from .layout import Layout, granted
from .summaries import Summaries


def shown_whole(
    chain: Sequence[AnyMessage], layout: Layout, budget: int, *, system_prompt: str = "", counter: TokenCounter
) -> set[str]:
    """Ids of the messages that stay whole in a prompt whose other parts take all that they may take.

    Args:
        chain: the live chain; its last user message is the question, which always counts as shown.
        layout: limits, and what gives way.
        budget: tokens of the prompt.
        system_prompt: instructions.
        counter: what counts.
    """
    parts = take_apart(chain)
    history = History(parts.earlier, layout, budget, counter)
    said = [*([parts.question] if parts.question is not None else []), *(m for unit in parts.tail for m in unit)]
    asked = [bounded_message(message, budget) for message in said]
    instructions = "\n\n".join(text for text in (system_prompt, parts.written) if text)
    needs = {
        "question": counter.messages(asked[:1]),
        "system": counter.messages([SystemMessage(instructions)]),
        "tail": counter.messages(asked[1:]),
        "least": history.least_cost,
        "recent": history.older_cost,
        "summaries": Summaries(parts.earlier, layout, budget, counter).cost,
        "facts": layout.limit("facts", budget),
        "retrieved": layout.limit("retrieved", budget),
    }
    grants = granted(needs, layout, budget)
    history.keep_least(grants["least"])
    history.keep_older(grants["recent"])
    return {str(message.id) for message in asked} | history.whole_ids
