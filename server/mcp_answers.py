"""`ReadableMcpAnswers`: the result of a tool call over MCP is the reply's text.

The server gives the whole output of a run as Python writes it. A model that called the tool wants the answer.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..state.messages import content_text

PATH: Final = "/mcp"


class ReadableMcpAnswers:
    """Middleware around the server's MCP endpoint; what it does not understand it passes on as it is.

    Args:
        app: the server's.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; the answer of an MCP call is made readable."""
        if scope["type"] != "http" or str(scope.get("path", "")).rstrip("/") != PATH or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = b""

        async def collect(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                start = message
                return
            if message["type"] != "http.response.body" or start is None:
                await send(message)
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            answer = readable(body)
            headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
            await send({**start, "headers": [*headers, (b"content-length", str(len(answer)).encode())]})
            await send({"type": "http.response.body", "body": answer})

        await self._app(scope, receive, collect)


def readable(body: bytes) -> bytes:
    """An MCP answer with the text of the reply instead of a run's output; any other as it is."""
    try:
        answer = json.loads(body)
        content = answer["result"]["content"]
        for part in content:
            if part.get("type") == "text" and (text := _reply_text(ast.literal_eval(part["text"]))) is not None:
                part["text"] = text
    except (ValueError, SyntaxError, TypeError, KeyError, RecursionError, MemoryError, AttributeError):
        return body
    return json.dumps(answer).encode()


def _reply_text(output: Any) -> str | None:
    """The text of the last message of a run's output; None where there is none."""
    messages = output.get("messages") if isinstance(output, Mapping) else None
    if not isinstance(messages, list) or not messages or not isinstance(messages[-1], Mapping):
        return None
    return content_text(messages[-1].get("content"))
