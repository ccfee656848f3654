"""A real client against a server on loopback that speaks a provider's protocol, its errors and its broken streams."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from conversation import say, thread
from serving import serving

from everthread import ModelError, open_graph

pytest.importorskip("langchain_openai")
from langchain_openai import ChatOpenAI

OVERFLOW = {
    "error": {
        "message": "This model's maximum context length is 1000 tokens. However, your messages resulted in 2000 "
        "tokens. Please reduce the length of the messages.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
}
LLAMA_OVERFLOW = {
    "error": {
        "code": 400,
        "message": "request (2000 tokens) exceeds the available context size (1000 tokens), try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 2000,
        "n_ctx": 1000,
    }
}
LIMIT = {"error": {"message": "Rate limit reached. Please try again in 10ms.", "type": "tokens", "code": None}}
FILTERED = {"error": {"message": "The prompt was filtered.", "code": "content_filter", "innererror": {}}}


class Provider(ThreadingHTTPServer):
    """Answers each request with the next entry of its script: a status with a body, a text, or a stream that breaks."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[Any] = []
        self.requests: list[dict[str, Any]] = []

    def model(self, *script: Any) -> ChatOpenAI:
        self.script = list(script)
        url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        return ChatOpenAI(model="fake-1", base_url=url, api_key="none", max_retries=0, stream_usage=True)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        script = self.server.script
        entry = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(entry, tuple):
            status, body, *headers = entry
            self._send(status, json.dumps(body).encode(), "application/json", dict(headers))
        elif request.get("stream"):
            self._stream(entry)
        else:
            body = {**_head("chat.completion"), "choices": [_choice(entry)], "usage": _USAGE}
            self._send(200, json.dumps(body).encode(), "application/json", {})

    def _send(self, status: int, body: bytes, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, entry: Any) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        said = entry["says"] if isinstance(entry, dict) else entry
        deltas: list[Any] = [{"role": "assistant", "content": ""}, *({"content": f"{word} "} for word in said.split())]
        for delta in deltas:
            self._event({**_head("chat.completion.chunk"), "choices": [{"index": 0, "delta": delta}]})
        if isinstance(entry, dict):
            self._event({"error": entry["error"]})
            return
        last = {"index": 0, "delta": {}, "finish_reason": "stop"}
        self._event({**_head("chat.completion.chunk"), "choices": [last]})
        self._event({**_head("chat.completion.chunk"), "choices": [], "usage": _USAGE})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, data: Any) -> None:
        self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()


_USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}


def _head(kind: str) -> dict[str, Any]:
    return {"id": "x", "object": kind, "created": 1, "model": "fake-1"}


def _choice(text: str) -> dict[str, Any]:
    return {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving(Provider()) as server:
        yield server


async def test_a_real_client_answers_with_usage(provider: Provider, reopen: Callable[..., open_graph]) -> None:
    async with reopen(model=provider.model("Good morning.")) as graph:
        state = await say(graph, "hello")
    reply = state["reply"]
    assert state["messages"][-1].text == "Good morning."
    assert (reply.model, reply.input_tokens, reply.output_tokens) == ("fake-1", 12, 3)
    assert (reply.finish, reply.finish_given) == ("stop", "stop")


@pytest.mark.parametrize("body", [OVERFLOW, LLAMA_OVERFLOW], ids=["openai", "llama.cpp"])
async def test_a_prompt_too_long_is_sent_again_smaller(
    provider: Provider, reopen: Callable[..., open_graph], body: Any
) -> None:
    model = provider.model("One.", "Two.", (400, body), "It fits.")
    async with reopen(model=model, n_sum=40) as graph:
        for n in range(2):
            await say(graph, f"Remark {n}: " + "we talked about the garden at length. " * 30)
        state = await say(graph, "And now?")
    assert state["messages"][-1].text == "It fits."
    large, small = (len(json.dumps(request["messages"])) for request in provider.requests[-2:])
    assert small < 0.7 * large


async def test_a_prompt_that_stays_too_long_names_the_numbers(
    provider: Provider, reopen: Callable[..., open_graph]
) -> None:
    async with reopen(model=provider.model((400, OVERFLOW))) as graph:
        with pytest.raises(ModelError, match=r"'fake-1'.* it had 2000 tokens, the model takes 1000"):
            await say(graph, "hello")


async def test_limits_and_overload_are_tried_again_and_refusals_are_not(
    provider: Provider, reopen: Callable[..., open_graph]
) -> None:
    retry = ("retry-after", "0")
    async with reopen(model=provider.model((429, LIMIT, retry), (503, {"error": "busy"}), "Here.")) as graph:
        state = await say(graph, "hello")
    assert [call.failure for call in state["reply"].calls] == ["rate_limit", "server", None]
    async with reopen(model=provider.model((400, FILTERED))) as graph:
        with pytest.raises(ModelError, match=r"'fake-1' refused to answer: The prompt was filtered\."):
            await say(graph, "hello", to="t2")
    assert len(provider.requests) == 4


async def test_a_stream_that_breaks_after_words_is_an_error_and_before_words_is_tried_again(
    provider: Provider, reopen: Callable[..., open_graph]
) -> None:
    error = {"message": "The server had an error.", "type": "server_error", "code": None}
    question = {"messages": [("user", "hello")]}
    async with reopen(model=provider.model({"says": "It begins", "error": error})) as graph:
        with pytest.raises(ModelError, match=r"broke off after 10 characters: The server had an error"):
            [part async for part in graph.astream(question, thread(), stream_mode="messages")]
    async with reopen(model=provider.model({"says": "", "error": error}, "Here.")) as graph:
        parts = [part[0].text async for part in graph.astream(question, thread("t2"), stream_mode="messages")]
    assert "".join(parts).strip() == "Here."


async def test_a_provider_that_cannot_be_reached_is_told_in_one_sentence(reopen: Callable[..., open_graph]) -> None:
    model = ChatOpenAI(model="fake-1", base_url="http://127.0.0.1:9/v1", api_key="none", max_retries=0)  # type: ignore[arg-type]
    async with reopen(model=model, timeouts="retries=1", fallback_models=("offline",)) as graph:
        state = await say(graph, "hello")
    assert [call.failure for call in state["reply"].calls] == ["connection", "connection", None]


@pytest.mark.slow
def test_a_turn_connects_to_nothing_but_its_database(default_environment: dict[str, str]) -> None:
    """Field report mem0 #4535: telemetry leaked threads and memory. There is none here, by default or at all."""
    code = """
import sys
connected = []
def audit(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        connected.append(arguments[1])
    if event == "socket.getaddrinfo":
        connected.append(arguments[:2])
sys.addaudithook(audit)
import logging
from everthread import open_graph
config = {"configurable": {"thread_id": "t"}}
with open_graph() as graph:
    graph.invoke({"messages": [("user", "My dog is called Biscuit.")]}, config)
    graph.invoke({"messages": [("user", "What is my dog called?")]}, config)
print([where for where in connected if where[0] not in ("127.0.0.1", "localhost", "::1")])
"""
    del default_environment["HF_HUB_OFFLINE"]
    done = subprocess.run(
        [sys.executable, "-c", code], env=default_environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == "[]"
