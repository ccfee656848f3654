"""The page in a test: the app on an open graph, and a browser without a browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from everthread.graph.conversation import Conversation
from everthread.web.app import web_app

TOKEN = "the-token-of-the-link"
HOST = "http://localhost:8766"


def visitor(app: Any, **headers: str) -> httpx.AsyncClient:
    """A client that has not come in yet."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOST, headers=headers)


@asynccontextmanager
async def entered(graph: Conversation, user_id: str = "ada") -> AsyncIterator[httpx.AsyncClient]:
    """A client that came in by the link, and sends what a browser sends."""
    app = await asyncio.to_thread(web_app, graph, lambda _: user_id, token=TOKEN)
    async with visitor(app, **{"Sec-Fetch-Site": "same-origin"}) as client:
        assert (await client.get("/", params={"token": TOKEN})).status_code == 200
        yield client


async def read(client: httpx.AsyncClient, path: str, **query: Any) -> str:
    """The page at a path."""
    answer = await client.get(path, params=query or None)
    assert answer.status_code == 200, answer.text
    return answer.text
