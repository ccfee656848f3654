"""One fold of case, width and accents: two texts are written alike if their folds are equal."""

from __future__ import annotations

import unicodedata
from typing import Final

import regex

_ALIKE: Final = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u0307": None})
"""Apostrophes become one; the dot that is left of an "İ" in lower case goes."""

_DOTLESS: Final = str.maketrans({"ı": "i"})

_ACCENTS: Final = regex.compile("[\u0300-\u036f\u0610-\u061a\u0640\u064b-\u065f\u0670]+")
"""Accents (é = e, й = и), Arabic vowel signs and the joining line. Vowel signs of Indic scripts and the voicing
marks of kana make other letters, and stay."""


def lower(text: str) -> str:
    """The text in lower case and one width, with one kind of apostrophe: spelled as stemmers want it."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).lower().translate(_ALIKE))


def fold(text: str) -> str:
    """The text without differences of case, width and apostrophes, accents kept.

    "Straße" becomes "strasse", and the four letters i of Turkish (I, ı, İ, i) become one.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_ALIKE).translate(_DOTLESS)
    return unicodedata.normalize("NFC", folded)


def plain(text: str) -> str:
    """The text folded, with single spaces."""
    return " ".join(fold(text).split())


def bare(text: str) -> str:
    """The text folded and without accents, so that it matches however it was typed."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", fold(text))))
