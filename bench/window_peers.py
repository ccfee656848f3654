"""What keeps a conversation within a window: LangChain's SummarizationMiddleware, LangMem's node, our middleware.

All get the same summarizer and the same counting, and see a conversation message by message. A sliding window, which
drops what does not fit, and the whole history are beside them.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, RemoveMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

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


class Answering(BaseChatModel):
    """A model that shows what it is asked, and answers with what it is told later."""

    asked: Any
    replies: Any

    @property
    def _llm_type(self) -> str:
        return "answering"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        await self.asked.put(messages)
        return ChatResult(generations=[ChatGeneration(message=await self.replies.get())])


class Agent:
    """everthread's own middleware in an agent, `create_agent(..., middleware=[Everthread()])`, on SQLite."""

    def __init__(self, model: BaseChatModel, budget: int) -> None:
        self._folder = TemporaryDirectory(prefix="everthread-agent-")
        settings = Settings(database_url=f"sqlite:///{self._folder.name}/memory.db", web_search="off")
        settings = settings.but(max_context_tokens=budget + settings.max_reply_tokens)
        self._middleware = Everthread(settings, model=model, embeddings=HashEmbeddings())
        self._model = Answering(asked=asyncio.Queue(), replies=asyncio.Queue())
        self._agent: Any = create_agent(self._model, [], middleware=[self._middleware], checkpointer=InMemorySaver())
        self._turn: asyncio.Task[Any] | None = None

    async def before(self, new: Sequence[AnyMessage]) -> list[AnyMessage]:
        # LoCoMo has photos without words, which an agent is not asked.
        said = [message if message.text.strip() else message.model_copy(update={"content": "."}) for message in new]
        if self._turn is not None:
            answers = said and isinstance(said[0], AIMessage)
            await self._model.replies.put(said.pop(0) if answers else AIMessage("Go on."))
            await self._turn
            await self._middleware.memory("bench").asettled()
        given: Any = {"configurable": {"thread_id": "t1", "user_id": "bench"}}
        self._turn = asyncio.create_task(self._agent.ainvoke({"messages": said}, given))
        asked = asyncio.create_task(self._model.asked.get())
        await asyncio.wait([asked, self._turn], return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            self._turn.result()  # raises what went wrong
        return list(await asked)


def peers() -> Iterator[tuple[str, Callable[[BaseChatModel, int], Window]]]:
    """The summarizing peers that are installed, each made with a model and a budget; the others are named."""
    yield "LangChain SummarizationMiddleware", Middleware
    yield "everthread's middleware", Agent
    if importlib.util.find_spec("langmem") is None:
        print("langmem is not installed and left out: pip install langmem")
    else:
        yield "LangMem SummarizationNode", LangMem
