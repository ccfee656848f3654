"""What keeps a conversation within a window: LangChain's SummarizationMiddleware, LangMem's node, our middleware.

All get the same summarizer and the same counting, and see a conversation message by message. A sliding window, which
drops what does not fit, and the whole history are beside them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, RemoveMessage

from bench.driving import HashEmbeddings
from everthread import Everthread, Settings
from everthread.text.tokens import count_message_tokens


class Window(Protocol):
    """What a peer does before each call of the model: the messages for it, out of what it was told so far."""

    async def before(self, new: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Take in new messages; returns what goes to the model."""


class WholeHistory:
    """Everything that was said."""

    def __init__(self) -> None:
        self.said: list[AnyMessage] = []

    async def before(self, new: Sequence[AnyMessage]) -> list[AnyMessage]:
        self.said += new
        return list(self.said)


class SlidingWindow(WholeHistory):
    """The newest messages that fit."""

    def __init__(self, budget: int) -> None:
        super().__init__()
        self.budget = budget

    async def before(self, new: Sequence[AnyMessage]) -> list[AnyMessage]:
        return newest(await super().before(new), self.budget)


def newest(messages: Sequence[AnyMessage], budget: int) -> list[AnyMessage]:
    """The newest messages of at most so many tokens."""
    kept: list[AnyMessage] = []
    for message in reversed(messages):
        budget -= count_message_tokens([message])
        if budget < 0:
            break
        kept.insert(0, message)
    return kept


class Middleware:
    """LangChain's SummarizationMiddleware: when the prompt has `budget` tokens; it keeps 20 messages (its default)."""

    def __init__(self, model: BaseChatModel, budget: int) -> None:
        from langchain.agents.middleware import SummarizationMiddleware

        self._node = SummarizationMiddleware(
            model, trigger=("tokens", budget), token_counter=count_message_tokens, trim_tokens_to_summarize=None
        )
        self._messages: list[AnyMessage] = []

    async def before(self, new: Sequence[AnyMessage]) -> list[AnyMessage]:
        self._messages += new
        update: Any = await self._node.abefore_model({"messages": self._messages}, None)  # type: ignore[arg-type]
        if update is not None:
            self._messages = [message for message in update["messages"] if not isinstance(message, RemoveMessage)]
        return list(self._messages)


class LangMem:
    """LangMem's SummarizationNode with `max_tokens` of the budget and its own default of 256 for the summary."""

    def __init__(self, model: BaseChatModel, budget: int) -> None:
        from langmem.short_term import SummarizationNode

        self._node = SummarizationNode(
            model=model, max_tokens=budget, max_summary_tokens=256, token_counter=count_message_tokens
        )
        self._state: dict[str, Any] = {"messages": [], "context": {}}

    async def before(self, new: Sequence[AnyMessage]) -> list[AnyMessage]:
        self._state["messages"] = [*self._state["messages"], *new]
        update = await self._node.ainvoke(self._state)
        self._state["context"] = update.get("context", self._state["context"])
        return list(update["summarized_messages"])


class Agent:
    """everthread's own middleware, `create_agent(..., middleware=[Everthread()])`, on SQLite: its prompts."""

    def __init__(self, model: BaseChatModel, budget: int) -> None:
        self._folder = TemporaryDirectory(prefix="everthread-agent-")
        settings = Settings(database_url=f"sqlite:///{self._folder.name}/memory.db", web_search="off")
        self._memory = Everthread(settings, model=model, embeddings=HashEmbeddings()).memory("bench")
        self._budget = budget
        self._waiting: list[AnyMessage] = []

    async def before(self, new: Sequence[AnyMessage]) -> list[AnyMessage]:
        *said, question = [*self._waiting, *new]
        self._waiting = [question]
        if said:
            await self._memory.aremember(said, thread_id="t1")
            await self._memory.asettled()
        return await self._memory.acontext(question.text, thread_id="t1", budget=self._budget)


def peers() -> Iterator[tuple[str, Callable[[BaseChatModel, int], Window]]]:
    """The summarizing peers that are installed, each made with a model and a budget; the others are named."""
    yield "LangChain SummarizationMiddleware", Middleware
    yield "everthread's middleware", Agent
    if importlib.util.find_spec("langmem") is None:
        print("langmem is not installed and left out: pip install langmem")
    else:
        yield "LangMem SummarizationNode", LangMem
