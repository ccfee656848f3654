"""Real conversations through the product: its graph or its nodes on embedded Postgres, a turn at a time.

The chat model replies what the conversation goes on with, and keeps the prompt that it was given. Where nodes are
called by themselves, what of the state a checkpoint would carry goes from turn to turn.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from bench.datasets import Haystack
from bench.server_folder import server_folder
from everthread.compression.thread import batch_due
from everthread.graph.build import ConversationGraph
from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.models.embedding_models import load_embeddings
from everthread.nodes.memory_retrieval import memory_retrieval
from everthread.nodes.pairing import pairing
from everthread.nodes.remember import remember
from everthread.nodes.summarize import summarize
from everthread.runtime.chain_texts import with_chain
from everthread.runtime.prompt import assembled
from everthread.runtime.resources import Resources
from everthread.runtime.turn import Turn
from everthread.settings.profiles import PROFILES
from everthread.settings.settings import Settings
from everthread.state.report_records import reply_and_context
from everthread.state.turn_records import ContextReport
from everthread.storage.open import checkpointer_of

PROFILE_NAMES = tuple(PROFILES)

Carried = dict[str, Any]
"""What of the state goes from one turn to the next; nothing at the beginning of a thread."""

_CARRIED = ("messages", "chain", "compression")


class Exchange(NamedTuple):
    """What the user said, what was replied, and which messages of the data these were made of."""

    user: AnyMessage
    reply: AnyMessage
    ids: tuple[str, ...]


def exchanges(haystack: Haystack, prefix: str = "") -> Iterator[Exchange]:
    """A conversation of two people as exchanges: who begins is the user, what one says in a row is one message.

    A sitting that begins with who ended the one before is a message of its own, with its own date: the other one is
    silent between them.
    """
    messages = haystack.threads["one"]
    runs: list[list[AnyMessage]] = []
    for (kind, _), run in itertools.groupby(messages, key=lambda m: (m.type, m.additional_kwargs.get("created_at"))):
        if runs and runs[-1][0].type == kind:
            runs.append([_silence(runs[-1][-1])])
        runs.append(list(run))
    for asked, replied in zip(runs[::2], runs[1::2], strict=False):
        ids = tuple(str(message.id) for message in (*asked, *replied))
        yield Exchange(_joined(HumanMessage, asked, prefix), _joined(AIMessage, replied, prefix), ids)


def _silence(message: AnyMessage) -> AnyMessage:
    other = AIMessage if isinstance(message, HumanMessage) else HumanMessage
    return other("", id=f"{message.id}-silence", additional_kwargs=message.additional_kwargs)


def _joined(kind: type[Any], run: Sequence[AnyMessage], prefix: str) -> AnyMessage:
    text = "\n".join(message.text for message in run)
    made: AnyMessage = kind(
        text, id=f"{prefix}{run[0].id}", name=run[0].name, additional_kwargs=run[0].additional_kwargs
    )
    return made


class Scripted(BaseChatModel):
    """A chat model that replies what it is told to, and keeps its newest prompt."""

    reply: Any = None
    prompt: Any = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        self.prompt = messages
        return ChatResult(generations=[ChatGeneration(message=self.reply.model_copy())])


class HashEmbeddings(Embeddings):
    """Vectors from the hash of a text: no two texts are near each other."""

    def embed_query(self, text: str) -> list[float]:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        vector: list[float] = np.random.default_rng(seed).normal(size=384).tolist()
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class Driver:
    """One set of resources, and conversations that go through it.

    Attributes:
        shown: what the newest prompt held, as its report has it.
    """

    def __init__(self, resources: Resources, model: Scripted) -> None:
        self.resources, self.model = resources, model
        self.shown: ContextReport | None = None
        checkpointer = checkpointer_of(resources.database)
        self._graph: Any = ConversationGraph(resources).compile(checkpointer=checkpointer)

    def turn(self, profile: str, user: str, **values: Any) -> Turn:
        """What nodes are told, for one profile and a user who has one thread."""
        settings = Settings(profile=profile, user_id=user, **values).over(self.resources.settings)
        return Turn(self.resources, settings, {"configurable": {"thread_id": f"{user}/one"}})

    async def say(self, exchange: Exchange, turn: Turn) -> Any:
        """One turn of the whole graph; returns its `after_reply`."""
        self.model.reply = exchange.reply
        state = await self._graph.ainvoke(
            {"messages": [exchange.user]},
            dict(turn.config),
            context=turn.settings,
            output_keys=["after_reply", "report"],
        )
        _, self.shown = reply_and_context(state["report"])
        return state["after_reply"]

    async def grow(self, carried: Carried, said: Iterable[Exchange], turn: Turn) -> Carried:
        """The state after these exchanges: what the graph does after a reply, without asking anything before it."""
        for exchange in said:
            carried = await settled(carried, [exchange.user, exchange.reply], turn)
        return carried

    async def asked(
        self, carried: Carried, question: str, turn: Turn, *, budget: int | None, recall: bool
    ) -> list[AnyMessage]:
        """The prompt for a question at the end of a conversation, with or without what is recalled for it."""
        state = with_new(carried, [HumanMessage(question, id="question")])
        if recall:
            state |= plain(await memory_retrieval(state, turn))
            state |= await pairing(state, turn)
        return await self.assembled(state, turn, budget=budget)

    async def assembled(self, state: Any, turn: Turn, *, budget: int | None) -> list[AnyMessage]:
        """The prompt for a state whose messages end with a question, without more recall than it holds."""
        whole, _ = await with_chain(state, turn)
        return list((await assembled(whole, turn, budget=budget))["context"].messages)


async def settled(carried: Carried, new: Sequence[AnyMessage], turn: Turn) -> Carried:
    """The state after new messages and the nodes `remember` and `summarize`, as often as a summary is due."""
    state = with_new(carried, new)
    state |= plain(await remember(state, turn))
    while not state["after_reply"].error and batch_due(state, turn.live(state), turn.settings) is not None:
        state |= plain(await summarize(state, turn))
    if state["after_reply"].error:
        raise RuntimeError(state["after_reply"].error)
    return {name: state[name] for name in _CARRIED if name in state}


def with_new(carried: Carried, new: Sequence[AnyMessage]) -> Any:
    """The state with new messages."""
    return {**carried, "messages": [*carried.get("messages", []), *new]}


def plain(update: dict[str, Any]) -> dict[str, Any]:
    """What a node returned, with the messages themselves in the place of what overwrites them."""
    return {key: getattr(value, "value", value) if key == "messages" else value for key, value in update.items()}


@asynccontextmanager
async def driver(*, embed: bool = True) -> AsyncIterator[Driver]:
    """A driver on an embedded server of its own, without web search, with extractive summaries.

    Args:
        embed: whether the real embedding model is loaded; else vectors say nothing, and words alone recall.
    """
    model = Scripted()
    embeddings = await asyncio.to_thread(load_embeddings, BUNDLED_MODEL) if embed else HashEmbeddings()
    with server_folder() as folder:
        settings = Settings(
            data_dir=folder, web_search="off", summary_model="extractive", recall_cache=6400, timeouts={"embedding": 60}
        )
        resources = Resources(settings, model=model, embeddings=embeddings)
        try:
            await resources.open()
            yield Driver(resources, model)
        finally:
            await resources.close()
