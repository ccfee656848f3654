"""Close the turn: its report is made and kept. No node of its own: it would cost one more checkpoint."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..state.errors import EverthreadError
from ..state.report_records import Progress, TurnReport
from ..state.turn_report import turn_report
from .turn import Turn

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)


async def close_turn(state: ConversationState, turn: Turn) -> TurnReport:
    """The report of the turn that ends with this state. That it cannot be kept is logged, and the turn goes on.

    Args:
        state: what the last node leaves.
        turn: whose turn it is, and in which thread.
    """
    turn.hold(state)
    report = turn_report({**turn.figures, **state}, Progress.model_validate(state["progress"]))
    if (skipped := turn.user.rows.skipped.told()) is not None:
        report = report.model_copy(update={"degraded": (*report.degraded, skipped)})
    if turn.is_away:  # whoever writes the turn keeps its report
        return report
    try:
        report = await turn.user.reports.keep(turn.thread_id, report)
    except EverthreadError as error:
        logger.warning("The report of the turn was not kept: %s", error)
    return report
