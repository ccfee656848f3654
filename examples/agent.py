"""An agent with tools whose memory goes on over threads: one line in place of a summarization middleware.

python examples/agent.py openai:gpt-5-mini
"""

import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.memory import InMemorySaver

from everthread import Everthread, MemoryStore, Settings, memory_tools


def weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}."


def ask(agent: Any, user: str, thread: str, text: str) -> str:
    state = agent.invoke(
        {"messages": [("user", text)]}, {"configurable": {"thread_id": thread}}, context={"user_id": user}
    )
    return str(state["messages"][-1].text)


def main(model: str | BaseChatModel, settings: Settings | None = None, **components: Any) -> list[str]:
    middleware = Everthread(settings, **components)
    try:
        agent = create_agent(
            model,
            tools=[weather, *memory_tools(middleware.memory("ada"))],
            middleware=[middleware],
            checkpointer=InMemorySaver(),  # any of LangGraph's
            store=MemoryStore(middleware.memory("ada"), user_of_run=True),  # what tools keep, user by user
        )
        told = ask(agent, "ada", "monday", "My dog is called Biscuit. What is the weather in Oslo?")
        middleware.memory("ada").settled()  # a script waits; an application need not
        asked = ask(agent, "ada", "tuesday", "What is my dog called?")
        return [told, asked]
    finally:
        middleware.close()


if __name__ == "__main__":
    print(*main(sys.argv[1]), sep="\n")
