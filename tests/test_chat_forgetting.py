"""Requests to forget in a conversation: what was meant is gone from everywhere, and the request is not recalled."""

from __future__ import annotations

from conversation import say
from langchain_core.messages import AIMessage

from everthread.graph.conversation import CompiledConversation


async def found(graph: CompiledConversation, question: str, *, to: str = "elsewhere") -> str:
    """What is recalled and known for a question in another thread, as one text."""
    await graph.asettled()  # type: ignore[attr-defined]
    state = await say(graph, question, to=to)
    memories = [fragment.content for memory in state["recall"].memories for fragment in memory.fragments]
    return "\n".join([*memories, *state["facts"].lines])


async def test_what_is_to_be_forgotten_is_gone_and_so_is_the_request(graph: CompiledConversation) -> None:
    await say(graph, "I live in Oslo", to="one")
    await say(graph, "I have a dog called Rex.", to="one")
    assert "Oslo" in await found(graph, "Do I live in a city?", to="before")
    state = await say(graph, "Forget that I live in Oslo", to="one")
    assert state["facts"].forgotten.is_done
    said = [message.text for message in state["messages"]]
    assert said[:1] + said[2:3] == ["I have a dog called Rex.", "Forget that I live in Oslo"]
    assert "Oslo" not in said[1]
    told = await found(graph, "Do I live in a city?")
    assert "Oslo" not in told
    assert "Rex" in await found(graph, "What is my dog called?", to="third")
    state = await say(graph, "And now?", to="one")
    assert "Oslo" not in " ".join(message.text for message in state["context"].messages)
    assert isinstance(state["messages"][-1], AIMessage)
