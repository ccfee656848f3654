"""The export file: JSONL, a header in the first line, then threads, messages and summaries, one a line.

A line is an object whose `kind` says what it is. Times are ISO 8601. The version in the header grows when an older
everthread could not read the file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, NoReturn

from langchain_core.messages import messages_from_dict
from psycopg.rows import DictRow
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ..state.errors import InputError
from ..state.messages import clean, message_text
from ..state.records import Role, now

FORMAT: Final = "everthread"
VERSION: Final = 1

_INT: Final = 2**31 - 1
_BIGINT: Final = 2**63 - 1


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Counts(_Line):
    """How many of each kind there are."""

    threads: int = Field(0, ge=0)
    messages: int = Field(0, ge=0)
    summaries: int = Field(0, ge=0)


class Header(_Line):
    """The first line: what the file is, whose it was, and how many lines of each kind follow."""

    kind: Literal["header"] = "header"
    format: Literal["everthread"] = "everthread"
    version: Literal[1] = 1
    created_at: AwareDatetime = Field(default_factory=now)
    user: str
    counts: Counts


class ThreadLine(_Line):
    """A thread. Its line stands before those that name it."""

    kind: Literal["thread"]
    id: str = Field(min_length=1)
    name: str | None
    created_at: AwareDatetime


class MessageLine(_Line):
    """A message: `message` is the whole LangChain message, the rest is what the archive knows of it."""

    kind: Literal["message"]
    thread: str
    id: str = Field(min_length=1)
    seq: int = Field(ge=1, le=_BIGINT)
    role: Role
    name: str | None
    created_at: AwareDatetime
    active: bool
    chunk_id: int | None = Field(ge=1, le=_INT)
    tokens: int = Field(ge=0, le=_INT)
    message: dict[str, Any]

    def text(self) -> str:
        """The readable text of the message.

        Raises:
            ValueError: `message` is no LangChain message. Also KeyError, TypeError, and others that its parts raise.
        """
        (message,) = messages_from_dict([self.message])
        return message_text(message)


class SummaryLine(_Line):
    """A summary and what it was made from."""

    kind: Literal["summary"]
    thread: str
    id: str = Field(min_length=1)
    level: int = Field(ge=0, le=_INT)
    content: str
    source_ids: list[str] = Field(min_length=1)
    method: Literal["model", "extractive"]
    model: str | None
    tokens: int = Field(ge=0, le=_INT)
    covers: int = Field(0, ge=0, le=_INT)
    rejected: str | None = None
    active: bool
    created_at: AwareDatetime


Body = ThreadLine | MessageLine | SummaryLine
_BODY: Final[TypeAdapter[Body]] = TypeAdapter(Annotated[Body, Field(discriminator="kind")])


class Checked(NamedTuple):
    """What a whole file holds: its header, and its threads by their ids."""

    header: Header
    threads: dict[str, ThreadLine]


def header_line(user: str, counts: Counts) -> str:
    """The first line of a file that is written now."""
    return Header(user=user, counts=counts).model_dump_json() + "\n"


def row_line(row: DictRow) -> str:
    """The line of a row whose columns are the fields of its kind."""
    return json.dumps(row, ensure_ascii=False, default=datetime.isoformat) + "\n"


def check_file(file: Path) -> Checked:
    """Read a whole file, and refuse it if any line cannot be imported (blocking).

    Raises:
        InputError: the file cannot be read, has another version, is cut off, or a line is wrong: the text has the
            line's number and what was expected.
    """
    header = read_header(file)
    threads: dict[str, ThreadLine] = {}
    last_seq: dict[str, int] = {}
    found: Counter[str] = Counter()
    for number, line in read_body(file):
        found[line.kind] += 1
        if isinstance(line, ThreadLine):
            threads[line.id] = line
        elif line.thread not in threads:
            _refuse(file, number, f"expected a thread that has its own line above, found {line.thread!r}")
        if isinstance(line, MessageLine):
            if line.seq <= last_seq.get(line.thread, 0):
                _refuse(file, number, "expected a 'seq' larger than that of the message before it in its thread")
            last_seq[line.thread] = line.seq
            _check_message(file, number, line)
    counts = Counts(threads=found["thread"], messages=found["message"], summaries=found["summary"])
    if counts != header.counts:
        raise InputError(
            f"{file} holds {_words(counts)} where its header announces {_words(header.counts)}: it was cut off or "
            "changed; export it again, or correct the counts in its first line."
        )
    return Checked(header, threads)


def read_header(file: Path) -> Header:
    """The first line of a file (blocking); errors as for `check_file`."""
    for number, value in _objects(file):
        if value.get("format") != FORMAT:
            _refuse(file, number, f'expected a header with "format": "{FORMAT}", as `everthread export` writes it')
        if value.get("version") != VERSION:
            raise InputError(
                f"{file} has version {value.get('version')!r} of the format, and this everthread reads version "
                f"{VERSION}: import it with the everthread that wrote it or a newer one."
            )
        try:
            return Header.model_validate(value)
        except ValidationError as error:
            _refuse(file, number, _expected(error))
    raise InputError(f"{file} is empty: expected a file that `everthread export` wrote.")


def read_body(file: Path) -> Iterator[tuple[int, Body]]:
    """The lines after the header with their numbers, which count from 1 (blocking); errors as for `check_file`."""
    for place, (number, value) in enumerate(_objects(file)):
        if place == 0:
            continue
        try:
            yield number, _BODY.validate_python(value)
        except ValidationError as error:
            _refuse(file, number, _expected(error))


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


def _check_message(file: Path, number: int, line: MessageLine) -> None:
    try:
        line.text()
    except Exception as error:  # whatever LangChain raises, the line cannot be used
        if isinstance(error, InputError):
            raise
        _refuse(file, number, "expected 'message' to be a LangChain message with 'type' and 'data'")


def _refuse(file: Path, number: int, expected: str) -> NoReturn:
    raise InputError(f"Line {number} of {file} cannot be imported: {expected}.") from None


def _expected(error: ValidationError) -> str:
    """The first problem of a line, without the values in it."""
    first = error.errors(include_url=False, include_input=False)[0]
    # The first place is the kind that chose the model.
    place = ".".join(map(str, first["loc"][1:] or first["loc"]))
    message = first["msg"][:1].lower() + first["msg"][1:]
    if first["type"] in {"union_tag_not_found", "union_tag_invalid"}:
        return "expected 'kind' to be thread, message or summary"
    if first["type"] == "extra_forbidden":
        return f"expected no field {place!r}"
    return f"expected a value for {place!r}" if first["type"] == "missing" else f"expected another {place!r}: {message}"


def _words(counts: Counts) -> str:
    return f"{counts.threads} threads, {counts.messages} messages and {counts.summaries} summaries"
