"""The fence: what was found or noted stands in the prompt as data, marked, where nothing in it acts as instructions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import date
from typing import Final

from ..memory.pairing import merged, with_fragments
from ..prompts import context as words
from ..state.messages import clean_text
from ..state.records import Fragment, Memory
from ..state.search_records import SearchResult
from ..text.told_days import days_told

_IMITATION: Final = re.compile(
    r"<(?=\s*/?\s*context\b|\|[\w ]{1,40}\|>|｜|/?(?:s|bos|eos|start_of_turn|end_of_turn)>|</?SYS>>"
    r"|\s*/?\s*(?:(?:tool_call|tool_response|function_call)s?|invoke)\b|/?function[=>])"
    r"|\[(?=/?(?:INST|SYS|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS)\])"
    r"|^[^\w\n#]*\#(?=\#{1,5}[^\w\n]*(?:instruction|system|user|human|assistant|response|input)\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""Our fence, the marks of the templates of Llama, Mistral, Gemma, Qwen, DeepSeek, of calls, and Alpaca's headings."""
_STAND_INS: Final = {"<": "‹", "[": "⁅", "#": "＃"}
_SPEAKER: Final = re.compile(
    r"^([^\w\n]*(?:system|user|human|assistant)[^\w\n:：]*)[:：]", re.IGNORECASE | re.MULTILINE
)
"""How a turn begins where a template is plain text, whatever marks and unseen signs stand around it."""
_SPACES: Final = re.compile(r"\s+")
_NONCE_BYTES: Final = 5


def _defused(text: str) -> str:
    """The text with what imitates our fence, or the marks of a chat template, made harmless."""
    lines = "\n".join(clean_text(text).splitlines())  # whatever ends a line: what comes after it begins one
    harmless = _IMITATION.sub(lambda match: match[0][:-1] + _STAND_INS[match[0][-1]], lines)
    return _SPEAKER.sub(r"\1꞉", harmless)


def fenced(parts: Sequence[tuple[str, Sequence[str]]], key: str = "") -> str:
    """The parts (a heading and its entries) inside one fence; nothing where all parts are empty.

    The nonce is a hash of the key, the same in all prompts of a thread, so that a provider's prompt cache serves the
    beginning of a fence whose end has changed. No entry can close the fence: they are defused.

    Args:
        parts: headings and entries, already defused.
        key: what outsiders do not know, such as the thread.
    """
    lines = [line for heading, entries in parts if entries for line in (heading, *entries)]
    if not lines:
        return ""
    nonce = hashlib.blake2b(key.encode(), digest_size=_NONCE_BYTES).hexdigest()
    return "\n".join([words.OPEN.format(nonce=nonce), *lines, words.CLOSE.format(nonce=nonce)])


def result_entry(number: int, result: SearchResult, content: str | None = None) -> str:
    """A search result with its number, title, address and date; further lines are set in, so that none looks like one.

    Args:
        number: by which the reply can cite it.
        result: the result.
        content: what stands instead of its content, where that was cut.
    """
    published = f", {_line(result.published)}" if result.published else ""
    text = set_in(result.content if content is None else content)
    return words.RESULT.format(
        number=number, title=_line(result.title), url=_line(result.url), date=published, content=text
    )


def memory_entry(memory: Memory, *, summarized: bool = False, told: date | None = None) -> str:
    """A memory: each message with who said it, and with its date where that is not the one before's.

    Behind a message stand the dates of the days that it tells relative to its own.

    Args:
        memory: the memory; a message in it without content is left out.
        summarized: whether a summary in the prompt tells it in short.
        told: the day of what stands before it.
    """
    lines: list[str] = []
    before = f"{told}"
    for fragment in memory.fragments:
        if not fragment.content.strip():
            continue
        day = _days(memory, fragment)
        form = words.SAME_DAY if day == before else words.MEMORY
        mark = words.SUMMARIZED if summarized else ""
        speaker, content = _speaker(memory, fragment), set_in(fragment.content) + other_days(memory, fragment)
        lines.append(form.format(date=day, mark=mark, speaker=speaker, content=content))
        before = day
    return "\n".join(lines)


def chronicle(memories: Sequence[Memory]) -> list[str]:
    """Memories of which each is a little of a whole, in the order they were said; those of one day together."""
    days: dict[tuple[str, date, str | None, str], Memory] = {}
    for memory in sorted(memories, key=lambda memory: memory.created_at):
        apart = memory.source_ids[0] if memory.source_type == "summary" else ""
        key = memory.thread_id, memory.created_at.date(), memory.space, apart
        known = days.get(key)
        days[key] = memory if known is None else with_fragments(known, merged(known.fragments, memory.fragments))
    return [memory_entry(memory) for memory in days.values()]


def other_days(memory: Memory, fragment: Fragment) -> str:
    """What stands behind a message that tells of other days; nothing behind a summary or a tool's result."""
    people = not is_summary_itself(memory, fragment) and fragment.role != "tool"
    return days_told(fragment.content, _said_on(memory, fragment)) if people else ""


def _days(memory: Memory, fragment: Fragment) -> str:
    """When it was said; of a summary the first and the last day of which it tells."""
    said, begun = _said_on(memory, fragment), memory.created_at.date()
    is_span = is_summary_itself(memory, fragment) and begun < said
    return words.DAYS.format(first=begun, last=said) if is_span else f"{said}"


def _said_on(memory: Memory, fragment: Fragment) -> date:
    return (fragment.created_at or memory.created_at).date()


def is_summary_itself(memory: Memory, fragment: Fragment) -> bool:
    """Whether a part of a memory is its summary, and not one of the messages that stand beside it."""
    return memory.source_type == "summary" and not fragment.seq


def fact_entry(fact: str) -> str:
    """A fact or pin on one line."""
    return words.FACT.format(fact=_line(fact))


def summary_entry(text: str) -> str:
    """A summary that leads the conversation."""
    return words.SUMMARY_LINE.format(summary=set_in(text))


def _speaker(memory: Memory, fragment: Fragment) -> str:
    speaker = _line(fragment.name) if fragment.name else fragment.role
    speaker = "summary" if is_summary_itself(memory, fragment) else speaker
    return speaker if memory.space is None else words.SHARED.format(speaker=speaker, space=_line(memory.space))


def _line(text: str) -> str:
    return _SPACES.sub(" ", _defused(text)).strip()


def set_in(text: str) -> str:
    """The text, defused, its further lines set in, so that none of them looks like one of ours."""
    return "\n  ".join(_defused(text).strip().splitlines())
