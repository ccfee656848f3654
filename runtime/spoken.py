"""What of a conversation a search may be about: not what was asked to be forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from langchain_core.messages import AnyMessage

from ..facts.forgetting import asked_in
from ..state.messages import message_text, role_of

_LOOKED_AT: Final = 40
"""Messages, the newest, among which a follow-up finds what it is about."""


def without_requests(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The newest messages without the earlier requests to forget something, and what was replied to them.

    They stay in the conversation for people to see; what they say is told to no search engine and no small model.
    """
    kept: list[AnyMessage] = []
    is_request = False
    newest = max((at for at, message in enumerate(messages) if role_of(message) == "user"), default=0)
    for at, message in enumerate(messages[-_LOOKED_AT:], start=max(0, len(messages) - _LOOKED_AT)):
        if role_of(message) == "user":
            is_request = at < newest and bool(asked_in(message_text(message)))
        if not is_request:
            kept.append(message)
    return kept
