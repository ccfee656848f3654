"""The export file: JSONL, a header in the first line, then threads, messages, summaries with
their earlier texts, facts, pins and documents, one a line.

A line is an object whose `kind` says what it is. Times are ISO 8601. The version in the header grows when an older
everthread could not read the file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, NoReturn

from langchain_core.messages import RemoveMessage
from pydantic import Field, TypeAdapter, ValidationError

from ..state.errors import InputError
from ..state.messages import clean, message_text, role_of
from ..storage.values import Row
from .transfer_lines import READABLE, Body, Counts, DocumentLine, FactLine, Header, MessageLine, SummaryLine, ThreadLine

FORMAT: Final = "everthread"
_HEADER_BYTES: Final = 10_000

_KIND_OF: Final = {
    "threads": "thread", "messages": "message", "summaries": "summary", "versions": "version", "facts": "fact",
    "pins": "pin", "documents": "document",
}  # fmt: skip
_Key = tuple[str, str]
"""A thread, and the id of a message or summary in it."""

_BODY: Final[TypeAdapter[Body]] = TypeAdapter(Annotated[Body, Field(discriminator="kind")])


class Checked(NamedTuple):
    """What a whole file holds: its header, and its threads by their ids."""

    header: Header
    threads: dict[str, ThreadLine]


def is_ours(file: Path) -> bool:
    """Whether a file begins as `everthread export` writes it, or cannot be read at all (blocking)."""
    try:
        with file.open("rb") as lines:
            header = json.loads(lines.readline(_HEADER_BYTES).decode("utf-8-sig"))
    except OSError:
        return True
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("kind") == "header"


def header_line(user: str, counts: Counts) -> str:
    """The first line of a file that is written now."""
    return Header(user=user, counts=counts).model_dump_json() + "\n"


def row_line(row: Row) -> str | None:
    """The line of a row whose columns are the fields of its kind; None where it is damaged: no import would take it."""
    try:
        if _wrong(_BODY.validate_python(row)) is None:
            return json.dumps(row, ensure_ascii=False, allow_nan=False, default=datetime.isoformat) + "\n"
    except (ValueError, TypeError, InputError):
        pass
    return None


def check_file(file: Path) -> Checked:
    """Read a whole file, and refuse it if any line cannot be imported (blocking).

    Raises:
        InputError: the file cannot be read, has another version, is cut off, or a line is wrong: the text has the
            line's number and what was expected.
    """
    header = _read_header(file)
    threads: dict[str, ThreadLine] = {}
    last_seq: dict[str, int] = {}
    found: Counter[str] = Counter()
    sources = _Sources()
    for number, line in read_body(file):
        found[line.kind] += 1
        if isinstance(line, ThreadLine):
            threads[line.id] = line
        elif line.thread not in threads and not isinstance(line, DocumentLine):
            _refuse(file, number, f"expected a thread that has its own line above, found {line.thread!r}")
        if isinstance(line, MessageLine):
            if line.seq <= last_seq.get(line.thread, 0):
                _refuse(file, number, "expected a 'seq' larger than that of the message before it in its thread")
            last_seq[line.thread] = line.seq
        if isinstance(line, SummaryLine):
            sources.add_summary(number, line)
        if (wrong := _wrong(line)) is not None:
            _refuse(file, number, wrong)
    if (unfit := sources.first_wrong()) is not None:
        _refuse(file, *unfit)
    counts = Counts(**{name: found[_KIND_OF[name]] for name in Counts.model_fields})
    if counts != header.counts:
        raise InputError(
            f"{file} holds {_words(counts)} where its header announces {_words(header.counts)}: it was cut off or "
            "changed; export it again, or correct the counts in its first line."
        )
    return Checked(header, threads)


def _read_header(file: Path) -> Header:
    """The first line of a file (blocking); errors as for `check_file`."""
    for number, value in _objects(file):
        if value.get("format") != FORMAT:
            _refuse(file, number, f'expected a header with "format": "{FORMAT}", as `everthread export` writes it')
        if value.get("version") not in READABLE:
            raise InputError(
                f"{file} has version {value.get('version')!r} of the format, and this everthread reads versions "
                f"{_listed(map(str, READABLE))}: import it with the everthread that wrote it or a newer one."
            )
        try:
            return Header.model_validate(value)
        except ValidationError as error:
            _refuse(file, number, _expected(error))
    raise InputError(f"{file} is empty: expected a file that `everthread export` wrote.")


def read_body(file: Path) -> Iterator[tuple[int, Body]]:
    """The lines after the header with their numbers, which count from 1 (blocking); errors as for `check_file`."""
    for index, (number, value) in enumerate(_objects(file)):
        if index == 0:
            continue
        try:
            yield number, _BODY.validate_python(value)
        except ValidationError as error:
            _refuse(file, number, _expected(error))


def refuse_changed(file: Path, names: Mapping[str, str], changed: Collection[tuple[str, str]]) -> NoReturn:
    """Refuse the line of a message that would change one already said (blocking).

    Args:
        file: the file.
        names: by a thread's id in the file, its id in the archive.
        changed: thread in the archive and id of such messages.

    Raises:
        InputError: always.
    """
    last: dict[tuple[str, str], int] = {}
    for number, line in read_body(file):
        if isinstance(line, MessageLine) and (key := (names.get(line.thread, ""), line.id)) in changed:
            last[key] = number
    if not last:
        raise InputError(f"{file} has changed during the import: import it again.")
    (_, id_), number = min(last.items(), key=lambda found: found[1])
    _refuse(file, number, f"message {id_!r} is there already with another content: give it another id")


def _objects(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, _parsed(file, number, line)
    except OSError as error:
        raise InputError(
            f"{file} cannot be read: {error.strerror}. Give a file that `everthread export` wrote."
        ) from None


def _parsed(file: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"), parse_constant=_no_constant)
        # Only escapes can bring in what Postgres does not store.
        value = clean(value) if b"\\u" in line else value
    except UnicodeDecodeError as error:
        _refuse(file, number, f"expected UTF-8, found something else at byte {error.start + 1}")
    except json.JSONDecodeError as error:
        _refuse(file, number, f"expected one JSON object, which breaks at character {error.colno}")
    except (ValueError, RecursionError):
        _refuse(file, number, "expected JSON without NaN, Infinity, endless numbers or bottomless nesting")
    if not isinstance(value, dict):
        _refuse(file, number, "expected one JSON object, found another kind of value")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _wrong(line: Body) -> str | None:
    """What is expected of a line of this kind, and is not so; None where it can be imported."""
    if isinstance(line, MessageLine):
        return _wrong_message(line)
    if isinstance(line, FactLine):
        try:
            line.fact(line.thread)
        except ValidationError:
            return "expected 'valid_to' with, and only with, the state superseded or forgotten"
    return None


def _wrong_message(line: MessageLine) -> str | None:
    try:
        said = line.said()
        message_text(said)
    except Exception as error:  # whatever LangChain raises, the line cannot be used
        if isinstance(error, InputError):
            raise
        return "expected 'message' to be a LangChain message with 'type' and 'data'"
    if isinstance(said, RemoveMessage):
        return "expected 'message' to be what was said, found the removal of a message"
    # What is recalled, paired and summarized is named by the line's id and role.
    if said.id != line.id or role_of(said) != line.role:
        return "expected 'message' to have the id and the role of its line"
    return None


def _refuse(file: Path, number: int, expected: str) -> NoReturn:
    raise InputError(f"Line {number} of {file} cannot be imported: {expected}.") from None


def _expected(error: ValidationError) -> str:
    """The first problem of a line, without the values in it."""
    first = error.errors(include_url=False, include_input=False)[0]
    # The first place is the kind that chose the model.
    index = ".".join(map(str, first["loc"][1:] or first["loc"]))
    message = first["msg"][:1].lower() + first["msg"][1:]
    if first["type"] in {"union_tag_not_found", "union_tag_invalid"}:
        return "expected 'kind' to be thread, message, summary, version, fact or pin"
    if first["type"] == "extra_forbidden":
        return f"expected no field {index!r}"
    return f"expected a value for {index!r}" if first["type"] == "missing" else f"expected another {index!r}: {message}"


def _words(counts: Counts) -> str:
    return _listed(f"{count} {name}" for name, count in counts)


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}"


class _Sources:
    """What the summaries of a file say they were made from: it must lead down to what was said.

    That a source is gone is no fault of the file: the doctor names it, before the export and after the import.
    """

    def __init__(self) -> None:
        self._sources: dict[_Key, list[_Key]] = {}
        self._numbers: dict[_Key, int] = {}

    def add_summary(self, number: int, line: SummaryLine) -> None:
        """Take in a summary, which stands in line `number`."""
        key = (line.thread, line.id)
        self._sources.setdefault(key, []).extend((line.thread, id_) for id_ in line.source_ids)
        self._numbers[key] = number

    def first_wrong(self) -> tuple[int, str] | None:
        """The line of the first summary that is made from itself, and what was expected."""
        try:
            TopologicalSorter(self._sources).prepare()
        except CycleError as error:
            return min(self._numbers[key] for key in error.args[1]), "expected a summary that is not made from itself"
        return None
