"""The chain as it stands in a state: with what this turn brought, and with its texts; parsed once a state."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AnyMessage

from .chain import ChainView, empty_chain, message_ids, summary_ids, taken_in, view_of
from .records import Place, Summary

if TYPE_CHECKING:
    from .conversation import ConversationState


class LiveChain:
    """The chain of a state.

    Attributes:
        chain: with the messages of this turn; of a state that has no chain, all of its messages.
    """

    def __init__(self, state: ConversationState) -> None:
        messages, texts = state.get("messages") or [], state.get("chain_texts") or {}
        self._made_from = (state.get("chain"), state.get("messages"), state.get("chain_texts"))
        self._summaries = {id_: text for id_, text in texts.items() if type(text) is Summary}
        older = {id_: cast("AnyMessage", text) for id_, text in texts.items() if id_ not in self._summaries}
        self._messages = {**older, **{str(message.id): message for message in messages}}
        self.chain = taken_in(state.get("chain") or empty_chain(), messages)

    @cached_property
    def view(self) -> ChainView:
        """The chain with its texts, as far as the state holds them: see `runtime.chain_texts`."""
        return view_of(self.chain, self._messages, self._summaries)

    @cached_property
    def texts(self) -> dict[str, Summary | AnyMessage]:
        """By id, all messages and summaries that the state holds."""
        return {**self._summaries, **self._messages}

    @property
    def missing(self) -> tuple[list[str], list[str]]:
        """Ids of the messages and of the summaries of the chain whose texts the state does not hold."""
        lacking = [id_ for id_ in message_ids(self.chain) if id_ not in self._messages]
        return lacking, [id_ for id_ in summary_ids(self.chain) if id_ not in self._summaries]

    def is_of(self, state: ConversationState) -> bool:
        """Whether it was made from what this state holds."""
        held: tuple[Any, ...] = (state.get("chain"), state.get("messages"), state.get("chain_texts"))
        return all(made is there for made, there in zip(self._made_from, held, strict=True))


class LiveChains:
    """The chain of the state that a turn is in: parsed when it was changed, and not for each node that looks at it.

    Attributes:
        places: by id, where messages stand, as far as the run has looked.
    """

    def __init__(self) -> None:
        self._newest: LiveChain | None = None
        self.places: dict[str, Place] = {}

    def of(self, state: ConversationState) -> LiveChain:
        """The chain of a state."""
        newest = self._newest
        if newest is None or not newest.is_of(state):
            newest = self._newest = LiveChain(state)
        return newest
