"""What a small model answers to whether the web is to be searched: yes or no, and a query, however it puts it."""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

_YES: Final = frozenset({
    "yes", "y", "yeah", "yep", "true", "ja", "oui", "si", "sí", "sì", "sim", "da", "да", "так", "tak",
    "evet", "ano", "igen", "kyllä", "نعم", "हाँ", "是", "是的", "需要", "要", "对", "はい", "예", "네",
})  # fmt: skip
_NO: Final = frozenset({
    "no", "n", "nope", "false", "nein", "non", "não", "nao", "nee", "nej", "nie", "ne", "нет", "ні",
    "hayır", "nem", "ei", "لا", "नहीं", "否", "不", "不是", "不需要", "不用", "いいえ", "아니요", "아니오",
})  # fmt: skip
_ASIDE: Final = re.compile(r"(?s)<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)")
_LABEL: Final = re.compile(r"(?i)^\W*(?:answer|output|response|reply|decision|search needed|needs? search)\s*[:=]\s*")
_QUERY_LABEL: Final = re.compile(r"(?im)\b(?:search )?query\W{0,3}[:=]\s*(.+)$")
_QUOTES: Final = " \t\"'`“”„«»‘’*<>"


class Answer(NamedTuple):
    """What the small model decided."""

    needed: bool
    query: str | None


def parse_answer(text: str) -> Answer | None:
    """A model's yes or no and its query, from a line, JSON or prose in one of several languages; or None."""
    text = _ASIDE.sub("", text).replace("```json", "").replace("```", "").strip()
    if (parsed := _from_json(text)) is not None:
        return parsed
    text = _LABEL.sub("", text)
    words = re.findall(r"\w+", text.split("\n", 1)[0].casefold())[:8]
    verdict = next((word for word in words if word in _YES or word in _NO), None)
    if verdict is None:
        return None
    return Answer(True, _query_in(text)) if verdict in _YES else Answer(False, None)


def _from_json(text: str) -> Answer | None:
    match = re.search(r"(?s)\{.*\}", text)
    try:
        value = json.loads(match.group()) if match else None
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    fields = {str(name).casefold(): field for name, field in value.items()}
    query = next((field for name, field in fields.items() if "query" in name and isinstance(field, str)), None)
    for name, field in fields.items():
        if name in _YES and (isinstance(field, str) or field is True):
            return Answer(True, field if isinstance(field, str) else query)
        if isinstance(field, bool) or str(field).strip().casefold() in _YES | _NO:
            needed = field if isinstance(field, bool) else str(field).strip().casefold() in _YES
            return Answer(needed, query if needed else None)
    return None


def _query_in(text: str) -> str | None:
    """The query after "yes:", on the line below it, or after a label; nothing where prose follows the yes."""
    if labelled := _QUERY_LABEL.search(text):
        return labelled.group(1).strip(_QUOTES) or None
    first, _, rest = text.partition("\n")
    after = re.match(r"^\W*\w+\W{0,3}?\s*[:：–—-]\s*(.+)$", first.strip())
    if after:
        return after.group(1).strip(_QUOTES) or None
    bare = not re.search(r"\w\W+\w", first.strip())
    return (rest.strip().split("\n", 1)[0].strip(_QUOTES) or None) if bare and rest.strip() else None
