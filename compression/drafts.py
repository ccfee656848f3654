"""A summarizer's reply read leniently: JSON with a summary and facts, or plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

from ..state.fact_records import FactKind
from ..state.messages import clean_text
from ..state.records import Record
from ..text.fold import fold
from ..text.replies import objects, without_thoughts
from .acceptance import without_label

_KINDS: Final[Mapping[str, str]] = {
    **{kind: kind for kind in get_args(FactKind)},
    "preferences": "preference", "biographical": "biography", "bio": "biography", "profile": "biography",
    "goals": "goal", "plan": "goal", "constraints": "constraint", "commitments": "commitment", "promise": "commitment",
    **dict.fromkeys(("date", "dates", "decision", "decisions", "need", "needs", "appointment", "deadline"), "pin"),
}  # fmt: skip
_MARK: Final = re.compile(r"</?excerpt(?: id=\w+)?>")
_OPEN_FENCE: Final = re.compile(r"\A\s*```json\s*\n(\s*\{.*)", re.DOTALL)
_FENCE: Final = re.compile(r"\A\s*```[\w-]*\s*\n?(.*?)\n?\s*```\s*\Z", re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SUMMARY_FIELD: Final = re.compile(r'"summary"\s*:\s*"((?:[^"\\]|\\.)*)', re.DOTALL | re.IGNORECASE)
_FACT_CHARS: Final = 500
_MOST_FACTS: Final = 50


class FactDraft(Record):
    """A fact about the user, or something else to be kept in sight, as the summarizer gave it, not stored yet."""

    kind: FactKind | Literal["pin"]
    text: str


class SummaryDraft(NamedTuple):
    """What a summarizer's reply holds."""

    text: str
    facts: tuple[FactDraft, ...] = ()
    cut_off: bool = False


def read_draft(reply: str) -> SummaryDraft:
    """The summary and the facts of a reply: JSON, also fenced, cut off or with control characters; else the text.

    Facts of an unknown kind or without text are left out. Thoughts in tags are no part of it, nor what stands before
    the tag that ends them: some templates have the model begin in its thoughts.
    """
    text = _MARK.sub("", without_thoughts(clean_text(reply))).strip()
    if fenced := _FENCE.match(text) or _OPEN_FENCE.match(text):
        text = fenced[1].strip()
    value = next((value for value in objects(text) if "summary" in value), {})
    if isinstance(summary := value.get("summary"), str):
        return SummaryDraft(_plain(summary), _facts(value.get("facts")))
    if text.startswith("{") and (cut_off := _SUMMARY_FIELD.search(text)):
        return SummaryDraft(_plain(_unescaped(cut_off[1])), cut_off=cut_off.end() >= len(text))
    # What is no readable JSON keeps its shape, by which it is refused.
    return SummaryDraft(_CONTROL.sub(" ", text) if text.startswith(("{", "[{", '["')) else _plain(text))


def read_drafts(reply: str) -> tuple[list[str], tuple[FactDraft, ...]] | None:
    """The summaries and the facts of a reply that has several summaries; None where they cannot be read."""
    text = without_thoughts(clean_text(_MARK.sub("", reply)))
    for value in objects(text):
        if isinstance(texts := value.get("summaries"), dict):
            texts = list(texts.values())
        if isinstance(texts, list):
            plain = [_plain(text) if isinstance(text, str) else "" for text in texts]
            return plain, _facts(value.get("facts"))
    return None


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text.replace('\\"', '"').replace("\\n", "\n")


def _plain(text: str) -> str:
    return without_label(_CONTROL.sub(" ", clean_text(text)))


def _facts(value: Any) -> tuple[FactDraft, ...]:
    facts: dict[str, FactDraft] = {}
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, dict):
            continue
        kind, text = _KINDS.get(fold(str(item.get("kind", ""))).strip()), item.get("text")
        if kind and isinstance(text, str) and (plain := " ".join(_plain(text).split())[:_FACT_CHARS]):
            facts.setdefault(fold(plain), FactDraft.model_validate({"kind": kind, "text": plain}))
    return tuple(facts.values())[:_MOST_FACTS]
