"""What tests of conversations share: fake chat models, and one turn in one line."""

from __future__ import annotations

import itertools
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from everthread.graph.conversation import CompiledConversation
from everthread.graph.open import open_graph
from everthread.runtime.components import Components
from everthread.settings.settings import Settings
from everthread.state.chain import ChainView
from everthread.state.conversation import ConversationState
from everthread.state.live_chain import LiveChain

EVERYTHING = list(ConversationState.__annotations__)
"""All channels: what `output_keys` names to see the working values of a turn."""


class EchoModel(BaseChatModel):
    """A chat model that says what it was sent: the text of its last message, and remembers all prompts."""

    prompts: list[list[BaseMessage]] = []  # noqa: RUF012  # a pydantic field

    @property
    def _llm_type(self) -> str:
        return "echo"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        self.prompts.append(messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"You said: {messages[-1].text[-200:]}"))])


class WaitingModel(EchoModel):
    """A chat model that says when it was asked (`begun`), and answers when it may (`go`): two events of threads."""

    go: Any = None
    begun: Any = None

    def _generate(self, *args: Any, **more: Any) -> Any:
        self.begun.set()
        self.go.wait(60)
        return super()._generate(*args, **more)


class BrokenModel(EchoModel):
    """A chat model that fails each time."""

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        raise ConnectionError("the provider is down")


class FailingEmbeddings(Embeddings):
    """An embedding model that fails each time."""

    def embed_query(self, text: str) -> list[float]:
        raise MemoryError("no room for the model")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise MemoryError("no room for the model")


def counting_model(text: str = "Reply {n}.") -> GenericFakeChatModel:
    """A chat model whose replies are numbered and streamed word by word."""
    return GenericFakeChatModel(messages=(AIMessage(text.format(n=n)) for n in itertools.count(1)))


def open_with(settings: Settings, **values: Any) -> open_graph:
    """`open_graph` with components, and with single settings beside them."""
    components: Any = {name: values.pop(name) for name in Components.__annotations__ if name in values}
    return open_graph(settings.but(**values), **components)


def thread(name: str = "t1") -> Any:
    """The config of a thread."""
    return {"configurable": {"thread_id": name}}


async def say(graph: CompiledConversation, text: Any, *, to: str = "t1", user: str = "ada", **context: Any) -> Any:
    """One turn; returns the state after it, with what describes this turn alone."""
    message = text if isinstance(text, dict) else {"messages": [("user", text)]}
    return await graph.ainvoke(message, thread(to), context={"user_id": user, **context}, output_keys=EVERYTHING)


def view_in(state: Any) -> ChainView:
    """The chain of a state with its texts: what the model is shown of the conversation."""
    return LiveChain(state).view
