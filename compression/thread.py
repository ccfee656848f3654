"""Compression of one thread: the settings with what its commands have set, and what is due there."""

from __future__ import annotations

from ..state.compression_records import ThreadCompression
from ..state.conversation import ConversationState
from ..state.settings import Settings
from .chain import Batch
from .engine import next_batch, policy_of


def control_of(state: ConversationState) -> ThreadCompression:
    """What the commands have set for the thread."""
    return state.get("compression") or ThreadCompression()


def settings_in(state: ConversationState, settings: Settings) -> Settings:
    """The settings with the threshold that the user chose for this thread, if it is one of this profile."""
    control = control_of(state)
    name = policy_of(settings).threshold_name
    if control.threshold is None or control.threshold_name != name:
        return settings
    return settings.model_copy(update={name: control.threshold})


def batch_due(state: ConversationState, settings: Settings) -> Batch | None:
    """What is to be summarized next in the thread; None where that is turned off.

    Args:
        state: the state of the thread.
        settings: those of the thread, see `settings_in`.
    """
    return next_batch(state["messages"], settings) if control_of(state).enabled else None
