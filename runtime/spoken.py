"""What of a conversation a search may be about: not what was asked to be forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from langchain_core.messages import AnyMessage

from ..facts.commands import may_ask
from ..facts.forgetting import asked_in
from ..state.messages import message_text, role_of

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

_LOOKED_AT: Final = 40
"""Messages, the newest, among which a follow-up finds what it is about."""


def without_requests(state: ConversationState) -> list[AnyMessage]:
    """The newest messages of a state without the earlier requests to forget something, and what was replied to them.

    They stay in the conversation for people to see; what they say is told to no search engine and no small model. What
    only sounds like a request stands in the chain.
    """
    messages, chain = state["messages"], state.get("chain")
    standing = {link["id"] for link in chain["links"]} if chain else set[str]()
    kept: list[AnyMessage] = []
    is_request = False
    newest = max((at for at, message in enumerate(messages) if role_of(message) == "user"), default=0)
    for at, message in enumerate(messages[-_LOOKED_AT:], start=max(0, len(messages) - _LOOKED_AT)):
        if role_of(message) == "user":
            requests = asked_in if message.id in standing else may_ask
            is_request = at < newest and bool(requests(message_text(message)))
        if not is_request:
            kept.append(message)
    return kept
