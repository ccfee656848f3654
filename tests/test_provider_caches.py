"""Marks for a provider's cache, and the tokens that it served, through LangChain's packages and a server on loopback.

What is not installed is skipped: `pip install langchain-anthropic langchain-aws langchain-google-genai` runs all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from serving import serving

from everthread.models.cache_marks import with_cache_marks
from everthread.models.replies import tokens_of

CALL = AIMessage("Looking.", tool_calls=[{"name": "look", "args": {}, "id": "a"}])
PROMPT: list[AnyMessage] = [
    SystemMessage("Be brief."), HumanMessage("Hello"), AIMessage("Hi."), HumanMessage("Look"), CALL,
    ToolMessage("found it", tool_call_id="a"), AIMessage("It is there."), HumanMessage("What is new?"),
]  # fmt: skip
"""Three turns; of these, the second called a tool."""

ANTHROPIC = {
    "id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-5", "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "Nothing."}],
    "usage": {
        "input_tokens": 40, "output_tokens": 2, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 60,
    },
}  # fmt: skip
CONVERSE = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Nothing."}]}}, "stopReason": "end_turn",
    "usage": {
        "inputTokens": 40, "outputTokens": 2, "totalTokens": 1002,
        "cacheReadInputTokens": 900, "cacheWriteInputTokens": 60,
    },
    "metrics": {"latencyMs": 1},
}  # fmt: skip
GEMINI = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Nothing."}]}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {
        "promptTokenCount": 1000, "candidatesTokenCount": 2, "totalTokenCount": 1002, "cachedContentTokenCount": 900,
    },
}  # fmt: skip
OPENAI = {
    "id": "c", "object": "chat.completion", "created": 1, "model": "gpt-5",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Nothing."}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 1000, "completion_tokens": 2, "total_tokens": 1002,
        "prompt_tokens_details": {"cached_tokens": 900},
    },
}  # fmt: skip

COUNTED = {
    "x-amzn-bedrock-input-token-count": "40", "x-amzn-bedrock-output-token-count": "2",
    "x-amzn-bedrock-cache-read-input-token-count": "900", "x-amzn-bedrock-cache-write-input-token-count": "60",
}  # fmt: skip
"""Bedrock's older interface counts in headers."""

CONTROL = {"type": "ephemeral"}
KEYS: dict[str, Any] = {"region_name": "eu-west-1", "aws_access_key_id": "none", "aws_secret_access_key": "none"}


class Provider(ThreadingHTTPServer):
    """Answers each request with one body, and keeps the newest."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body: dict[str, Any] = {}
        self.request: dict[str, Any] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def told(self, model: BaseChatModel, body: dict[str, Any]) -> AIMessage:
        """What the model replies to the marked prompt."""
        self.body = body
        reply = model.invoke(with_cache_marks(PROMPT, model))
        assert isinstance(reply, AIMessage)
        assert reply.text == "Nothing."
        return reply


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        self.server.request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(self.server.body).encode()
        self.send_response(200)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **COUNTED}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving(Provider()) as server:
        yield server


def texts_before_marks(request: dict[str, Any]) -> list[str]:
    """What each mark stands on, or behind."""
    contents = [request["system"], *(message["content"] for message in request["messages"])]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    found = []
    for before, block in zip([{}, *blocks], blocks, strict=False):
        if "cache_control" in block:
            assert block["cache_control"] == CONTROL
            found.append(block["text"])
        elif "cachePoint" in block:
            assert block == {"cachePoint": {"type": "default"}}
            found.append(before["text"])
    return found


ENDS = ["Be brief.", "Hi.", "It is there."]
"""Of the instructions, of what the turn before began with, and of what this one's next begins with."""


def test_claude_at_anthropic_gets_marks_at_three_ends_and_its_count_is_told(provider: Provider) -> None:
    anthropic = pytest.importorskip("langchain_anthropic")
    model = anthropic.ChatAnthropic(model="claude-sonnet-5", api_key="none", base_url=provider.url, max_retries=0)
    reply = provider.told(model, ANTHROPIC)
    assert texts_before_marks(provider.request) == ENDS
    assert tokens_of(reply) == {"input_tokens": 1000, "output_tokens": 2, "cached_tokens": 900}


@pytest.mark.parametrize("name", ["anthropic.claude-sonnet-4-5-20250929-v1:0", "eu.amazon.nova-pro-v1:0"])
def test_claude_and_nova_through_converse_get_cache_points_and_their_count_is_told(
    provider: Provider, name: str
) -> None:
    aws = pytest.importorskip("langchain_aws")
    model = aws.ChatBedrockConverse(model=name, endpoint_url=provider.url, **KEYS)
    reply = provider.told(model, CONVERSE)
    assert texts_before_marks(provider.request) == ENDS
    assert tokens_of(reply) == {"input_tokens": 1000, "output_tokens": 2, "cached_tokens": 900}


def test_another_model_through_converse_gets_no_cache_point(provider: Provider) -> None:
    aws = pytest.importorskip("langchain_aws")
    model = aws.ChatBedrockConverse(model="mistral.mistral-large-2407-v1:0", endpoint_url=provider.url, **KEYS)
    provider.told(model, CONVERSE)
    assert "cachePoint" not in json.dumps(provider.request)


def test_claude_through_bedrocks_older_interface_gets_marks_and_its_count_is_told(provider: Provider) -> None:
    aws = pytest.importorskip("langchain_aws")
    name = "anthropic.claude-sonnet-4-5-20250929-v1:0"
    model = aws.ChatBedrock(model=name, endpoint_url=provider.url, beta_use_converse_api=False, **KEYS)
    reply = provider.told(model, ANTHROPIC)
    assert texts_before_marks(provider.request) == ENDS
    assert tokens_of(reply) == {"input_tokens": 1000, "output_tokens": 2, "cached_tokens": 900}


def test_gemini_gets_no_mark_and_its_count_is_told(provider: Provider) -> None:
    google = pytest.importorskip("langchain_google_genai")
    model = google.ChatGoogleGenerativeAI(model="gemini-2.5-flash", api_key="none", base_url=provider.url)
    reply = provider.told(model, GEMINI)
    assert "cache" not in json.dumps(provider.request)
    assert tokens_of(reply) == {"input_tokens": 1000, "output_tokens": 2, "cached_tokens": 900}


def test_openai_gets_no_mark_and_its_count_is_told(provider: Provider) -> None:
    openai = pytest.importorskip("langchain_openai")
    reply = provider.told(openai.ChatOpenAI(model="gpt-5", api_key="none", base_url=provider.url), OPENAI)
    assert "cache" not in json.dumps(provider.request)
    assert tokens_of(reply) == {"input_tokens": 1000, "output_tokens": 2, "cached_tokens": 900}
