"""One fake model and one `langgraph dev` a module, on a schema of its own in the session's Postgres."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import psycopg
import pytest
from clients.dev_server import CONTROL, TERMINAL, TERMINAL_LINES, dev_server, in_terminal
from clients.fake_openai import FakeOpenAI, fake_openai

pytest.register_assert_rewrite("clients.promises", "clients.chat")


@pytest.fixture(scope="module")
def model() -> Iterator[FakeOpenAI]:
    """The chat model of the server."""
    with fake_openai() as server:
        yield server


@pytest.fixture(scope="module")
def served_environment(server_url: str, model: FakeOpenAI) -> Iterator[dict[str, str]]:
    """The environment of the server and of the terminal beside it."""
    schema = f"clients_{uuid.uuid4().hex[:12]}"
    yield {
        **os.environ,
        "EVERTHREAD_DATABASE_URL": server_url,
        "EVERTHREAD_DATABASE_SCHEMA": schema,
        "EVERTHREAD_WEB_SEARCH": "off",
        "EVERTHREAD_MODEL": "openai:fake-1",
        "OPENAI_BASE_URL": model.url,
        "OPENAI_API_KEY": "none",
        "OMP_NUM_THREADS": "1",
    }
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')


@pytest.fixture(scope="module")
def terminal_thread(served_environment: dict[str, str]) -> str:
    """The id of a thread that the terminal made."""
    from everthread import thread_id

    if not CONTROL:
        in_terminal(served_environment, TERMINAL, *TERMINAL_LINES)
    return str(thread_id(TERMINAL))


@pytest.fixture(scope="module")
def url(served_environment: dict[str, str]) -> Iterator[str]:
    """The URL of `langgraph dev`."""
    with dev_server(served_environment) as address:
        yield address
