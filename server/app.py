"""The HTTP app that `langgraph.json` names: everthread's routes beside those of the LangGraph server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from ..graph.served import resources
from ..runtime.read_ahead import read_ahead
from ..runtime.retention import repeat_retention
from ..runtime.run_settings import is_authenticated
from ..state.errors import EverthreadError
from ..storage.postgres.checkpointer import forgetting
from .forget import forget_thread
from .history import history
from .mcp_answers import ReadableMcpAnswers
from .page import page
from .ready import ready
from .thread_list import list_threads

logger = logging.getLogger(__name__)

_HISTORY_PATH: Final = "/everthread/threads/{thread_id}/history"


@asynccontextmanager
async def lifespan(_app: Starlette) -> AsyncIterator[None]:
    """While the server runs, its list has the threads of the storage; what is deleted there is forgotten, and what
    is due goes."""
    closing = asyncio.Event()
    listing, retaining = asyncio.create_task(_list_threads()), asyncio.create_task(repeat_retention(resources, closing))
    loading = asyncio.create_task(_load_models())
    forgetting.append(_forget)
    try:
        yield
    finally:
        forgetting.remove(_forget)
        listing.cancel()
        loading.cancel()
        closing.set()
        for task in (listing, loading):
            with suppress(asyncio.CancelledError):
                await task
        await retaining
        await resources.away.close(resources.locks)


async def _forget(thread_id: str) -> None:
    await forget_thread(resources, thread_id)


async def _load_models() -> None:
    """Load the models now and not in the first run, which tells what is wrong with one."""
    resources.embedder.load()
    read_ahead()
    for load in (resources.models.answering, resources.models.router, resources.models.summarizer):
        with suppress(EverthreadError):
            await load(resources.settings)


async def _list_threads() -> None:
    if is_authenticated():  # each thread is listed by who creates it
        return
    logger.warning("The server has no authentication: all who reach it share one memory, and may name any user.")
    try:
        await list_threads()
    except Exception as error:  # the list is a convenience; whatever fails there must not stop the server
        logger.warning("The threads of the storage were not put into the server's list: %s", type(error).__name__)


app = Starlette(
    routes=[
        Route(_HISTORY_PATH, history, methods=["GET"]),
        Route("/everthread/ready", ready, methods=["GET"]),
        page(resources, is_authenticated=is_authenticated()),
    ],
    middleware=[Middleware(ReadableMcpAnswers)],
    lifespan=lifespan,
)
"""The app."""
