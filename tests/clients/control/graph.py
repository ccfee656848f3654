"""A plain chat graph that keeps all promises: with it the bench itself is tested (`CONTROL=1`)."""

from __future__ import annotations

from typing import Any

from langchain.chat_models import init_chat_model
from langgraph.graph import END, START, MessagesState, StateGraph

MODEL = init_chat_model("openai:fake-1")


class RefusedError(ValueError):
    """A message that cannot be answered."""

    def model_dump(self) -> dict[str, str]:
        """What the server sends of it."""
        return {"error": f"RefusedError: {self}", "message": str(self)}


async def reply(state: MessagesState) -> dict[str, Any]:
    """The reply; and every other turn a summary that goes nowhere."""
    messages = state["messages"]
    if not messages or not messages[-1].text.strip():
        raise RefusedError("The message is empty.")
    answer = await MODEL.ainvoke(messages)
    if len(messages) % 4 == 3:
        excerpt = f"<excerpt id=1>\nuser: {messages[-1].text}\nassistant: {answer.text}\n</excerpt id=1>\n\nSummary:"
        await MODEL.ainvoke([("user", excerpt)], {"tags": ["nostream"]})
    return {"messages": [answer]}


graph = (
    StateGraph(MessagesState)
    .add_node("reply", reply)
    .add_edge(START, "reply")
    .add_edge("reply", END)
    .compile(name="everthread")
)
