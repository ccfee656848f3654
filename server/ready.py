"""GET /everthread/ready: whether this process can take turns, for whoever sends it some."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..graph.served import resources
from ..state.errors import EverthreadError
from ..storage.storage import Connection

_SECONDS: Final = 5.0
"""How long the database may take to answer."""


async def ready(_: Request) -> Response:
    """200 where the database answers and its schema is one that this version knows, 503 else; with what is behind.

    `{"database": "ok" or why not, "embedding_model": "ready" or "loading", "jobs": {kind: how many}}`. A model that is
    still loading does not count against it: until then memory is searched by words.
    """
    try:
        await asyncio.wait_for(resources.database.run(_ask, one_statement=True), _SECONDS)
        database = "ok"
    except TimeoutError:
        database = f"The database has not answered within {_SECONDS:g} s."
    except EverthreadError as error:
        database = str(error)
    body = {
        "database": database,
        "embedding_model": "ready" if resources.embedder.ready else "loading",
        "jobs": dict(resources.background.counts()),
    }
    return JSONResponse(body, 200 if database == "ok" else 503)


async def _ask(connection: Connection) -> None:
    await connection.execute("SELECT 1")
