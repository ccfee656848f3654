"""Forgetting where there is more than text: arguments and results of tools, reasoning, images and files."""

from __future__ import annotations

from typing import Any

import pytest
from conversation import open_with, say
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from test_chat_forgetting import CANARY, Notes

from everthread import Settings
from everthread.maintenance.proof import prove
from everthread.runtime.forget_needles import Needles
from everthread.state.shortened import shortened

KEY = bytes(range(32))
TOLD = f"I live in {CANARY}."
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
FILE = {"type": "file", "file": {"filename": "minutes.pdf"}}


def called(id_: str, arguments: dict[str, Any], result: str, **more: Any) -> list[Any]:
    call = {"name": "book", "args": arguments, "id": id_}
    return [AIMessage("", tool_calls=[call]), ToolMessage(result, tool_call_id=id_, **more), AIMessage("Booked.")]


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
@pytest.mark.parametrize("way", ["in the chat", "by the program"])
async def test_calls_results_and_reasoning_that_say_it_go_with_it(at_hand: Settings, key: Any, way: str) -> None:
    """Among them one of another thread that only its arguments tell, and one whose arguments tell nothing."""
    embeddings, more = DeterministicFakeEmbedding(size=8), {} if key is None else {"master_key": lambda: key}
    async with open_with(at_hand, model=Notes(prompts=[]), embeddings=embeddings, **more) as graph:
        await say(graph, TOLD)
        await say(graph, "My dog is called Rex.")
        deep = {"trip": {"notes": ["by train", TOLD]}}
        said: list[Any] = [HumanMessage("Please book it."), *called("c1", deep, "Done.", artifact={"for": TOLD})]
        thought = AIMessage(
            [{"type": "reasoning", "reasoning": f"{TOLD} So: a train."}, {"type": "text", "text": "By train."}]
        )
        said += [HumanMessage("How do I get there?"), thought]
        said += [HumanMessage("Please book a table."), *called("c2", {"people": 2}, "Table 5.")]
        await say(graph, {"messages": [*said, HumanMessage("Thanks a lot.")]}, to="t2")
        user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
        if way == "in the chat":
            assert (await say(graph, "Forget my address."))["facts"].forgotten.is_done
        else:
            first = (await user.archive.messages("t1"))[0].id
            await graph.aforget("ada", "t1", messages=[first])  # type: ignore[attr-defined]
        await graph.asettled()  # type: ignore[attr-defined]
        assert (await prove(graph.resources.database, "ada", Needles((CANARY,), 1))).remains == ()  # type: ignore[attr-defined]
        left = await user.archive.messages("t2")
        rows = (await user.archive.whole_messages("t2", [message.id for message in left])).values()
        assert [call["id"] for row in rows for call in getattr(row, "tool_calls", None) or ()] == ["c2"]
        assert "Table 5." in [row.text for row in rows]
        assert "My dog is called Rex." in [message.text for message in await user.archive.messages("t1")]
        state = await say(graph, "And how did it go on?", to="t2")
        assert CANARY not in str(state["context"].messages)


async def test_the_image_and_the_file_beside_a_forgotten_sentence_stay(at_hand: Settings) -> None:
    embeddings = DeterministicFakeEmbedding(size=8)
    async with open_with(at_hand, model=Notes(prompts=[]), embeddings=embeddings) as graph:
        told = [{"type": "text", "text": f"{TOLD} My dog is called Rex."}, IMAGE, FILE]
        await say(graph, {"messages": [HumanMessage(told)]})
        asked = [{"type": "text", "text": f"Forget that I live in {CANARY}. Here is my cat:"}, IMAGE]
        state = await say(graph, {"messages": [HumanMessage(asked)]})
        assert state["facts"].forgotten.is_done
        left = [{"type": "text", "text": "My dog is called Rex."}, IMAGE, FILE]
        request = [{"type": "text", "text": "Here is my cat:"}, IMAGE]
        assert [message.content for message in state["messages"] if message.type == "human"] == [left, request]
        user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
        ids = [message.id for message in await user.archive.messages("t1")]
        kept = await user.archive.whole_messages("t1", ids)
        assert [kept[id_].content for id_ in ids if kept[id_].type == "human"] == [left, request]


def test_where_blocks_cannot_say_just_the_rest_it_is_the_content() -> None:
    blocks = [{"type": "text", "text": "I live in"}, {"type": "text", "text": "Oslo. I like tea."}]
    assert shortened(blocks, "I like tea.") == [{"type": "text", "text": "I like tea."}]
    assert shortened([{"type": "tool_result", "content": "Oslo. Rain."}, IMAGE], "Rain.") == "Rain."
    assert shortened(["Oslo. Rain.", IMAGE], "Rain.\n[image]") == [{"type": "text", "text": "Rain."}, IMAGE]
    assert shortened("Oslo. Rain.", "Rain.") == "Rain."
    assert shortened([{"type": "text", "text": "Oslo. Rain."}, FILE], "Rain.") == [{"type": "text", "text": "Rain."}]
