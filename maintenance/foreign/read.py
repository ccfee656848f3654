"""Reads the file of an export: its encoding, its form, one record after the other, without holding the whole."""

from __future__ import annotations

import codecs
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, NamedTuple

import ijson
import numpy as np

from ...state.errors import InputError, first_line
from .agents import letta_agents
from .products import Product, product_of
from .said import ExportedConversation, Record, digest

_SAMPLE: Final = 65_536
_MAX_RATIO: Final = 100
"""How many times larger than packed an export may be: conversations come down to a tenth, a bomb to a thousandth."""
_KNOWN: Final = (
    "ChatGPT, Claude, Gemini (Takeout), LangChain, LangGraph, Letta, LibreChat, mem0, Open WebUI, SillyTavern"
)
_ESCAPED: Final = re.compile(rb"\\.", re.DOTALL)
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))

MOST_NESTED: Final = 200
"""Lists and objects in each other, at most; exports have about ten."""


class Export(NamedTuple):
    """What a file holds: which product's it is, and its conversations, to be read once."""

    product: str
    conversations: Iterator[ExportedConversation]


@contextmanager
def opened_export(file: Path) -> Iterator[Export]:
    """The export in a file, JSON, JSONL or a ZIP of such files (blocking).

    Raises:
        InputError: the file cannot be read, is in an encoding other than UTF-8 and UTF-16, or is of no known product.
    """
    try:
        with _unpacked(file) as content:
            records = _records(file, content)
            first = next(records, None)
            product = None if first is None else product_of(first)
            if first is None or product is None:
                raise InputError(f"{file} is no export that is known: expected one of everthread, {_KNOWN}.")
            yield Export(product.name, _conversations(file, product, chain([first], records)))
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{file} cannot be read ({first_line(error)}): give the file of an export.") from error


def _conversations(file: Path, product: Product, records: Iterator[Record]) -> Iterator[ExportedConversation]:
    read = (_read(file, number, product, record) for number, record in enumerate(records, start=1))
    yield from product.joined(found if found.id else _named(found, file) for found in read)


def _named(found: ExportedConversation, file: Path) -> ExportedConversation:
    """A conversation that the export gives no id: by its file and its first words, as files may have one name."""
    return found._replace(id=f"{file.stem} {digest(found.said[0].text)}" if found.said else file.stem)


def _read(file: Path, number: int, product: Product, record: Record) -> ExportedConversation:
    try:
        return product.read(record)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, NotImplementedError, RecursionError) as error:
        raise InputError(
            f"Conversation {number} of {file} is not as {product.name} exports it: {first_line(error)}."
        ) from error


@contextmanager
def _unpacked(file: Path) -> Iterator[IO[bytes]]:
    """The bytes of the conversations, in UTF-8."""
    if not zipfile.is_zipfile(file):
        with file.open("rb") as content:
            yield in_utf8(file, content)
        return
    with zipfile.ZipFile(file) as packed:
        names = [name for name in packed.namelist() if Path(name).name in {"conversations.json", "MyActivity.json"}]
        if len(names) != 1:
            raise InputError(f"{file} holds {len(names)} files of conversations: expected one. Unpack it and give one.")
        info = packed.getinfo(names[0])
        if info.file_size > _MAX_RATIO * max(info.compress_size, _SAMPLE):
            raise InputError(f"{file} is more than {_MAX_RATIO} times larger unpacked: unpack it first.")
        with packed.open(info) as content:
            yield in_utf8(file, content)


def in_utf8(file: Path, content: IO[bytes]) -> IO[bytes]:
    """The same without a mark of its encoding, and checked: a copy that the system deletes.

    Raises:
        InputError: it is in an encoding other than UTF-8, UTF-16 and UTF-32, or nested too deep.
    """
    block = content.read(_SAMPLE)
    found = json.detect_encoding(block)
    decode = codecs.getincrementaldecoder("utf-8-sig" if found == "utf-8" else found)()
    copy = TemporaryFile()  # noqa: SIM115  # it is deleted when the last who reads it is gone
    sample, nesting = block, Nesting()
    try:
        while block:
            text = decode.decode(block).encode()
            if nesting.is_too_deep(text):
                raise InputError(f"{file} is nested deeper than {MOST_NESTED} lists and objects: it is no export.")
            copy.write(text)
            block = content.read(_SAMPLE)
            sample = block or sample
        copy.write(decode.decode(b"", final=True).encode())
    except UnicodeError:
        raise InputError(f"{file} is not in UTF-8{_guess(sample)}: convert it, and try again.") from None
    copy.seek(0)
    return copy


def _guess(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    return "" if best is None else f" (it looks like {best.encoding})"


def _records(file: Path, content: IO[bytes]) -> Iterator[Record]:
    """The records: the items of a list, an object alone, or all lines of a JSONL file as one."""
    start = content.read(_SAMPLE).lstrip()[:1]
    content.seek(0)
    try:
        if start == b"[":
            yield from _items(content)
        elif start == b"{":
            yield from _inside(_alone(content))
    except (ValueError, RecursionError, ijson.JSONError) as error:
        raise InputError(f"{file} is no JSON: {first_line(error)}. It was cut off, or is no export.") from None


def _items(content: IO[bytes]) -> Iterator[Record]:
    items = (item for item in ijson.items(content, "item", use_float=True) if isinstance(item, dict))
    first = next(items, None)
    if first is None:
        return
    if product_of(first) is not None:
        yield first
        yield from items
    elif _is_message(first):  # a list of messages is one conversation
        yield {"messages": [first, *items]}


def _inside(found: Record) -> Iterator[Record]:
    """The records of an object that is none itself: the agents of Letta's file, the pages of mem0's."""
    if isinstance(found.get("agents"), list):
        yield from letta_agents(found)
    elif isinstance(found.get("results"), list):
        yield from (item for item in found["results"] if isinstance(item, dict))
    else:
        yield found


def _is_message(item: dict[str, Any]) -> bool:
    return "lc" in item or "role" in item or ("type" in item and ("data" in item or "content" in item))


def _alone(content: IO[bytes]) -> Record:
    whole = content.read()
    try:
        found = json.loads(whole)
    except ValueError:
        lines = json_lines(whole)
        if _is_message(lines[0]):
            return {"messages": lines}
        return {"lines": lines}
    return found if isinstance(found, dict) else {}


def json_lines(content: bytes) -> list[Any]:
    """What each line of JSONL holds. Line feeds alone end a line: U+2028 and its like may stand in a text.

    Raises:
        ValueError: a line is no JSON.
    """
    return [json.loads(line) for line in content.split(b"\n") if line.strip()]


def copied(source: IO[bytes], target: IO[bytes]) -> None:
    """Append one file to another."""
    source.seek(0)
    shutil.copyfileobj(source, target)


class Nesting:
    """Counts the brackets outside of strings, block by block; to parse them takes memory by the square of the depth."""

    def __init__(self) -> None:
        self._deep = 0
        self._in_string = False
        self._rest = b""

    def is_too_deep(self, block: bytes) -> bool:
        """Whether a block of UTF-8, which comes after those before, goes deeper than `MOST_NESTED`."""
        block = self._rest + block
        backslashes = len(block) - len(block.rstrip(b"\\"))
        self._rest = block[len(block) - backslashes % 2 :]  # what it escapes comes with the next block
        parts = _ESCAPED.sub(b"", block[: len(block) - backslashes % 2]).split(b'"')
        outside = b"".join(parts[int(self._in_string) :: 2]).translate(None, _NO_BRACKETS)
        self._in_string ^= len(parts) % 2 == 0
        if not outside:
            return False
        # Of "[" and "{" the second bit is set, 0x5B and 0x7B; of "]" and "}" it is not, 0x5D and 0x7D.
        deep = self._deep + np.cumsum(np.where(np.frombuffer(outside, np.uint8) & 2, 1, -1))
        self._deep = int(deep[-1])
        return bool(deep.max() > MOST_NESTED)
