"""Terms: what the keyword arm counts. Stemmed words; pairs of characters where a script is written without spaces.

A message also has the day on which it was said among its terms, so that a question that names a date finds it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

import snowballstemmer

MAX_CHARACTERS: Final = 80_000
"""Characters of one message that are counted; of a longer one, half as many from its start and its end."""

# PostgreSQL's English stop words, and what people say to each other without asking for anything.
_STOP_WORDS: Final = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its
itself they them their theirs themselves what which who whom this that these those am is are was were be been being have
has had having do does did doing a an the and but if or because as until while of at by for with about against between
into through during before after above below to from up down in out on off over under again further then once here there
when where why how all any both each few more most other some such no nor not only own same so than too very s t can
will just don should now hello hi hey thanks thank please ok okay yes bye goodbye
"""
_STOP: Final = frozenset(_STOP_WORDS.split())
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0eff]+")
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_stemmer: Final = snowballstemmer.stemmer("english")


def terms(text: str, *, keep_stop_words: bool = False) -> list[str]:
    """The terms of a text, in their order, each as often as it stands there."""
    if len(text) > MAX_CHARACTERS:
        text = f"{text[: MAX_CHARACTERS // 2]} {text[-MAX_CHARACTERS // 2 :]}"
    plain = unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'")
    return [term for word in _WORD.findall(plain) for term in _terms_of(word, keep_stop_words)]


def date_terms(moment: datetime) -> list[str]:
    """The day as the words of a text would name it: day, month, year."""
    return [str(moment.day), _stem(_MONTHS[moment.month - 1]), str(moment.year)]


def question_terms(question: str, now: datetime) -> list[str]:
    """The distinct terms of a question, with the days that "yesterday", "last month" and the like mean."""
    return list(dict.fromkeys([*terms(question), *_meant_days(question.lower(), now)]))


def _terms_of(word: str, keep_stop_words: bool) -> Iterator[str]:
    at = 0
    for run in _UNSPACED.finditer(word):
        yield from _spaced(word[at : run.start()], keep_stop_words)
        characters = run.group()
        yield from (characters[n : n + 2] for n in range(max(1, len(characters) - 1)))
        at = run.end()
    yield from _spaced(word[at:], keep_stop_words)


def _spaced(word: str, keep_stop_words: bool) -> Iterator[str]:
    for part in word.removesuffix("'s").split("'"):
        if part and (keep_stop_words or part not in _STOP):
            yield _stem(part)


@lru_cache(100_000)
def _stem(word: str) -> str:
    return str(_stemmer.stemWord(word)) if len(word) < 64 else word


def _meant_days(question: str, now: datetime) -> Iterator[str]:
    if re.search(r"\btoday\b|今天", question):
        yield from date_terms(now)
    if re.search(r"\byesterday\b|昨天", question):
        yield from date_terms(now - timedelta(days=1))
    if re.search(r"\blast month\b|上个月", question):
        yield from date_terms(now.replace(day=1) - timedelta(days=1))[1:]
    if re.search(r"\bthis month\b|这个月", question):
        yield from date_terms(now)[1:]
    if re.search(r"\blast year\b|去年", question):
        yield str(now.year - 1)
