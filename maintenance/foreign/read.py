"""Reads the file of an export: its encoding, its form, one record after the other, without holding the whole."""

from __future__ import annotations

import codecs
import json
import re
import shutil
import zipfile
from collections import Counter
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
_CONVERSATIONS: Final = re.compile(r"conversations(-\d+)?\.json|MyActivity\.json")
"""What an export calls the files of conversations; ChatGPT has divided large ones into numbered ones since 2026."""
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
        with _unpacked(file) as contents:
            records = chain.from_iterable(_records(file, content) for content in contents)
            first = next(records, None)
            product = None if first is None else product_of(first)
            if first is None or product is None:
                raise InputError(f"{file} is no export that is known: expected one of everthread, {_KNOWN}.")
            yield Export(product.name, _conversations(file, product, chain([first], records)))
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{file} cannot be read ({first_line(error)}): give the file of an export.") from error


def _conversations(file: Path, product: Product, records: Iterator[Record]) -> Iterator[ExportedConversation]:
    read = (_read(file, number, product, record) for number, record in enumerate(records, start=1))
    if product.joins:  # the states of a thread begin with the same words
        yield from product.joined(_named(found, file, [one.text for one in found.said[:1]]) for found in read)
    else:
        yield from _told_apart(read, file)


def _told_apart(read: Iterator[ExportedConversation], file: Path) -> Iterator[ExportedConversation]:
    """The conversations, those without an id with one of their own, also where they begin alike."""
    times: Counter[str] = Counter()
    for found in read:
        named = _named(found, file, [f"{one.text} {one.at or ''}" for one in found.said[:2]])
        times[named.id] += 1
        yield named if found.id or times[named.id] == 1 else named._replace(id=f"{named.id} {times[named.id]}")


def _named(found: ExportedConversation, file: Path, begins: list[str]) -> ExportedConversation:
    """A conversation that the export gives no id: by its file and how it begins, as files may have one name."""
    if found.id:
        return found
    return found._replace(id=f"{file.stem} {digest(' '.join(begins))}" if found.said else file.stem)


def _read(file: Path, number: int, product: Product, record: Record) -> ExportedConversation:
    try:
        return product.read(record)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, NotImplementedError, RecursionError) as error:
        raise InputError(
            f"Conversation {number} of {file} is not as {product.name} exports it: {first_line(error)}."
        ) from error


@contextmanager
def _unpacked(file: Path) -> Iterator[Iterator[IO[bytes]]]:
    """The bytes of the conversations, in UTF-8: of the file, or of those in a ZIP, one after the other."""
    if not zipfile.is_zipfile(file):
        with file.open("rb") as content:
            yield iter([in_utf8(file, content)])
        return
    with zipfile.ZipFile(file) as packed:
        names = sorted(name for name in packed.namelist() if _CONVERSATIONS.fullmatch(Path(name).name))
        if not names or len({Path(name).parent for name in names}) > 1:
            raise InputError(
                f"{file} holds {len(names)} files of conversations: expected those of one export. Unpack it, and give "
                "one."
            )
        for info in map(packed.getinfo, names):
            if info.file_size > _MAX_RATIO * max(info.compress_size, _SAMPLE):
                raise InputError(f"{file} is more than {_MAX_RATIO} times larger unpacked: unpack it first.")
        yield (_packed(file, packed, name) for name in names)


def _packed(file: Path, packed: zipfile.ZipFile, name: str) -> IO[bytes]:
    with packed.open(name) as content:
        return in_utf8(file, content)


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
            for found in _alone(content):
                yield from _inside(found)
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


def _alone(content: IO[bytes]) -> list[Record]:
    """The records of a file that is an object, or lines of objects: conversations, messages, or lines of a chat."""
    whole = content.read()
    try:
        found = json.loads(whole)
    except ValueError:
        lines = json_lines(whole)
        if all(isinstance(line, dict) and product_of(line) for line in lines):
            return lines
        return [{"messages": lines} if _is_message(lines[0]) else {"lines": lines}]
    return [found] if isinstance(found, dict) else []


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
