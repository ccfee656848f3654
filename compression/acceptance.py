"""Whether a model's text can stand for its source (seed `002`, "Summary Validation System"), in any language.

What is not a matter of language is judged by shape and by vocabulary; the rest by word lists, which are data.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from typing import Final

from ..text.data import phrases
from ..text.fold import fold, lower, plain
from ..text.language import language_of
from ..text.sentences import sentences
from ..text.stop_words import stop_words
from ..text.terms import terms
from ..text.words import words

SHORT: Final = 80
"""Characters that a summary of however short a source may have."""

LEAST_SHARE: Final = 0.25
"""The least share of a summary's content words that its source must have.

On 260 dialogues with summaries written by people (DialogSum, SAMSum) the lowest share is 0.30; a summary of another
dialogue has more in 9 of 100 cases, one in another language in 2 of 100. Seed 002 asks for 0.1 of all words.
"""

LOCAL_CHARS: Final = 300
"""Characters of a summary by a small local model, at most (seed `002`)."""

LOCAL_SHARE: Final = 0.3
"""The share of its source that a local model's summary may have in characters (seed `002`)."""

# Lists of `text/data/summary_words.json`: those of seed `002` ("invalidPatterns"), translated.
_ERRORS: Final = phrases("summary_words", "error_starts")
_STARTS: Final = (
    ("it is an error text", _ERRORS),
    ("it is a refusal", phrases("summary_words", "refusal_starts")),
    ("it is a reply, not a summary", phrases("summary_words", "reply_starts")),
    ("it is a story", phrases("summary_words", "tale_starts")),
)
_LABELS: Final = phrases("summary_words", "summary_labels")

_FEW_TERMS: Final = 3
_TOLD_BY: Final = 5
"""Content words from which a text tells its language."""

_STOP_WORDS: Final = 2

_VERSE_LINES: Final = 4
_VERSE_CHARS: Final = 65
_ROLES: Final = "user assistant tool system"
_PLAY: Final = re.compile(r"^[^\W\d_][\w'’-]+ [^\W\d_][\w'’-]+:$", re.MULTILINE)
_NUMBERED: Final = re.compile(r"^\d+[.)、]\s")
_HEADED: Final = re.compile(r"\A\s*(?:#{1,6} +|\*\*)([^\n]{1,60}?)[*:： ]*\n+(?=\s*\S)")
_HEADING: Final = re.compile(r"\A(?:#{1,6} |\*\*[^*\n]+\*\*\s*(?:\n|\Z))")
_STATUS: Final = re.compile(
    r"\A\W*(?:http\W*)?(?:error\W*)?[45]\d\d\b|\A\s*\{|\A\W*(?:null|none|undefined|nan|n/a)\W*\Z", re.IGNORECASE
)
_DATA: Final = re.compile(r"""\A\s*(?:\{\s*["'}]|\[\s*["'{\[])""")
_LIST_ITEM: Final = re.compile(r"\A\s*(?:[-*•–]|\d+[.)])\s")
_NEXT_WORD: Final = re.compile(r"\W*(?:[a-z\d']+|\w{0,2})")
_DIGIT: Final = re.compile(r"(?![0-9])\d")
_NUMBER: Final = re.compile(r"\d+")
_GROUPED: Final = re.compile(r"(?<=\d)[,.'’ \u00a0\u202f](?=\d{3}(?!\d))")
_LONG_NUMBER: Final = 4
_STOPS: Final = tuple(".!?…:;。！？؟।")


def why_rejected(
    summary: str, source: str, *, max_chars: int, local: bool = False, standing: Collection[str] = ()
) -> str | None:
    """Why a text cannot stand for its source, in a few words; None where it can. It may read the word lists from disk.

    Args:
        summary: what the model wrote.
        source: what it was given.
        max_chars: how long it may be.
        local: whether a small local model wrote it: then it must be shorter (seed `002`).
        standing: hashes of the summaries that stand already; see `text_hash`. What only begins like one is no
            repetition: a summary that is made again from itself and what is new mostly does.
    """
    text = summary.strip()
    if not re.search(r"\w", text):
        return "it is empty"
    return (
        _too_long(text, source, max_chars, local=local)
        or _by_its_start(text, source)
        or _by_its_words(text, source)
        or _by_its_numbers(text, source)
        or _by_its_language(text, source)
        or ("it repeats an earlier summary" if text_hash(text) in standing else None)
    )


def vocabulary_share(summary: str, source: str) -> float:
    """The share of a summary's terms that its source has, in [0, 1]; 1 where there is too little to say.

    The names of roles do not count, as every source has them. Of a summary of nothing but stop words, these count.
    """
    language = language_of(source)
    roles = set(terms(_ROLES, language))
    wanted = [term for term in terms(summary, language) if term not in roles]
    held = set(terms(source, language)) - roles
    if len(held) < _FEW_TERMS:
        return 1.0
    if not wanted:
        wanted = terms(summary, language, keep_stop_words=True)
        held = set(terms(source, language, keep_stop_words=True))
    return sum(term in held for term in wanted) / len(wanted) if wanted else 1.0


def lost_share(before: str, after: str) -> float:
    """The share of the terms of one text that another one has no more, in [0, 1]; 0 where there are none."""
    language = language_of(before)
    held = set(terms(before, language))
    return len(held.difference(terms(after, language))) / len(held) if held else 0.0


def without_label(text: str) -> str:
    """A summary without "Here is a summary of the conversation:", "Summary:" or a heading that says so before it."""
    headed = _HEADED.match(text)
    if headed and any(label in fold(headed[1]) for label in _LABELS):
        text = text[headed.end() :]
    stripped = text.strip().strip("*_ \n")
    head, colon, rest = stripped.partition(":") if ":" in stripped[:120] else stripped.partition("：")
    begins = fold(head)
    is_label = any(label in begins for label in _LABELS) and not begins.startswith(_ERRORS)
    if colon and len(head) < 100 and "\n" not in head and is_label:
        return rest.strip("*_ \n")
    return stripped


def prefix_hash(text: str) -> str:
    """The hash of the first 120 characters of a text, without differences of case and white space (seed `004`)."""
    return _hash(plain(text)[:120])


def text_hash(text: str) -> str:
    """The hash of a whole text, without differences of case and white space."""
    return _hash(plain(text))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _by_its_start(text: str, source: str) -> str | None:
    """Whether it begins like an error, a refusal, a reply or a story; what the source says too is no sign.

    Of errors and refusals the next word counts too: a source that speaks of an error says "error" as well.
    """
    begins = fold(re.sub(r"\A[\W_]+", "", text))
    said = fold(source)
    for reason, starts in _STARTS:
        if any(_begins(begins, start) and start not in said for start in starts):
            return reason
    for reason, starts in _STARTS[:2]:
        if any(_begins(begins, start) and _and_next_word(begins, start) not in said for start in starts):
            return reason
    status = _STATUS.search(text)
    if status is not None and fold(status[0].strip()) not in said:
        return "it is an error text"
    shaped = (
        "```" in text or _DATA.search(text) or _NUMBERED.search(text) or _PLAY.search(text) or _HEADING.search(text)
    )
    return "it is not plain sentences" if shaped else None


def _by_its_words(text: str, source: str) -> str | None:
    share = vocabulary_share(text, source)
    if share < LEAST_SHARE:
        return f"it shares {share:.0%} of its words with what was said"
    is_poem = share < 2 * LEAST_SHARE and _is_verse(text) and not _is_verse(source)
    return "it is a poem" if is_poem else None


def _by_its_numbers(text: str, source: str) -> str | None:
    """Whether it has a year, an amount or another long number that was not said; round ones may be said in words."""
    told = [number for number in _numbers(text) if len(number.rstrip("0")) > 1]
    held = set(_numbers(source)) if told else set()
    new = next((number for number in told if number not in held), None)
    return f"it has a number that was not said: {new}" if new else None


def _by_its_language(text: str, source: str) -> str | None:
    """Whether it is in a language in which nothing was said; names may make up many of the words that both have."""
    language = language_of(text)
    if language is None or len(terms(text, language)) < _TOLD_BY or not _is_in(text, language):
        return None
    spoken = (language_of(line.partition(": ")[2] or line) for line in source.splitlines())
    others = False
    for found in spoken:
        if found is not None and found == language:
            return None
        others = others or found is not None
    return "it is in another language" if others else None


def _is_in(text: str, language: str) -> bool:
    """Whether a text has stop words of a language as far as we know them: a list of foreign names has none, or one."""
    stop = stop_words(language)
    return not stop or language in {"zh", "ja"} or len(stop.intersection(words(lower(text)))) >= _STOP_WORDS


def _numbers(text: str) -> list[str]:
    """The numbers of four digits and more, in ASCII digits, without separators."""
    digits = _DIGIT.sub(lambda match: str(int(match[0])), text)
    return [number for number in _NUMBER.findall(_GROUPED.sub("", digits)) if len(number) >= _LONG_NUMBER]


def _and_next_word(text: str, start: str) -> str:
    """How a text begins, one word further than these: of "error" in "error 500 came up", "error 500"."""
    following = _NEXT_WORD.match(text, len(start))
    return start + (following[0] if following else "")


def _begins(text: str, start: str) -> bool:
    """Whether a text begins with these words, and not with a longer word."""
    rest = text[len(start) :]
    whole = not (start[-1].isalnum() and start.isascii() and rest[:1].isalnum())
    return text.startswith(start) and whole


def local_limit(source: str, max_chars: int) -> int:
    """Characters that a small local model's summary of a source may have (seed `002`)."""
    return min(max_chars, LOCAL_CHARS, max(round(LOCAL_SHARE * len(source)), 2 * SHORT))


def fitting(text: str, limit: int) -> str:
    """The whole sentences from the start of a text that fit in so many characters; all of it where not one does.

    Small models write a sentence or two, and the second is mostly what is too much.
    """
    if len(text) <= limit:
        return text
    kept = ""
    for sentence in sentences(text):
        if len(kept) + 1 + len(sentence) > limit:
            break
        kept = f"{kept} {sentence}".strip()
    return kept or text


def _too_long(text: str, source: str, max_chars: int, *, local: bool) -> str | None:
    if len(text) >= max(len(source), SHORT):
        return "it is not shorter than its source"
    limit = local_limit(source, max_chars) if local else max_chars
    return f"it has {len(text)} characters, and may have {limit}" if len(text) > limit else None


def _is_verse(text: str) -> bool:
    """Whether a text is set in lines like a poem: several short ones, most of which end without a full stop."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < _VERSE_LINES or any(_LIST_ITEM.match(line) for line in lines):
        return False
    short = sum(len(line) <= _VERSE_CHARS for line in lines)
    running_on = sum(not line.endswith(_STOPS) for line in lines)
    return short >= 0.8 * len(lines) and running_on >= 0.4 * len(lines)
