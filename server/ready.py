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

_WRITABLE: Final = "SELECT FROM thread_claims LIMIT 0 FOR UPDATE"
"""What a Postgres refuses that takes no writes, and what changes nothing."""


async def ready(_: Request) -> Response:
    """Whether the database answers, takes writes, and has a schema that this version knows; with what is behind.

    A model that is still loading, or cannot be loaded, does not count against it: memory is searched by words.

    ---
    responses:
      '200':
        description: |
          {"database": "ok", "embedding_model": "ready", "loading" or why not, "jobs": {kind: how many}}
      '503':
        description: It can take no turns, and "database" says why.
    """
    try:
        await asyncio.wait_for(resources.database.run(_ask), _SECONDS)
        database = "ok"
    except TimeoutError:
        database = f"The database has not answered within {_SECONDS:g} s."
    except EverthreadError as error:
        database = str(error)
    jobs = {str(kind): count for kind, count in resources.background.counts().items()}
    body = {
        "database": database,
        "embedding_model": "ready" if resources.embedder.ready else resources.embedder.failure or "loading",
        "jobs": jobs | {"unwritten": resources.away.count},
    }
    return JSONResponse(body, 200 if database == "ok" else 503)


async def _ask(connection: Connection) -> None:
    await connection.execute(_WRITABLE if resources.database.kind == "postgres" else "SELECT 1")
