"""Summaries in the chain as messages that a provider takes."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from ..prompts.system import SUMMARY
from ..state.chain import is_summary
from ..state.messages import message_text
from .fence import set_in


def with_summary_messages(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages with each summary as one that a provider takes, where its sources stood.

    After something the user said it is the assistant's, so that no question is left open; else it is the user's.
    Neighbouring summaries become one message.
    """
    told: list[AnyMessage] = []
    for index, message in enumerate(messages):
        if not is_summary(message):
            told.append(message)
            continue
        text = summary_message_text(message)
        if index and is_summary(messages[index - 1]):
            told[-1] = told[-1].model_copy(update={"content": f"{told[-1].content}\n{text}"})
        elif told and isinstance(told[-1], HumanMessage):
            told.append(AIMessage(text, id=message.id))
        else:
            told.append(HumanMessage(text, id=message.id))
    return told


def summary_message_text(summary: AnyMessage) -> str:
    """A summary as it is shown in its place; nothing in it looks like what stands after it."""
    return SUMMARY.format(text=set_in(message_text(summary)))
