"""The examples do what they show, each in under 80 lines."""

from __future__ import annotations

import importlib.util
import json
import shutil
import uuid
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from clients.dev_server import server
from conversation import EchoModel
from fastapi.testclient import TestClient
from langchain_core.embeddings import Embeddings
from langgraph_sdk import get_client
from scripted import calls, scripted

from everthread import Settings

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_is_under_80_lines() -> None:
    files = list(EXAMPLES.rglob("*.py"))
    assert len(files) == 5
    assert {file.name for file in files if len(file.read_text().splitlines()) >= 80} == set()


def test_a_chat_server_streams_to_many_users_apart(settings: Settings, embeddings: Embeddings) -> None:
    echo = EchoModel(prompts=[])
    with TestClient(example("chat_server").made(settings, model=echo, embeddings=embeddings)) as client:

        def said(token: str, text: str, thread: str = "t1") -> str:
            headers = {"Authorization": f"Bearer {token}"}
            reply = client.post(f"/threads/{thread}/messages", json={"text": text}, headers=headers)
            assert reply.status_code == 200
            events = [json.loads(line.removeprefix("data: ")) for line in reply.text.splitlines() if line]
            return "".join(event["text"] for event in events)

        assert said("ada-token", "My dog is called Biscuit.") == "You said: My dog is called Biscuit."
        said("bob-token", "What is my dog called?")
        assert "Biscuit" not in "".join(message.text for message in echo.prompts[-1])
        said("ada-token", "What is my dog called?", thread="t2")
        assert "Biscuit" in "".join(message.text for message in echo.prompts[-1])
        page = client.get("/threads/t1/messages", headers={"Authorization": "Bearer ada-token"}).json()
        assert [row["role"] for row in page] == ["user", "assistant"]
        assert client.post("/threads/t1/messages", json={"text": "x"}).status_code == 401
        wrong = client.get("/threads/t1/messages", headers={"Authorization": "Bearer x"})
        assert wrong.status_code == 401


def test_an_agent_remembers_over_threads(settings: Settings, embeddings: Embeddings) -> None:
    model = scripted(calls(("weather", {"city": "Oslo"})), "It rains.", "Biscuit.")
    assert example("agent").main(model, settings, embeddings=embeddings) == ["It rains.", "Biscuit."]
    assert "Biscuit" in "".join(message.text for message in model.prompts[-1])


def test_the_memory_alone(settings: Settings, embeddings: Embeddings, capsys: pytest.CaptureFixture[str]) -> None:
    echo = EchoModel(prompts=[])
    assert len(example("memory_only").main(echo, settings, embeddings=embeddings)) == 2
    assert "Biscuit" in "".join(message.text for message in echo.prompts[-1])
    told = capsys.readouterr().out
    assert "because of: I live in Oslo" in told
    assert "no such message" not in told.splitlines()[-1]


def test_ones_past_is_brought(
    settings: Settings, embeddings: Embeddings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [("1", None, None, None), ("2", "1", "user", "I want to read Middlemarch and other books."),
            ("3", "2", "assistant", "A good choice.")]  # fmt: skip
    mapping = {
        id_: {"id": id_, "parent": parent, "children": [], "message": role and {
            "id": f"m{id_}", "author": {"role": role}, "create_time": 1700000000.5 + int(id_),
            "content": {"content_type": "text", "parts": [text]}}}
        for id_, parent, role, text in said
    }  # fmt: skip
    file = tmp_path / "conversations.json"
    conversation = {"id": "c1", "title": "Books", "create_time": 1700000000, "current_node": "3", "mapping": mapping}
    file.write_text(json.dumps([conversation]))
    main: Any = example("bring_your_past").main
    for new in ("2 new messages in 1 threads", "0 new messages"):
        assert any("Middlemarch" in text for text in main(file, settings, embeddings=embeddings))
        assert new in capsys.readouterr().out
    file.write_text("{}")
    with pytest.raises(SystemExit, match="no export that is known"):
        main(file, settings, embeddings=embeddings)


@pytest.mark.slow
async def test_a_served_project_lets_in_who_signs_in_and_keeps_them_apart(
    environment: dict[str, str], tmp_path: Path
) -> None:
    project = tmp_path / "studio"
    shutil.copytree(EXAMPLES / "studio", project)
    config = json.loads((project / "langgraph.json").read_text())
    (project / "langgraph.json").write_text(json.dumps({**config, "dependencies": [str(EXAMPLES.parent)]}))
    with server(project, environment) as url:
        ada, bob = (get_client(url=url, api_key=None, headers={"Authorization": f"Bearer {name}-token"})
                    for name in ("ada", "bob"))  # fmt: skip
        thread_id = str(uuid.uuid4())
        await ada.threads.create(thread_id=thread_id)
        said = {"messages": [{"role": "user", "content": "My dog is called Biscuit."}]}
        state: Any = await ada.runs.wait(thread_id, "everthread", input=said)
        assert len(state["messages"]) == 2
        for client in (bob, get_client(url=url, api_key=None)):
            with pytest.raises(httpx.HTTPStatusError):
                await client.threads.get_state(thread_id)
