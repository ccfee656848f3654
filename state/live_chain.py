"""The chain as it stands in a state: with what this turn brought, and with its texts. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from langchain_core.messages import AnyMessage

from .chain import Chain, ChainView, empty_chain, message_ids, summary_ids, taken_in, view_of
from .conversation import ConversationState
from .records import Summary


def chain_in(state: ConversationState) -> Chain:
    """The chain with the messages of this turn; of a state that has none, all of its messages."""
    return taken_in(state.get("chain") or empty_chain(), state.get("messages") or [])


def view_in(state: ConversationState) -> ChainView:
    """The chain with its texts, as far as the state holds them: see `nodes.chain_texts`."""
    return view_of(chain_in(state), _messages(state), _summaries(state))


def texts_missing(state: ConversationState) -> tuple[list[str], list[str]]:
    """Ids of the messages and of the summaries of the chain whose texts the state does not hold."""
    chain = chain_in(state)
    messages, summaries = _messages(state), _summaries(state)
    lacking = [id_ for id_ in message_ids(chain) if id_ not in messages]
    return lacking, [id_ for id_ in summary_ids(chain) if id_ not in summaries]


def _messages(state: ConversationState) -> Mapping[str, AnyMessage]:
    texts = state.get("chain_texts") or {}
    older = {id_: cast("AnyMessage", text) for id_, text in texts.items() if not isinstance(text, Summary)}
    return {**older, **{str(message.id): message for message in state.get("messages") or []}}


def _summaries(state: ConversationState) -> Mapping[str, Summary]:
    texts = state.get("chain_texts") or {}
    return {id_: text for id_, text in texts.items() if isinstance(text, Summary)}
