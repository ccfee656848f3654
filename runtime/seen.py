"""What of the live chain the model will see anyway, so that it need not be recalled."""

from __future__ import annotations

import asyncio
from typing import Final

from ..assembly.layout import Layout
from ..assembly.window import shown_whole
from ..models.counting import TokenCounter
from ..state.chain import is_summary
from ..state.conversation import ConversationState
from ..state.lighten import lighten
from ..state.live_chain import view_in
from ..state.report_records import TurnReport
from .turn import Turn

_INLINE: Final = 60_000
"""Characters above which the chain is counted in a thread, so that counting does not hold up the event loop."""


async def seen_ids(state: ConversationState, turn: Turn) -> set[str]:
    """Ids of the summaries of the live chain, and of its messages that the prompt will show whole.

    The model's window is not known yet: it is taken to be that of the turn before.
    """
    settings = turn.settings
    chain, light = lighten(view_in(state))
    budget = settings.max_context_tokens - settings.max_reply_tokens
    counter = TokenCounter()
    before = TurnReport.read(state.get("report"))
    if before is not None and (context := before.context) is not None:
        budget, counter = min(context.budget, settings.max_context_tokens), counter.raised(context.factor)

    def seen() -> set[str]:
        shown = shown_whole(chain, Layout.of(settings), budget, system_prompt=turn.instructions, counter=counter)
        return shown - light

    weight = sum(len(str(message.content)) for message in chain)
    found = seen() if weight <= _INLINE else await asyncio.to_thread(seen)
    return found | {str(message.id) for message in chain if is_summary(message)}
