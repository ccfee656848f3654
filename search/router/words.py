"""A text as the clauses and sentences that the web search's word lists are looked up in, in any script."""

from __future__ import annotations

from typing import Final, NamedTuple

import regex

from ...text.fold import bare
from ...text.words import QUESTION_MARKS, pieces

_ENDS_OF_CLAUSE: Final = frozenset(".!?;:,()[]-–—…。！？；：，、؟،؛।¿¡\n")
_ENDS_OF_SENTENCE: Final = frozenset(".!?…。！？؟।;\n")
_EXCLAMATION_MARKS: Final = frozenset("!！")
_HYPHEN: Final = regex.compile(r"(?<=\w)[-‐‑](?=\w)")


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


def lines(text: str) -> list[tuple[str, ...]]:
    """The words of each line of a text, as `split` finds them in the line alone; of thousands at once in a tenth of its
    time."""
    found: list[list[str]] = [[]]
    for piece in _pieces(text):
        if piece == "\n":
            found.append([])
        else:
            found[-1].append(piece)
    return [tuple(words) for words in found]


def split(text: str) -> Words:
    """The words of a text, without case and accents."""
    words: list[str] = []
    starts = {0}
    sentences: list[Sentence] = []
    begun = 0
    for piece in _pieces(text):
        if piece in _ENDS_OF_SENTENCE:
            if len(words) > begun:
                sentences.append(Sentence(tuple(words[begun:]), piece in QUESTION_MARKS, piece in _EXCLAMATION_MARKS))
            elif sentences and piece in QUESTION_MARKS:
                sentences[-1] = sentences[-1]._replace(asked=True)
            begun = len(words) + (piece != "\n")
        if piece != "\n":
            words.append(piece)
        if piece in _ENDS_OF_CLAUSE:
            starts.add(len(words))
    if len(words) > begun:
        sentences.append(Sentence(tuple(words[begun:]), asked=False, exclaimed=False))
    return Words(words, starts, sentences)


def _pieces(text: str) -> list[str]:
    return pieces(_HYPHEN.sub(" ", bare(text)))
