"""The language of a text: the script decides where it can, else statistics of bytes (`LanguageTable`).

Chosen by trial, `tests/test_language.py`: 300 short everyday sentences in 30 languages.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import regex

from .scripts import count_scripts

if TYPE_CHECKING:
    from .language_table import LanguageTable

OF_SCRIPT: Final[Mapping[str, tuple[str, ...]]] = {
    "latin": (
        "en", "de", "fr", "es", "pt", "it", "nl", "pl", "sv", "da", "no", "fi", "hu", "tr", "id", "vi", "lt", "sr",
    ),
    "cyrillic": ("ru", "uk", "sr", "kk"),
    "arabic": ("ar", "fa"),
    "devanagari": ("hi",),
    "kana": ("ja",),
    "han": ("zh",),
    "hangul": ("ko",),
    "thai": ("th",),
    "hebrew": ("he",),
    "greek": ("el",),
    "armenian": ("hy",),
    "tamil": ("ta",),
}  # fmt: skip
"""The languages that are told apart, by their script: codes of ISO 639-1."""

LANGUAGES: Final = tuple(dict.fromkeys(code for codes in OF_SCRIPT.values() for code in codes))

_SAMPLE: Final = 600
"""Characters of a text that are looked at."""

LEAST: Final = 0.3
"""Probability of the likeliest language below which a text is in none: one word or a name does not tell.

Of 3,944 chat messages in English (LoCoMo) 8 seem to be in another language, none of them with more than this; of 300
short sentences the rightly detected ones have 0.49 and more.
"""

_CLOSE: Final = 0.25
"""Share of the likeliest language's probability that one of a choice has at least, to be the answer."""

_BEFOREHAND: Final = {"en": 2.0, **dict.fromkeys(("de", "fr", "es", "pt", "it", "ru"), 1.4)}
"""How much likelier a language is than a rarer one before anything is read: it decides what is too short to tell.

Of 38 texts of one to five words 30 are detected so, 3 wrongly; without it 26, and 6. More weight is worse on sentences.
"""

_CAPITALS: Final = regex.compile(r"\b\p{Lu}{2,}\b")
"""Words in capitals, which the model takes for something else."""

_SHARE: Final = 1 / 3
"""Share of the letters from which a script other than Latin decides: what is cited among them is mostly in Latin."""

_DENSE: Final = {"han": 2, "kana": 2, "hangul": 2}
"""Scripts of which a letter says more than one, and how much it counts."""

_KANA: Final = 1 / 8
"""Share of kana in the letters of a text in kana and Han from which it is Japanese."""

_LETTERS: Final = {
    "ru": "ыэёъ", "uk": "іїєґ", "sr": "јљњћђџ", "kk": "әғқңөұүһіыэёъ",
    "ar": "ةىيك", "fa": "پچژگیک\u200c",
}  # fmt: skip
"""Letters that some languages of a script have and others do not: a text with one of them is in none of the others."""

_reading: Final = threading.Lock()
"""Keeps two threads from both reading the table."""

_TELLING: Final = frozenset("".join(_LETTERS.values()))


def language_of(text: str, among: Collection[str] | None = None) -> str | None:
    """The code of the language of a text, None where it does not tell: nothing but names, numbers or signs.

    The first time, it may read a table from disk (blocking, 0.05 s).

    Args:
        text: any text; its first 600 characters are looked at.
        among: the languages that may be the answer, where another one is not much likelier; all of ours by default.
    """
    found = likelihoods(text)
    known = [code for code in found if among is None or code in among]
    best = max(known, key=found.__getitem__, default=None)
    if best is None or found[best] < _CLOSE * max(found.values()):
        return None
    return best if found[best] >= LEAST or max(found.values()) >= LEAST else None


def likelihoods(text: str) -> Mapping[str, float]:
    """The probability of each language of the script of a text, in [0, 1]; empty where there is no letter of ours."""
    return _likelihoods(_CAPITALS.sub(lambda word: word[0].lower(), text[:_SAMPLE]))


def _script_in(text: str) -> str | None:
    """The script that decides the language of a text: not always that of most of its letters."""
    counts = Counter({script: n * _DENSE.get(script, 1) for script, n in count_scripts(text[:_SAMPLE]).items()})
    letters = sum(counts.values())
    if not letters:
        return None
    east = counts["kana"] + counts["han"]
    if east >= _SHARE * letters and counts["kana"] >= _KANA * east:
        return "kana"
    others = {script: count for script, count in counts.items() if script not in {"latin", "other"}}
    most = max(others, key=others.__getitem__, default="latin")
    if most != "latin" and others[most] >= _SHARE * letters:
        return most
    return "latin" if counts["latin"] else most if most != "latin" else None


@lru_cache(4_096)
def _likelihoods(sample: str) -> Mapping[str, float]:
    script = _script_in(sample)
    codes = OF_SCRIPT.get(script or "", ())
    if script in {"cyrillic", "arabic"} and (telling := _TELLING.intersection(sample.lower())):
        codes = tuple(code for code in codes if telling.issubset(_LETTERS[code])) or codes
    if len(codes) < 2:
        return dict.fromkeys(codes, 1.0)
    found = _table().likelihoods(sample)
    weighed = {code: found[code] * _BEFOREHAND.get(code, 1.0) for code in codes}
    total = sum(weighed.values()) or 1.0
    return {code: weight / total for code, weight in weighed.items()}


def _table() -> LanguageTable:
    with _reading:
        from .language_table import LanguageTable  # with numpy, which what only shows texts goes without

        return LanguageTable.read()
