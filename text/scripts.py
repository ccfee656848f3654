"""Scripts: which one a letter belongs to, and which are written without spaces between words."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Final

import regex

SPACELESS: Final = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\U0001aff0-\U0001b16f"
)
"""Letters of scripts without spaces between words: the inside of a character class of `regex`."""

PAIRED: Final = rf"{SPACELESS}\p{{Hangul}}"
"""The same and Korean, whose words carry their particles with them: what is best compared by pairs of characters."""

_SCRIPTS: Final = {
    script: regex.compile(rf"[{letters}]")
    for script, letters in {
        "latin": r"\p{Latin}",
        "cyrillic": r"\p{Cyrillic}",
        "arabic": r"\p{Arabic}",
        "devanagari": r"\p{Devanagari}",
        "kana": r"\p{Hiragana}\p{Katakana}\u30fc",
        "han": r"\p{Han}",
        "hangul": r"\p{Hangul}",
        "thai": r"\p{Thai}",
        "hebrew": r"\p{Hebrew}",
        "greek": r"\p{Greek}",
        "armenian": r"\p{Armenian}",
        "tamil": r"\p{Tamil}",
    }.items()
}


@lru_cache(20_000)
def script_of(word: str) -> str:
    """The script of a word by its first letter: latin, cyrillic, kana, han, ...; "other" where it is none of ours."""
    return next((script for script, letters in _SCRIPTS.items() if letters.match(word)), "other")


def count_scripts(text: str) -> Counter[str]:
    """How many letters of each script a text has; letters of scripts that are not ours are "other"."""
    if text.isascii():
        return +Counter(latin=sum(map(str.isalpha, text)))
    return Counter(script_of(char) for char in text if char.isalpha())
