"""A summarizer that counts what it costs: calls, tokens in and out. What it writes is extractive, and accepted."""

from __future__ import annotations

import json
import re
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from everthread.text.extractive import extract_summary
from everthread.text.tokens import count_message_tokens, estimate_tokens

PEER_TOKENS = 200
"""Tokens of a summary where the caller does not say how long it may be."""

_WORDS = re.compile(r"at most (\d+) words")
_TAGS = re.compile(r"</?[a-z_]+(?: [^<>]*)?>")


_PARTS = re.compile(r"<part \d+ id=\w+ words=(\d+)>\n(.*?)(?=\n<part|\n</excerpt)", re.DOTALL)
_NAMED = re.compile(r"\(summary (\d+)\)")


class CountingSummarizer(BaseChatModel):
    """Writes the most telling sentences of its prompt's last message; as long as it is told, else `PEER_TOKENS`."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    rejected: int = 0

    @property
    def _llm_type(self) -> str:
        return "counting"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        self.calls += 1
        self.tokens_in += count_message_tokens(messages)
        told = _WORDS.search(messages[0].text)
        limit = round(int(told[1]) / 0.7) if told else PEER_TOKENS
        if found := re.findall(_PARTS, messages[-1].text):
            return self._several([(int(words), part.strip()) for words, part in found])
        source = messages if told is None and len(messages) > 1 else messages[-1:]
        lines = [line for message in source for line in _TAGS.sub("", message.text).splitlines() if line.strip()]
        text = extract_summary([("", line) for line in lines], limit)
        self.tokens_out += estimate_tokens(text)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    def _several(self, parts: list[tuple[int, str]]) -> ChatResult:
        """One summary a part, in the form that is asked for."""
        made: list[str] = []
        for words, part in parts:
            limit = round(words / 0.7)
            whole = _NAMED.sub(lambda named: made[int(named[1]) - 1], part)
            made.append(extract_summary([("", line) for line in whole.splitlines() if line.strip()], limit))
        text = json.dumps({"summaries": made, "facts": []}, ensure_ascii=False)
        self.tokens_out += estimate_tokens(text)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])
