"""The HTTP app that `langgraph.json` names: everthread's routes beside those of the LangGraph server.

The LangGraph server lists what was created through it; `langgraph dev` keeps that list in a file of the working folder.
So that clients find the threads of the terminal, and all of them after a restart, they are put into that list.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from langgraph_sdk import get_client
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from ..graph.served import resources
from ..runtime.forget import forget
from ..runtime.forget_wanted import whole_threads
from ..runtime.read_ahead import read_ahead
from ..runtime.retention import repeat_retention
from ..runtime.run_settings import is_authenticated
from ..state.errors import EverthreadError
from ..storage.archive import Archive
from ..storage.postgres.thread_lock import ThreadLocks
from ..storage.served import forgetting, shared_database
from ..storage.server_user import server_request
from ..storage.thread_copy import owner_of
from ..storage.user_rows import UserRows
from .history import history
from .mcp_answers import ReadableMcpAnswers
from .page import page
from .ready import ready

logger = logging.getLogger(__name__)

_HISTORY_PATH: Final = "/everthread/threads/{thread_id}/history"
_GRAPH_ID: Final = "everthread"
"""The name of the graph in `langgraph.json`."""

_MOST_LISTED: Final = 200
"""Threads that are listed, at most, those of which something was said last."""


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
    """Delete what the archive has of a thread that a client deletes; whose it is the checkpointer has asked.

    The server deletes the states of a run without a thread as well, when that has ended. What was said there stays with
    its user: nobody asked for it to be forgotten.
    """
    if server_request() is None or (owner := await owner_of(resources.database, thread_id)) is None:
        return
    user = resources.of_user(owner)
    await forget(user, await whole_threads(user, thread_id), asked_by="client", locks=ThreadLocks())


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
        await _put_into_list()
    except Exception as error:  # the list is a convenience; whatever fails there must not stop the server
        logger.warning("The threads of the storage were not put into the server's list: %s", type(error).__name__)


async def _put_into_list() -> None:
    """Put the threads of the user of the settings into the server's list.

    Only those whose id is a UUID, as the server wants it: `everthread.thread_id` gives one for a name.
    """
    storage = shared_database()
    rows = await Archive(UserRows(storage, storage.settings.user_id)).threads()
    known = [row for row in rows if _is_uuid(row["thread_id"])][:_MOST_LISTED]
    client = get_client()
    for row in reversed(known):  # the list is sorted by when a thread came into it
        metadata = {"title": row["name"]} if row["name"] else {}
        await client.threads.create(
            thread_id=row["thread_id"], graph_id=_GRAPH_ID, metadata=metadata, if_exists="do_nothing"
        )
    logger.info("%d threads of the storage are in the server's list.", len(known))


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


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
