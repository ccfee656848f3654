"""What a node returns: new values by channel; what it makes of a state. LangGraph is not needed for this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from .conversation import ConversationState

Update = dict[str, Any]
"""What a node returns: new values by the keys of `ConversationState`."""

TURN_CHANNELS: Final = (
    "command_answer", "chain_texts", "places", "search", "recall", "facts", "context", "context_report", "reply",
    "unreadable", "after_reply",
)  # fmt: skip
"""The channels that describe one turn alone, which are not checkpointed."""


@dataclass(frozen=True, slots=True)
class Whole:
    """All of a channel, in place of what was there, where an update would be added to it."""

    value: Any


def with_update(state: ConversationState, update: Mapping[str, Any]) -> ConversationState:
    """The state with the values of an update."""
    values = {name: value.value if isinstance(value, Whole) else value for name, value in update.items()}
    return cast("ConversationState", {**state, **values})
