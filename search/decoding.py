"""Bytes of a page to text: by byte order mark, as UTF-8, by header, by `<meta>`, by detection, in this order.

UTF-8 stands before what the page declares, because a longer text that is valid UTF-8 is not in another encoding, while
declarations are often wrong. Names are read as browsers read them: `iso-8859-1` means Windows-1252.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Final

_MARKS: Final = {
    "utf-8-sig": (codecs.BOM_UTF8,),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
"""Byte order marks; the four bytes of UTF-32 begin with the two of UTF-16."""
_META: Final = re.compile(
    rb"<(?:meta|\?xml)\b[^>]{0,300}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE
)
_META_BYTES: Final = 8192
_DETECTED_BYTES: Final = 65_536
_MEANT: Final = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949",
}  # fmt: skip
"""Encodings whose name is used for a larger one (WHATWG, "Encoding"), as Python calls them."""


def decode(body: bytes, charset: str | None = None) -> str:
    """The text of a page; what cannot be decoded is U+FFFD. Blocking: up to a second for a large page.

    Args:
        body: the bytes, perhaps cut off in the middle of a character.
        charset: the encoding that the `Content-Type` header names.
    """
    for encoding, marks in _MARKS.items():
        if body.startswith(marks):
            return body.decode(encoding, "replace")
    declared = [name for label in (charset, _meta_charset(body)) if label and (name := _python_name(label))]
    for encoding in _candidates(body, declared):
        # A character that is cut off at the end is left out.
        try:
            return codecs.getincrementaldecoder(encoding)("strict").decode(body)
        except UnicodeError:
            continue
    return body.decode(next(iter(declared), "utf-8"), "replace")


def _candidates(body: bytes, declared: list[str]) -> Iterator[str]:
    if any(name.startswith("iso2022") for name in declared):
        yield from declared  # escape sequences are valid UTF-8
    yield "utf-8"
    yield from declared
    from charset_normalizer import from_bytes

    if best := from_bytes(body[:_DETECTED_BYTES]).best():
        yield best.encoding


def _meta_charset(body: bytes) -> str | None:
    match = _META.search(body, 0, _META_BYTES)
    return match[1].decode("ascii", "replace") if match else None


def _python_name(label: str) -> str | None:
    """Python's name of an encoding that the web calls `label`; None for an unknown one."""
    label = label.strip(" \t\"'")
    try:
        "".encode(label)
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    return _MEANT.get(name, name)
