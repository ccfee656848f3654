"""The graph under a LangGraph server: `langgraph dev` with our checkpointer, driven through the SDK."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from clients.dev_server import server
from langgraph_sdk import get_client
from logins import login, url_of

from everthread import Settings

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
LANGGRAPH = str(Path(sys.executable).parent / "langgraph")


@pytest.fixture
def project() -> Iterator[Path]:
    """A folder with the repository's langgraph.json, as a deployed project would have."""
    folder = Path(tempfile.mkdtemp(prefix="everthread-project-"))
    config = json.loads((ROOT / "langgraph.json").read_text())
    (folder / "langgraph.json").write_text(json.dumps({**config, "dependencies": [str(ROOT)]}))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


async def one_turn(url: str, thread_id: str, text: str, **more: Any) -> tuple[str, list[str]]:
    """A turn streamed through the SDK: the reply put together from its tokens, and the nodes that ran."""
    client = get_client(url=url, api_key=None)
    tokens: dict[str, str] = {}
    nodes: list[str] = []
    async for part in client.runs.stream(
        thread_id, "everthread", input={"messages": [{"role": "user", "content": text}]}, if_not_exists="create",
        stream_mode=["messages-tuple", "updates"], **more,
    ):  # fmt: skip
        if part.event == "error":
            pytest.fail(str(part.data))
        if part.event.startswith("messages"):
            message = part.data[0]
            tokens[message["id"]] = tokens.get(message["id"], "") + str(message["content"])
        elif part.event == "updates":
            nodes.extend(part.data)
    return "".join(tokens.values()), nodes


def test_a_thread_lives_through_a_restart_of_the_server(project: Path, environment: dict[str, str]) -> None:
    """Create a thread, stream a turn, restart the server, read the state, and go on."""
    thread_id = str(uuid.uuid4())
    with server(project, environment) as url:
        client = get_client(url=url, api_key=None)

        async def first() -> None:
            await client.threads.create(thread_id=thread_id)
            reply, nodes = await one_turn(url, thread_id, "My dog is called Biscuit.")
            assert "not a language model" in reply
            assert nodes.count("context_assembly") == 1
            assert {"keyword_check", "memory_retrieval", "pairing", "llm_call", "remember"} <= set(nodes)
            schemas: Any = await client.assistants.get_schemas((await client.assistants.search())[0]["assistant_id"])
            form = schemas["context_schema"]["properties"]
            threshold = form["similarity_threshold"]
            assert (threshold["default"], threshold["minimum"], threshold["maximum"]) == (0.7, 0.0, 1.0)
            assert form["archive"]["properties"]["summary_every_n"]["default"] == 10
            assert not {"model", "database_url", "tavily_api_key", "n_sum"} & {*form}
            drawn: Any = await client.assistants.get_graph((await client.assistants.search())[0]["assistant_id"])
            assert {edge.get("data") for edge in drawn["edges"] if edge.get("conditional")} == {
                None,  # START to each retrieval: the label is the node's own name
                "a /command", "nothing to answer", "hit", "no hit", "no search", "yes", "no", "tool calls", "answer",
                "due", "not due",
            }  # fmt: skip

        asyncio.run(first())

    shutil.rmtree(project / ".langgraph_api", ignore_errors=True)
    with server(project, environment) as url:
        client = get_client(url=url, api_key=None)

        async def second() -> None:
            reply, _ = await one_turn(url, thread_id, "What is my dog called?", context={"user_id": "default"})
            assert "Biscuit" in reply
            state: Any = await client.threads.get_state(thread_id)
            texts = [message["content"] for message in state["values"]["messages"] if message["type"] == "human"]
            assert texts == ["My dog is called Biscuit.", "What is my dog called?"]
            for refused, said in (
                ({"context": {"n_sum": 0}}, "Setting 'n_sum' cannot be 0"),
                ({"context": {"database_url": "sqlite"}}, "Setting 'database_url' is the operator's"),
                ({"context": {"model": "huggingface:a/b"}}, "Setting 'model' is not for clients to choose"),
                ({"config": {"configurable": {"max_memorys": 1}}}, "Did you mean 'max_memories'"),
                ({"config": {"configurable": {"everthread": {"model": "smollm2"}}}}, "Setting 'model' is not for"),
            ):
                with pytest.raises(pytest.fail.Exception, match=said):
                    await one_turn(url, thread_id, "hello", **refused)
            for chosen, rhythm in (
                ({"context": {"n_sum": 4}}, "after 4 messages"),
                ({"context": {"profile": "archive", "archive": {"summary_every_n": 7}}}, "after 7 messages of yours"),
                ({"config": {"configurable": {"n_sum": 5}}}, "after 5 messages"),
                ({"config": {"configurable": {"everthread": {"n_sum": 8}, "tenant": "x"}}}, "after 8 messages"),
            ):
                assert rhythm in (await one_turn(url, thread_id, "/summary_status", **chosen))[0]

        asyncio.run(second())
    assert [warnings_in(log) for log in project.glob("server-*.log")] == [1, 1]


def warnings_in(log: Path) -> int:
    """How often a server said that it has no authentication."""
    return log.read_text().count("all who reach it share one memory")


def test_a_thread_goes_on_while_the_database_is_away(
    project: Path, environment: dict[str, str], settings: Settings, server_url: str
) -> None:
    """Found with real servers: behind the server's adapter of checkpointers each such turn was refused."""
    thread_id = str(uuid.uuid4())
    with login(settings, "") as own, psycopg.connect(server_url, autocommit=True) as administrator:
        role = own.database_schema
        served = {**environment, "EVERTHREAD_DATABASE_URL": url_of(own), "EVERTHREAD_DATABASE_SCHEMA": role}
        with server(project, served) as url:

            def history() -> list[str]:
                answer = httpx.get(f"{url}/everthread/threads/{thread_id}/history", timeout=60)
                return [message["text"] for message in answer.json().get("messages", [])]

            asyncio.run(one_turn(url, thread_id, "My dog is called Biscuit."))
            administrator.execute(f"ALTER ROLE {role} NOLOGIN".encode())
            administrator.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (role,))
            reply, _ = asyncio.run(one_turn(url, thread_id, "And I live in Oslo."))
            assert "not a language model" in reply
            ready = httpx.get(f"{url}/everthread/ready", timeout=60)
            assert (ready.status_code, ready.json()["jobs"]["unwritten"]) == (503, 1)
            administrator.execute(f"ALTER ROLE {role} LOGIN".encode())
            until = time.monotonic() + 60
            while len(history()) < 4:
                assert time.monotonic() < until
                time.sleep(0.2)
            assert history()[::2] == ["My dog is called Biscuit.", "And I live in Oslo."]
            assert {"/everthread/ready", "/everthread/threads/{thread_id}/history"} <= set(
                httpx.get(f"{url}/openapi.json", timeout=60).json()["paths"]
            )
        (log,) = project.glob("server-*.log")
        assert "Unable to parse docstring" not in log.read_text()


AUTH = """
from langgraph_sdk import Auth
auth = Auth()

@auth.authenticate
async def whoami(authorization: str | None):
    return {"identity": (authorization or "nobody").removeprefix("Bearer ")}
"""


def test_the_authenticated_user_wins_over_what_the_client_claims(project: Path, environment: dict[str, str]) -> None:
    (project / "auth.py").write_text(AUTH)
    config = json.loads((project / "langgraph.json").read_text())
    (project / "langgraph.json").write_text(json.dumps({**config, "auth": {"path": "./auth.py:auth"}}))
    with server(project, environment) as url:

        async def as_user(user: str, text: str, claim: str) -> Any:
            client = get_client(url=url, api_key=None, headers={"authorization": f"Bearer {user}"})
            return await client.runs.wait(
                None, "everthread", input={"messages": [{"role": "user", "content": text}]}, context={"user_id": claim}
            )

        async def work() -> None:
            client = get_client(url=url, api_key=None, headers={"authorization": "Bearer ada"})
            (assistant,) = await client.assistants.search()
            schemas: Any = await client.assistants.get_schemas(assistant["assistant_id"])
            assert "user_id" not in schemas["context_schema"]["properties"], "it would do nothing"
            await as_user("ada", "My locker code is X4711.", claim="bob")
            seen = await as_user("bob", "What is the locker code?", claim="ada")
            assert "X4711" not in json.dumps(seen)

        asyncio.run(work())
    assert [warnings_in(log) for log in project.glob("server-*.log")] == [0]


def test_the_docker_file_is_written_and_installs_this_package(project: Path) -> None:
    """As far as that goes without Docker: the instructions, and that the graph they name can be imported."""
    target = project / "Dockerfile"
    shutil.copy(ROOT / "langgraph.json", project / "langgraph.json")
    shutil.copy(ROOT / "pyproject.toml", project / "pyproject.toml")
    (project / ".env").write_text("")
    done = subprocess.run(
        [LANGGRAPH, "dockerfile", str(target)], cwd=project, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = target.read_text().splitlines()
    known = ("FROM", "ADD", "RUN", "ENV", "WORKDIR", "#", "COPY", "ARG", "LABEL")
    assert lines[0].startswith("FROM langchain/langgraph-api")
    assert all(line.startswith(known) for line in lines if line.strip() and not line.startswith((" ", "\t", "for")))
    assert any("LANGSERVE_GRAPHS" in line and "everthread.graph.served:graph" in line for line in lines)
    assert any("everthread.storage.served.checkpointer" in line for line in lines)


def test_the_metrics_of_the_server_hold_ours_where_the_setting_asks_for_them(
    project: Path, environment: dict[str, str]
) -> None:
    pytest.importorskip("opentelemetry.exporter.prometheus")
    with server(project, {**environment, "EVERTHREAD_TELEMETRY": "prometheus"}) as url:
        asyncio.run(one_turn(url, str(uuid.uuid4()), "My secret word is swordfish."))
        text = httpx.get(f"{url}/metrics", timeout=10).text
    assert "everthread_turn_duration_seconds_count" in text
    assert 'everthread_node_duration_seconds_count{node="llm_call"' in text
    assert "swordfish" not in text
