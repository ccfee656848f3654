"""Bytes of a page to text: by byte order mark, as UTF-8, by header, by `<meta>`, by detection, in this order.

UTF-8 stands before what the page declares, because a longer text that is valid UTF-8 is not in another encoding, while
declarations are often wrong. Names are read as browsers read them: `iso-8859-1` means Windows-1252.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks; the four bytes of UTF-32 begin with the two of UTF-16."""
_META: Final = re.compile(
    rb"<(?:meta|\?xml)\b[^>]{0,300}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE
)
_META_BYTES: Final = 8192
_DETECTED_BYTES: Final = 65_536
_WIDER: Final = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030",
    "shift_jis": "cp932", "euc_kr": "cp949", "iso8859-11": "cp874",
}  # fmt: skip
"""Encodings whose name browsers read as a larger one (WHATWG Encoding Standard, section 4.2)."""


def decode(body: bytes, charset: str | None = None) -> str:
    """The text of a page; what cannot be decoded is U+FFFD. Blocking: up to a second for a large page.

    Args:
        body: the bytes, perhaps cut off in the middle of a character.
        charset: the encoding that the `Content-Type` header names.
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    declared = [_python_name(name) for name in (charset, _meta_charset(body)) if name]
    for encoding in _candidates(body, [name for name in declared if name]):
        if (text := _strictly(body, encoding)) is not None:
            return text
    return body.decode(next((name for name in declared if name), "utf-8"), "replace")


def _candidates(body: bytes, declared: list[str]) -> Iterator[str]:
    sample = body[:_DETECTED_BYTES]
    if any(name.startswith("iso2022") for name in declared) and b"\x1b" in body:
        yield from declared  # escape sequences are valid UTF-8
    if sample.count(0) > len(sample) // 5:
        yield "utf-16-le" if sample[1::2].count(0) > sample[::2].count(0) else "utf-16-be"
    yield "utf-8"
    yield from declared
    yield from _detected(sample)


def _detected(sample: bytes) -> Iterator[str]:
    import charset_normalizer

    if best := charset_normalizer.from_bytes(sample).best():
        yield best.encoding


def _meta_charset(body: bytes) -> str | None:
    match = _META.search(body, 0, _META_BYTES)
    return match[1].decode("ascii", "replace") if match else None


def _python_name(label: str | None) -> str | None:
    """Python's name of an encoding that the web calls `label`; None for an unknown one."""
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name if label else None
    except (LookupError, ValueError):
        return None
    return _WIDER.get(name, name) if name else None


def _strictly(body: bytes, encoding: str) -> str | None:
    """The text if all of it is valid in this encoding; a character cut off at the end is left out."""
    try:
        return codecs.getincrementaldecoder(encoding)("strict").decode(body)
    except (UnicodeError, LookupError):
        return None
