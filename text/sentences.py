"""The sentences of a text, in any script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

CODE: Final = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`", re.DOTALL)
"""Code in a text: a fenced block, or what stands between backticks."""

_FENCE: Final = re.compile(r"(```.*?(?:```|\Z))", re.DOTALL)
_LINE_END: Final = re.compile(r"[\n\r\x0b\x0c\x85\u2028\u2029]+")
_CLOSERS: Final = r"[\"'”’»)\]）」』】]*"
_SENTENCE_END: Final = re.compile(rf"(?<![.!?…])[.!?…]++{_CLOSERS}(?=\s)|[。！？｡؟۔।॥։።។။]+{_CLOSERS}")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:dr|mr|mrs|ms|prof|st|sr|jr|vs|no|nr|inc|ltd|approx|fig|cf|bzw|ca|sra?|mme|e\.g|i\.e|u\.s|a\.m|p\.m|z\.b|d\.h)"
    r"|(?:^|[\s(.])[^\W\d_])\.$",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped, in order; a fenced code block is one, a line break ends one."""
    found: list[str] = []
    for part in _FENCE.split(text):
        if part.startswith("```"):
            found.append(part)
        else:
            found.extend(piece for line in _LINE_END.split(part) for piece in _split_line(line))
    return [stripped for sentence in found if (stripped := sentence.strip())]


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each of the sentences begins and ends."""
    end = 0
    for sentence in sentences(text):
        start = text.index(sentence, end)
        end = start + len(sentence)
        yield start, end


def _split_line(line: str) -> Iterator[str]:
    start = 0
    for match in _SENTENCE_END.finditer(line):
        if match[0][0] in ".!?…" and _goes_on(line, match):
            continue
        yield line[start : match.end()]
        start = match.end()
    yield line[start:]


def _goes_on(line: str, end: re.Match[str]) -> bool:
    following = line[end.end() : end.end() + 8].lstrip()[:1]
    if following.islower():
        return end[0][0] in ".…" or end[0][-1] not in "!?"
    before = line[max(0, end.start() - 12) : end.start() + 1]
    return end[0][0] == "." and before[-2:-1].isalpha() and bool(_ABBREVIATION.search(before))
