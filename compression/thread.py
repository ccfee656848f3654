"""Compression of one thread: the settings with what its commands have set, and what is due there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ..settings.settings import Settings
from ..state.chain import ChainView, summary_of
from ..state.compression_records import ThreadCompression
from ..state.live_chain import LiveChain
from ..state.records import Summary
from ..state.report_records import Progress
from .chain import Batch, summaries_of
from .ends import behind, first_due
from .engine import policy_of

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

LONGEST_WAIT: Final = 64
"""Turns between two tries to make a rejected summary again, at most."""


def control_of(state: ConversationState) -> ThreadCompression:
    """What the commands have set for the thread."""
    kept = state.get("compression")
    return ThreadCompression.model_validate(kept) if kept else ThreadCompression()


def as_channel(control: ThreadCompression) -> dict[str, Any]:
    """What the commands have set, as the state keeps it: what differs from the default."""
    return control.model_dump(mode="json", exclude_defaults=True)


def settings_in(state: ConversationState, settings: Settings) -> Settings:
    """The settings with the threshold that the user chose for this thread, if it is one of this profile."""
    control = control_of(state)
    name = policy_of(settings).threshold_name
    if control.threshold is None or control.threshold_name != name:
        return settings
    return settings.model_copy(update={name: control.threshold})


def batch_due(state: ConversationState, live: LiveChain, settings: Settings) -> Batch | None:
    """What is to be summarized next in the thread; None where that is turned off.

    Args:
        state: the state of the thread.
        live: its chain.
        settings: those of the thread, see `settings_in`.
    """
    return first_due(live.chain, live.view, settings) if control_of(state).enabled else None


def is_far_behind(state: ConversationState, live: LiveChain, settings: Settings, *, most: int) -> bool:
    """Whether more ends of turns wait for their summaries than may."""
    return control_of(state).enabled and behind(live.chain, live.view, settings) > most


def turn_of(state: ConversationState) -> int:
    """The number of the turn that the state is in."""
    return progress.turn if (progress := Progress.read(state.get("progress"))) is not None else 0


def regeneration_due(state: ConversationState, chain: ChainView) -> bool:
    """Whether this turn tries to make a rejected summary again: one is owed, and the wait after the last try is over.

    Each turn tries at most once: after each try a wait begins.
    """
    control = control_of(state)
    owed = control.regeneration_owed or _holds_rejected(chain)
    return control.enabled and owed and turn_of(state) >= control.regeneration_turn


def _holds_rejected(chain: ChainView) -> bool:
    """Whether a summary stands in the chain whose model's text was rejected."""
    return any(summary_of(message).rejected for message in summaries_of(chain))


def after_summaries(
    control: ThreadCompression, turn: int, made: Sequence[Summary], before: ChainView
) -> ThreadCompression | None:
    """What is owed after summaries took their places in a chain; None where nothing changes.

    Also where a rejected one has just become part of a higher one, and stands in the chain no longer.
    """
    if any(summary.rejected for summary in made):
        return after_rejection(control, turn)
    return control.model_copy(update={"regeneration_owed": True}) if made and _holds_rejected(before) else None


def after_rejection(control: ThreadCompression, turn: int) -> ThreadCompression:
    """What is owed after a summary was rejected in this turn: it is not tried again before the next."""
    return control.model_copy(
        update={"regeneration_owed": True, "regeneration_turn": max(control.regeneration_turn, turn + 1)}
    )


def after_regeneration(control: ThreadCompression, turn: int, *, failed: bool) -> ThreadCompression:
    """What is owed after a try in this turn: the next comes a turn after a good one, ever later after failed ones."""
    failures = control.regeneration_failures + 1 if failed else 0
    wait = min(2**failures, LONGEST_WAIT)
    return control.model_copy(
        update={
            "regeneration_owed": True,
            "regeneration_turn": turn + wait,
            "regeneration_failures": min(failures, LONGEST_WAIT),
        }
    )


def nothing_owed(control: ThreadCompression, turn: int) -> ThreadCompression:
    """What is owed where the archive has no rejected summary of the thread."""
    return control.model_copy(
        update={"regeneration_owed": False, "regeneration_turn": turn + LONGEST_WAIT, "regeneration_failures": 0}
    )
