"""What others say in a message: reports, chats, mail and letters that were pasted. It tells nothing of the user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .language import Language

_CHAT_LINE: Final = re.compile(
    r"(?m)^[ \t]*(?:[\[(]?(?:\d{1,4}[-./]\d{1,2}[-./]\d{1,4},?[ T])?\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp][Mm])?[\])]?"
    r"[ \t]*(?:[-–—][ \t]*)?[^\n:：]{1,40}[:：]|<[^<>\n]{1,30}>[ \t]).*$"
)
"""A line of a chat: a time and a name before a colon, or a name in angle brackets."""

_STAMP: Final = re.compile(r"(?m)^[ \t]*[^\n:.!?]{2,40},?[ \t]\[?\d{1,2}:\d{2}(?: ?[AaPp][Mm])?\]?[ \t]*$\n?")
"""A line of its own with a name and a time, above what was said."""

_FORWARDED: Final = re.compile(r"(?m)^[ \t]*[-_]{3,}[^\n]*\w[^\n]*[-_]{3,}[ \t]*$")
"""The line above a mail that is forwarded or answered."""

_LABEL: Final = re.compile(r"(?m)(?:^|(?<=[.!?。！？]))[ \t]*(?P<label>[^\n:：.!?。！？]{1,80})[:：](?!\d|//)")
"""What stands before a colon at the start of a sentence."""

_LABEL_LINE: Final = re.compile(r"(?m)^[ \t]*(?P<label>[^\n]{1,120}?)[ \t]*[:：][ \t]*$")
"""A line that ends in a colon."""

_AHEAD: Final = 80
"""Characters that tell whether somebody speaks of themselves."""

_LABEL_WORDS: Final = 4
"""Words of a label that names who speaks, at most."""

_MAY_BE: Final = re.compile(r"[:：<]|[-_]{3}|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What is in each text in which others speak: a quick look before all of these."""

_LINE: Final = re.compile(r"(?m)^[^\n]*\w[^\n]*$")

_BLANK: Final = re.compile(r"\n[ \t]*\n")


def others_speech(text: str, language: Language) -> Iterator[tuple[int, int]]:
    """Where others speak: the spans of a text, which may overlap."""
    if _MAY_BE.search(text) is None:
        return
    yield from (line.span() for line in _CHAT_LINE.finditer(text))
    yield from ((mark.start(), _paragraph_end(text, mark.end())) for mark in _STAMP.finditer(text))
    yield from ((mark.start(), len(text)) for mark in _FORWARDED.finditer(text))
    for mark in _LABEL_LINE.finditer(text):
        if _is_voice(mark["label"], text[mark.end() :], language):
            is_mail = any(map(str.isdigit, mark["label"]))
            yield mark.start(), len(text) if is_mail else _paragraph_end(text, mark.end() + 1)
    for mark in _LABEL.finditer(text):
        if _is_voice(mark["label"], text[mark.end() :], language):
            yield mark.start(), _paragraph_end(text, mark.end())
    if (start := _letter(text, language)) is not None:
        yield start, len(text)


def _paragraph_end(text: str, start: int) -> int:
    blank = _BLANK.search(text, start)
    return blank.start() if blank else len(text)


def _is_voice(label: str, said: str, language: Language) -> bool:
    """Whether a label names somebody else who speaks, and not the user ("I told him:") or a thing ("Her address:")."""
    plain = language.normalized(label)
    if language["first"].match(language.without_lead(plain)):
        return False
    if language["voice"].search(plain):
        return True
    speech = language.without_lead(language.normalized(said[:_AHEAD]))
    if not language["first"].match(speech):
        return False
    return language["people"].search(plain) is not None or _is_of_another(plain, language)


def _is_of_another(label: str, language: Language) -> bool:
    """Whether a short label is a name or a title ("Tom:", "Lyrics:"), and no note on what follows ("Context:")."""
    rest = language.without_lead(label)
    own = any(language[name].search(label) for name in ("first", "my", "own_label"))
    asks = (
        language["remember"].match(f"{label}:") or language["standing"].match(label) or language["polite"].match(rest)
    )
    is_lead = language["lead"].fullmatch(rest) is not None
    return bool(rest) and len(rest.split()) <= _LABEL_WORDS and not (own or asks or is_lead)


def _letter(text: str, language: Language) -> int | None:
    """Where a letter to somebody begins: at their name, if one of the last lines below it is a greeting."""
    lines = [(line.start(), language.normalized(line[0]).rstrip(",:! ")) for line in _LINE.finditer(text)]
    if not any(language["letter_end"].match(plain) for _, plain in lines[1:][-3:]):
        return None
    return next((start for start, plain in lines if language["letter_start"].match(plain)), None)
