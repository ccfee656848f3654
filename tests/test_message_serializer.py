"""Messages come back from checkpoints as LangGraph's own serializer brings them back."""

from __future__ import annotations

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Overwrite

from everthread.state.records import Recall
from everthread.storage.message_serializer import MessageSerializer

CALL = {"name": "weather", "args": {"city": "Oslo", "days": [1, 2]}, "id": "c1", "type": "tool_call"}
MESSAGES: list[BaseMessage] = [
    HumanMessage("Hello", id="1", name="Ada", additional_kwargs={"created_at": "2026-01-01"}),
    HumanMessage([{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]),
    AIMessage("", id="2", tool_calls=[CALL]),  # type: ignore[list-item]  # a mapping of the right shape
    AIMessage(
        "Yes.",
        response_metadata={"model_name": "m", "stopped": True},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    ),
    AIMessage(
        "", invalid_tool_calls=[{"name": "w", "args": "{", "id": "c2", "error": "e", "type": "invalid_tool_call"}]
    ),
    ToolMessage("rain", tool_call_id="c1", name="weather", artifact={"raw": [1]}, status="error"),
    SystemMessage("Be kind."),
    AIMessageChunk("part"),
    ChatMessage("said", role="observer"),
    RemoveMessage(id="1"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_is_what_it_was(message: BaseMessage) -> None:
    stored = MessageSerializer().dumps_typed([message, {"inside": message}, Overwrite([message])])
    mine, theirs = MessageSerializer().loads_typed(stored), JsonPlusSerializer().loads_typed(stored)
    assert mine == theirs
    for read, by_theirs in zip((mine[0], mine[1]["inside"]), (theirs[0], theirs[1]["inside"]), strict=True):
        assert (type(read), read, repr(read)) == (type(message), message, repr(by_theirs))
        assert read.model_dump() == message.model_dump()
        assert read.model_copy(update={"content": "x"}).content == "x"
        assert read.model_fields_set == by_theirs.model_fields_set
        assert type(read).model_validate(read.model_dump()) == message


def test_messages_of_another_version_and_records_are_read_as_before() -> None:
    class Changed(HumanMessage):
        new: int = 3

    Changed.__module__, Changed.__name__ = HumanMessage.__module__, "HumanMessage"
    stored = MessageSerializer().dumps_typed([Changed("Hello"), Recall()])
    read = MessageSerializer().loads_typed(stored)
    assert read[0].text == "Hello"
    assert read == JsonPlusSerializer().loads_typed(stored)
