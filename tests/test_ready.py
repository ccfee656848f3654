"""Whether a server can take turns: `GET /everthread/ready`."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from logins import url_of
from psycopg.conninfo import make_conninfo
from starlette.requests import Request
from starlette.routing import Route
from starlette.schemas import SchemaGenerator

from everthread import Settings, StorageError
from everthread.runtime.resources import Resources
from everthread.server import ready as route
from everthread.server.history import history

REQUEST = Request({"type": "http", "query_string": b"", "headers": []})


@pytest.fixture
def served(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Resources:
    resources = Resources(settings)
    monkeypatch.setattr(route, "resources", resources)
    return resources


async def asked() -> tuple[int, dict[str, Any]]:
    response = await route.ready(REQUEST)
    return response.status_code, json.loads(bytes(response.body))


async def test_a_database_that_answers_is_ready(served: Resources) -> None:
    status, body = await asked()
    assert (status, body["database"]) == (200, "ok")
    assert body["embedding_model"] in {"ready", "loading"}
    assert body["jobs"]["unwritten"] == 0
    assert set(body["jobs"].values()) <= {0}
    await served.close()


async def test_an_embedding_model_that_cannot_be_loaded_is_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = Resources(settings.but(embedding_model="nowhere.at_all:made"))
    monkeypatch.setattr(route, "resources", resources)
    resources.embedder.load()
    async with asyncio.timeout(30):
        while (body := (await asked())[1])["embedding_model"] == "loading":
            await asyncio.sleep(0.02)
    assert "'nowhere.at_all:made' cannot be loaded" in body["embedding_model"]
    assert (await asked())[0] == 200
    await resources.close()


async def test_a_database_that_takes_no_writes_is_not_ready(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = make_conninfo(url_of(settings), options="-c default_transaction_read_only=on")
    resources = Resources(settings.but(database_url=url))
    monkeypatch.setattr(route, "resources", resources)
    status, body = await asked()
    assert (status, body["database"]) == (503, "The database takes no writes for now: is it a standby?")
    await resources.close()


def test_the_routes_are_in_the_schema_of_the_server() -> None:
    """The server reads docstrings for it, and logs a traceback of each that it cannot read."""
    routes = [Route("/ready", route.ready), Route("/history", history)]
    paths = SchemaGenerator({}).get_schema(routes)["paths"]
    assert [set(path["get"]["responses"]) for path in paths.values()] == [{"200", "503"}, {"200"}], "JSON keys are text"


async def test_a_database_that_is_away_or_slow_is_not_ready(served: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any, **__: Any) -> None:
        raise StorageError("The database is away.")

    async def slow(*_: Any, **__: Any) -> None:
        await asyncio.sleep(60)

    for run, why in ((away, "The database is away."), (slow, "has not answered within 0.05 s")):
        monkeypatch.setattr(served, "database", SimpleNamespace(run=run))
        monkeypatch.setattr(route, "_SECONDS", 0.05)
        status, body = await asked()
        assert status == 503
        assert why in body["database"]
