"""Odd conversations (many scripts, code, tool calls, long messages) through every profile: what is lost, or invalid.

Each conversation goes message by message through the compression engine and the assembly, with the extractive
summarizer. After each message of the user, and after each result of a tool, the prompt is made and looked at.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

from bench.compressed import Compressed
from everthread.assembly.assemble import assemble
from everthread.assembly.layout import Layout
from everthread.settings.settings import Settings
from everthread.state.chain import is_summary
from everthread.state.messages import is_empty, message_text
from everthread.state.offload import offload
from everthread.state.records import Summary
from everthread.state.tool_calls import with_results
from everthread.text.tokens import count_message_tokens

BUDGETS: Final = (1000, 3000, 6976)
"""Tokens of a prompt, for each of which it is made."""

END: Final = 12
"""Characters at the end of a question that no prompt may miss."""


def conversations(file: Path) -> Iterator[tuple[str, list[AnyMessage]]]:
    """The id and the messages of each conversation; the ids of messages are their places."""
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        raw = [{**message, "content": message["content"] or ""} for message in record["messages"]]
        messages: Any = convert_to_messages(raw)
        for index, message in enumerate(messages):
            message.id = f"{record['id']}/{index}"
        yield record["id"], messages


async def through(messages: Sequence[AnyMessage], settings: Settings) -> Counter[str]:
    """What came of one conversation: how many prompts and summaries, and how often which fault."""
    counts: Counter[str] = Counter()
    thread = Compressed(settings)
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        thread.take(message)
        if isinstance(message, AIMessage):
            waiting = {str(call["id"]) for call in message.tool_calls}
        if isinstance(message, ToolMessage):
            waiting -= {message.tool_call_id}
        if isinstance(message, HumanMessage) or (isinstance(message, ToolMessage) and not waiting):
            counts += _prompts(thread)
        following = messages[index + 1] if index + 1 < len(messages) else None
        if following is None or isinstance(following, HumanMessage):
            for written in await thread.settle():
                counts.update(_of_summary(written.summary))
    counts.update({"conversations": 1, "messages": len(messages)})
    reached = thread.reached()
    said = {str(m.id) for m in messages if not is_empty(m) and not isinstance(m, SystemMessage)}
    instructions = {m.text: str(m.id) for m in messages if isinstance(m, SystemMessage)}  # the same one stands once
    counts["fault: message lost"] += len(said - reached)
    counts["fault: instructions gone"] += len(set(instructions.values()) - {str(m.id) for m in thread.view})
    return counts


def _prompts(thread: Compressed) -> Counter[str]:
    counts: Counter[str] = Counter()
    whole, light = offload(thread.view)
    chain = with_results(whole)
    for budget in BUDGETS:
        prompt, report, _ = assemble(
            chain,
            [],
            [],
            system_prompt="Be kind.",
            budget=budget,
            layout=Layout.of(thread.settings),
            thread_id="t",
            light=light,
        )
        counts["prompts"] += 1
        asked = next(m for m in reversed(chain) if isinstance(m, HumanMessage))
        counts.update(f"fault: {fault}" for fault in faults(prompt, budget, asked))
        counts["fault: miscounted"] += report.tokens != count_message_tokens(prompt)
    return counts


def _of_summary(made: Summary) -> list[str]:
    return ["summaries", *(["fault: empty summary"] if not made.content.strip() else [])]


def faults(prompt: Sequence[BaseMessage], budget: int, asked: BaseMessage) -> list[str]:
    """What a provider would refuse in a prompt, or what it may not miss: its end of the newest question."""
    found = []
    if [message.type for message in prompt].count("system") != 1 or prompt[0].type != "system":
        found.append("not one leading system message")
    if count_message_tokens(prompt) > budget:
        found.append("over budget")
    if any(is_empty(message) or is_summary(message) for message in prompt):
        found.append("an empty message, or a bare summary")
    if not _in_turn(prompt[1:]):
        found.append("roles out of turn, or a tool call parted from its result")
    ends = tuple(text.rstrip()[-END:] for text in (message_text(asked), asked.text))  # a picture is sent, or named
    if not any(message.type == "human" and message.text.rstrip().endswith(ends) for message in prompt):
        found.append("the end of the question is not there")
    return found


def _in_turn(messages: Sequence[BaseMessage]) -> bool:
    """Whether the user begins, user and assistant alternate, and calls are followed by all of their results."""
    wanted: list[str] = []
    before = "ai"
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in wanted:
                return False
            wanted.remove(message.tool_call_id)
        elif wanted or (message.type == before):
            return False
        elif isinstance(message, AIMessage):
            wanted = [str(call["id"]) for call in message.tool_calls]
        before = message.type
    return not wanted
