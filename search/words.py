r"""A text as words and sentences, in any script.

`\w` and `\b` do not find words everywhere: combining marks are no `\w`, so "क" would match inside "का"; scripts
without spaces between words (Thai, Lao, Burmese, Khmer, kana, Han) have no boundaries at all, so that there each
letter is a word; and the case of "İ" and "I" depends on the language.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache
from typing import Final, NamedTuple

_ENDS_OF_CLAUSE: Final = frozenset(".!?;:,()[]-–—…。！？；：，、؟،؛।¿¡\n")
_ENDS_OF_SENTENCE: Final = frozenset(".!?…。！？؟।;\n")
_QUESTION_MARKS: Final = frozenset("?？؟")
_EXCLAMATION_MARKS: Final = frozenset("!！")
# Accents (é = e, й = и), Arabic vowel signs and the joining line. Vowel signs of Indic scripts and the voicing marks
# of kana make other letters and stay.
_ACCENTS: Final = re.compile("[\u0300-\u036f\u0610-\u061a\u0640\u064b-\u065f\u0670]")
_HYPHEN: Final = re.compile(r"(?<=\w)[-‐‑](?=\w)")
_SCRIPTS: Final = (
    ("latin", "a-zß-ɏ\u1e00-\u1eff"),
    ("cyrillic", "\u0400-\u052f"),
    ("arabic", "\u0600-\u06ff\u0750-\u077f"),
    ("devanagari", "\u0900-\u097f"),
    ("kana", "\u3040-\u30ff"),
    ("han", "\u3400-\u9fff\uf900-\ufaff"),
)


class Sentence(NamedTuple):
    """The words of one sentence, without the mark that ends it, and what that mark is."""

    words: tuple[str, ...]
    asked: bool
    exclaimed: bool


class Words(NamedTuple):
    """A text as words and punctuation marks, which of them begin a clause, and its sentences."""

    words: list[str]
    clause_starts: set[int]
    sentences: list[Sentence]

    @property
    def asked(self) -> bool:
        """Whether there is a question mark."""
        return any(sentence.asked for sentence in self.sentences)


def fold(text: str) -> str:
    """The text as it is compared: without case, accents, and differences of encoding.

    Turkish "İ", "ı" and "I" all become "i", so that a word matches however it is typed.
    """
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare.casefold()).replace("ı", "i").replace("’", "'").replace("ʼ", "'")


def split(text: str) -> Words:
    """The words of a text, folded."""
    words: list[str] = []
    starts = {0}
    sentences: list[Sentence] = []
    begun = 0
    for piece in _word_pattern().findall(_HYPHEN.sub(" ", fold(text))):
        if piece in _ENDS_OF_SENTENCE:
            if len(words) > begun:
                sentences.append(Sentence(tuple(words[begun:]), piece in _QUESTION_MARKS, piece in _EXCLAMATION_MARKS))
            elif sentences and piece in _QUESTION_MARKS:
                sentences[-1] = sentences[-1]._replace(asked=True)
            begun = len(words) + (piece != "\n")
        if piece != "\n":
            words.append(piece)
        if piece in _ENDS_OF_CLAUSE:
            starts.add(len(words))
    if len(words) > begun:
        sentences.append(Sentence(tuple(words[begun:]), asked=False, exclaimed=False))
    return Words(words, starts, sentences)


def is_word(piece: str) -> bool:
    """Whether this is a word or number and not a punctuation mark."""
    return piece[0].isalnum() or len(piece) > 1


@cache
def script_of(word: str) -> str:
    """The script of a folded word by its first letter: latin, cyrillic, arabic, devanagari, kana, han, or other."""
    for script, letters in _script_patterns():
        if letters.match(word):
            return script
    return "other"


@cache
def _script_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((script, re.compile(f"[{letters}]")) for script, letters in _SCRIPTS)


@cache
def _word_pattern() -> re.Pattern[str]:
    """One word, number ("3.14"), punctuation mark or line break."""
    marks = "".join(
        char
        for char in map(chr, range(0x300, min(0x10000, sys.maxunicode)))
        if unicodedata.category(char).startswith("M")
    )
    unspaced = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    letter = f"(?:(?![{unspaced}])[\\w{marks}])"
    return re.compile(rf"[{unspaced}]|\d+(?:[.,:]\d+)+{letter}*|{letter}+(?:'{letter}+)*|\n|[^\s\w]")
