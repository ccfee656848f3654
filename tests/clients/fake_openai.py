"""A chat model behind OpenAI's streaming API, on loopback: what it says is known beforehand.

It answers with a number and the last line of the user. Asked for a summary, it writes one that begins with `CANARY`,
so that a summary on a screen is seen at once.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from serving import serving

CANARY: Final = "LEAKCHECK"
"""Begins each summary; no client may ever see it."""

SLOWLY: Final = "slowly"
"""A question with this word is answered one word in `SLOW` seconds, and at length."""

SLOW: Final = 0.1

_FENCED: Final = re.compile(r"<context id=(\S+)>.*?</context id=\1>", re.DOTALL)
_EXCERPT: Final = re.compile(r"<excerpt id=(\S+)>\n(.*?)\n</excerpt id=\1>", re.DOTALL)
_REPLY: Final = "Reply {number}: I have heard you say: {question} That is all there is to it, and I am glad to know."
_MORE: Final = " There is more to tell, word by word, and it takes its time until it comes to an end." * 3


class FakeOpenAI(ThreadingHTTPServer):
    """The server. `replies` holds each question with its reply, `prompts` the messages of each request, in order."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.seconds_per_word = 0.0
        self.prompts: list[list[dict[str, Any]]] = []
        self.replies: list[tuple[str, str]] = []
        self.summaries = 0
        self.broken_off = 0
        self._lock = threading.Lock()

    def answer(self, messages: list[dict[str, Any]]) -> tuple[str, float]:
        """What is said to a prompt, and the seconds that a word of it takes."""
        last = _text(messages[-1])
        with self._lock:
            self.prompts.append(messages)
            if excerpt := _EXCERPT.search(last):
                self.summaries += 1
                return _summary(excerpt[2]), 0.0
            question = _FENCED.sub("", last).strip().rpartition("\n")[2]
            reply = _REPLY.format(number=len(self.replies) + 1, question=question)
            if SLOWLY in question:
                reply += _MORE
            self.replies.append((question, reply))
        return reply, SLOW if SLOWLY in question else self.seconds_per_word


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def _summary(source: str) -> str:
    """A text that may stand for its source: its own words, and fewer of them."""
    said = re.findall(r"\w+", re.sub(rf"\b(?:User|Assistant)\b|{CANARY}|(?m:^[^:\n]+:)", " ", source))
    return f"{CANARY} {' '.join(said[: max(3, len(said) // 4)])}."


class _Handler(BaseHTTPRequestHandler):
    server: FakeOpenAI
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        text, seconds = self.server.answer(asked["messages"])
        try:
            if asked.get("stream"):
                self._stream(asked["model"], text, seconds)
            else:
                self._whole(asked["model"], text)
        except OSError:
            self.server.broken_off += 1

    def _whole(self, model: str, text: str) -> None:
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps({**_head(model, "chat.completion"), "choices": [choice], "usage": _usage(text)}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, model: str, text: str, seconds: float) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for word in re.findall(r"\S+\s*", text):
            self._event(model, [{"index": 0, "delta": {"role": "assistant", "content": word}, "finish_reason": None}])
            time.sleep(seconds)
        self._event(model, [{"index": 0, "delta": {}, "finish_reason": "stop"}])
        self._event(model, [], usage=_usage(text))
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, model: str, choices: list[dict[str, Any]], **more: Any) -> None:
        event = {**_head(model, "chat.completion.chunk"), "choices": choices, **more}
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


def _head(model: str, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": int(time.time()), "model": model}


def _usage(text: str) -> dict[str, int]:
    count = len(text.split())
    return {"prompt_tokens": 10, "completion_tokens": count, "total_tokens": 10 + count}


@contextmanager
def fake_openai() -> Iterator[FakeOpenAI]:
    """The server, while it runs."""
    with serving(FakeOpenAI()) as server:
        yield server
