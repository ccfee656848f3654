"""The doors without the graph that `bench.isolation` tries: memory, agents with the middleware, MCP, HTTP, the page."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Protocol
from unittest.mock import patch
from urllib.parse import quote

import httpx
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from starlette.applications import Starlette
from starlette.routing import Route

from everthread import Everthread
from everthread.doors.adapters import MemoryRetriever, ThreadHistory, memory_tools
from everthread.doors.mcp import memory_server
from everthread.doors.memory import ConversationMemory
from everthread.server import history as served_history
from everthread.server.page import PATH as PAGE
from everthread.server.page import page
from everthread.web.app import READING, WRITING

PATH = "/everthread/threads/{thread_id}/history"


class Probed(Protocol):
    """Whose data is tried for: see `isolation_doors.Victim`."""

    id: str
    threads: list[str]
    summary: str
    ids: list[str]
    facts: list[Any]


class MemoryDoors:
    """What strangers try on the same storage beside the graph.

    Args:
        graph: the open graph, whose storage it is.
        model: the chat model of agents.
        users: all user ids: each has a token of the MCP server.
        asked: a question whose answers are secrets.
        mark: what strangers try to leave.
    """

    def __init__(self, graph: Any, model: Any, users: list[str], asked: str, mark: str) -> None:
        self._graph, self._resources, self._asked, self._mark = graph, graph.resources, asked, mark
        middleware = Everthread(self._resources.settings)
        middleware.resources = self._resources
        self.agent_door: Any = create_agent(model, [], middleware=[middleware], checkpointer=InMemorySaver())
        self.tokens = {user: f"token-{number:012d}" for number, user in enumerate(users)}
        self._server = memory_server(self._of("default"), tokens={token: user for user, token in self.tokens.items()})
        self._open = AsyncExitStack()
        self.all = [
            self.open_memory,
            self.memory_by_ids,
            self.adapters,
            self.agent,
            self.mcp,
            self.http_history,
            self.page,
        ]

    async def __aenter__(self) -> MemoryDoors:
        app = self._server.streamable_http_app(stateless_http=True, json_response=True)
        await self._open.enter_async_context(self._server.session_manager.run())
        self._mcp = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8765")
        await self._open.enter_async_context(self._mcp)
        database = self._resources.database
        self._open.enter_context(patch.object(served_history, "shared_database", lambda: database))
        self._http = Starlette(routes=[Route(PATH, served_history.history)])
        # Here it is no matter that the templates are read on the loop.
        self._page = Starlette(routes=[page(self._resources, is_authenticated=True)])
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._open.aclose()

    def _of(self, user_id: str) -> ConversationMemory:
        return ConversationMemory(self._resources, user_id)

    async def open_memory(self, stranger: str, victim: Probed) -> Any:
        memory, thread = self._of(stranger), random.choice(victim.threads)
        works: list[Callable[[], Awaitable[Any]]] = [
            lambda: memory.arecall(self._asked),
            lambda: memory.arecall(self._asked, thread_id=thread),
            lambda: memory.acontext(self._asked, thread_id=thread),
            lambda: memory.acontext(f"Forget my locker number. {self._mark}", thread_id=thread),
            lambda: memory.abuild_context(self._asked, thread_id=thread),
            lambda: memory.abuild_context(self._asked, thread_id=f"own {stranger}"),
            lambda: memory.ahistory(thread, with_left=True),
            lambda: memory.asummaries(thread),
            memory.athreads,
            memory.afacts,
            memory.apins,
            lambda: memory.aexplain(thread, random.choice([1, -1])),
            lambda: memory.aremember([("user", f"{self._mark} {self._asked}")], thread_id=thread),
            lambda: memory.adelete(thread),
        ]
        return await random.choice(works)()

    async def memory_by_ids(self, stranger: str, victim: Probed) -> Any:
        memory, thread, fact = self._of(stranger), victim.threads[0], random.choice(victim.facts)
        works: list[Callable[[], Awaitable[Any]]] = [
            lambda: memory.afact_source(fact),
            lambda: memory.aconfirm_fact(fact.id),
            lambda: memory.aadd_fact(f"I am {self._mark}", corrects=fact.id),
            lambda: memory.aforget_fact(fact.id),
            lambda: memory.aforget_fact(fact.id, keep_said=True),
            lambda: memory.aunpin(fact.id),
            lambda: memory.aforget(thread, messages=victim.ids[:3]),
            lambda: memory.asummarize(thread, victim.ids[0], victim.ids[3]),
            lambda: memory.apin(self._mark, thread_id=thread, source_id=victim.ids[0]),
            lambda: memory.ahistory(thread, before=victim.ids[-1]),
        ]
        return await random.choice(works)()

    async def adapters(self, stranger: str, victim: Probed) -> Any:
        memory, thread = self._of(stranger), random.choice(victim.threads)
        names = ("search_memory", "show_context", "list_pins", "summarize_messages")
        tools = {tool.name: tool for tool in memory_tools(memory, thread_id=thread, names=names)}
        works: list[Callable[[], Awaitable[Any]]] = [
            lambda: MemoryRetriever(memory=memory, thread_id=thread, limit=5).ainvoke(self._asked),
            lambda: ThreadHistory(memory, thread).aget_messages(),
            lambda: ThreadHistory(memory, thread).aclear(),
            lambda: tools["search_memory"].ainvoke({"query": self._asked}),
            lambda: tools["show_context"].ainvoke({"question": self._asked}),
            lambda: tools["list_pins"].ainvoke({}),
            lambda: tools["summarize_messages"].ainvoke({"first_id": victim.ids[0], "last_id": victim.ids[3]}),
        ]
        return await random.choice(works)()

    async def agent(self, stranger: str, victim: Probed) -> Any:
        thread = random.choice([*victim.threads, f"own {random.randrange(10**9)}"])
        given = {"messages": [("user", f"{self._mark} {self._asked}")]}
        claims = [{"user_id": stranger}, {"everthread": {"user_id": stranger}}]
        return await self.agent_door.ainvoke(given, {"configurable": {"thread_id": thread, **random.choice(claims)}})

    async def mcp(self, stranger: str, victim: Probed) -> Any:
        thread, ids = random.choice(victim.threads), victim.ids
        name, arguments = random.choice(
            [
                ("search_memory", {"query": self._asked}),
                ("search_memory", {"query": self._asked, "thread_id": thread, "user_id": victim.id}),
                ("history", {"thread_id": thread}),
                ("threads", {}),
                ("facts", {}),
                ("explain", {"thread_id": thread, "turn": 1}),
                ("remember", {"text": f"{self._mark} {self._asked}", "thread_id": thread}),
                ("forget_messages", {"thread_id": thread, "message_ids": ids[:2]}),
                ("forget_fact", {"fact_id": random.choice(victim.facts).id}),
            ]
        )
        token = self.tokens[stranger] if random.random() < 0.9 else random.choice(["", "token-", "token-%"])
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        headers = {"authorization": f"Bearer {token}", "accept": "application/json, text/event-stream"}
        return (await self._mcp.post("/mcp", json=asked, headers=headers)).text

    async def http_history(self, stranger: str, victim: Probed) -> Any:
        """With the user that a server knows, and what the client claims."""
        claims = random.choice([{}, {"user_id": victim.id}, {"before": victim.ids[-1]}, {"limit": "500"}])
        return await self.http(stranger, random.choice(victim.threads), **claims)

    async def http(self, identity: str, thread: str, **claims: str) -> str:
        """The history of a thread, as the server answers whom it knows."""

        async with _client(self._http, identity) as client:
            return (await client.get(PATH.format(thread_id=quote(thread)), params=claims)).text

    async def page(self, stranger: str, victim: Probed) -> Any:
        """Each address of the page, as the server knows who asks, with ids of the victim's and what is claimed."""
        thread, said, fact = random.choice(victim.threads), random.choice(victim.ids), random.choice(victim.facts)
        ids = {"thread": thread, "message": said, "source": said, "fact": fact.id, "summary": victim.summary}
        given = {**ids, "id": random.choice(list(ids.values())), "turn": "1", "q": self._asked, "user_id": victim.id}
        if random.random() < 0.5:
            given["all"] = "1"
        given |= random.choice([{}, {"text": f"I am {self._mark}"}, {"sure": victim.id}])
        async with _client(self._page, stranger) as client:
            if stranger == victim.id or random.random() < 0.6:
                return (await client.get(f"{PAGE}/{random.choice(list(READING))}", params=given)).text
            return (await client.post(f"{PAGE}/{random.choice(list(WRITING))}", data=given)).text


def _client(app: Any, identity: str) -> httpx.AsyncClient:
    """A browser whom a server knows under an identity."""

    async def known(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "user": User(identity)}, receive, send)

    headers = {"Sec-Fetch-Site": "same-origin"}
    return httpx.AsyncClient(transport=httpx.ASGITransport(known), base_url="http://server", headers=headers)


class User:
    """Whom a LangGraph server knows, signed in or not."""

    def __init__(self, identity: str) -> None:
        self.identity = identity
        self.is_authenticated = False
