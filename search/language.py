"""Which language web results should be in: the one the user asks for, else that of the query."""

from __future__ import annotations

from functools import cache

import regex

from ..text.data import load
from ..text.fold import fold, plain
from ..text.language import language_of


def results_language(query: str, wanted: str = "auto", message: str = "") -> str | None:
    """The language that results should be in, as a code of two letters; None where the engine is to decide.

    Args:
        query: what is searched for.
        wanted: the setting `search_language`.
        message: what the user wrote, which may name a language ("search in English for ...").
    """
    if wanted != "auto":
        return None if wanted == "any" else wanted
    return asked_for(message or query) or language_of(query)


def asked_for(message: str) -> str | None:
    """The language in which the user asks to search, if the message says so."""
    text = plain(message)
    for pattern in _requests():
        if match := pattern.search(text):
            return _names()[match["name"]]
    return None


@cache
def _data() -> dict[str, dict[str, list[str]]]:
    data: dict[str, dict[str, list[str]]] = load("language_names")
    return data


@cache
def _names() -> dict[str, str]:
    """The code of each language by its names in many languages."""
    return {fold(name): code for code, names in _data()["names"].items() for name in names}


@cache
def _requests() -> tuple[regex.Pattern[str], ...]:
    """How a language is asked for: "search ... in NAME", "NAME sources", and the like without spaces."""
    data = _data()["words"]
    name = "|".join(sorted(map(regex.escape, _names()), key=len, reverse=True))
    search, before, sources = ("|".join(map(regex.escape, data[key])) for key in ("search", "in", "sources"))
    return (
        regex.compile(rf"(?:\b(?:{search})).{{0,80}}?\b(?:{before})\s+(?P<name>{name})\b"),
        regex.compile(rf"\b(?:{before})\s+(?P<name>{name})\s+(?:{search})"),
        regex.compile(rf"\b(?P<name>{name})\s+(?:{sources})\b|\b(?:{sources})\s+(?:{before})\s+(?P<name>{name})\b"),
        regex.compile(rf"(?:用|以|で)?(?P<name>{name})(?:来|で|的)?(?:{'|'.join(data['unspaced'])})"),
    )
