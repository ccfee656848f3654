"""Which language web results should be in: the one the user asks for, else that of the query."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Final

import regex

from ..memory.languages import stop_words

_SCRIPTS: Final = {
    "ko": regex.compile(r"\p{Hangul}"),
    "zh": regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]"),
    "ar": regex.compile(r"\p{Arabic}"),
    "ru": regex.compile(r"\p{Cyrillic}"),
    "hi": regex.compile(r"\p{Devanagari}"),
    "el": regex.compile(r"\p{Greek}"),
    "he": regex.compile(r"\p{Hebrew}"),
    "th": regex.compile(r"\p{Thai}"),
}
"""The language that mostly uses a script."""
_OTHERS: Final = {
    "zh": ("ja", regex.compile(r"[\p{Hiragana}\p{Katakana}]")),
    "ar": ("fa", regex.compile("[پچژگ]")),
    "ru": ("uk", regex.compile("[іїєґІЇЄҐ]")),
}
"""Another language of the same script, and letters that only it has."""
_LETTER: Final = regex.compile(r"\p{L}")
_WORD: Final = regex.compile(r"\p{L}+")
_CODES: Final = {
    "danish": "da", "dutch": "nl", "english": "en", "finnish": "fi", "french": "fr", "german": "de", "hungarian": "hu",
    "italian": "it", "norwegian": "no", "portuguese": "pt", "spanish": "es", "swedish": "sv", "turkish": "tr",
}  # fmt: skip


def results_language(query: str, wanted: str = "auto", message: str = "") -> str | None:
    """The language that results should be in, as a code of two letters; None where the engine is to decide.

    Args:
        query: what is searched for.
        wanted: the setting `search_language`.
        message: what the user wrote, which may name a language ("search in English for ...").
    """
    if wanted != "auto":
        return None if wanted == "any" else wanted
    return asked_for(message or query) or written_in(query)


def asked_for(message: str) -> str | None:
    """The language in which the user asks to search, if the message says so."""
    text = " ".join(message.casefold().split())
    for pattern in _requests():
        if match := pattern.search(text):
            return _names()[match["name"]]
    return None


def written_in(text: str) -> str | None:
    """The language of a text, by its script, or in Latin script by its stop words; None where they do not tell."""
    letters = len(_LETTER.findall(text))
    for code, script in _SCRIPTS.items():
        if len(script.findall(text)) * 3 > letters:
            other, own_letters = _OTHERS.get(code, (code, script))
            return other if own_letters.search(text) else code
    words = set(_WORD.findall(text.lower()))
    counts = Counter({code: len(words & stop_words()[name]) for name, code in _CODES.items()})
    (first, most), (_, second) = counts.most_common(2)
    return first if most > second else None


@cache
def _data() -> dict[str, dict[str, list[str]]]:
    text = files(__package__).joinpath("languages.json").read_text(encoding="utf-8")
    data: dict[str, dict[str, list[str]]] = json.loads(text)
    return data


@cache
def _names() -> dict[str, str]:
    """The code of each language by its names in many languages."""
    return {name: code for code, names in _data()["names"].items() for name in names}


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
