"""Export and import of all that is kept of a user, in batches, so that memory use does not grow.

Vectors do not travel: they are made again from what is imported. Nor do checkpoints: the chain of an imported thread is
made from its summaries, so that it goes on with the same prompt.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

from ..facts.rows import fact_row
from ..state.errors import InputError, StorageError, ThreadOwnershipError
from ..state.threads import former_id, handed_over, may_have, thread_id
from ..storage.term_keys import message_keys
from ..storage.user_rows import Snapshot, UserRows
from ..storage.values import Row
from .transfer_format import Checked, header_line, read_body, refuse_changed, row_line
from .transfer_lines import Counts, DocumentLine, FactLine, MessageLine, PinLine, SummaryLine, ThreadLine, VersionLine

BATCH_ROWS: Final = 500
"""Lines that are imported in one transaction, at most."""

_BATCH_CHARACTERS: Final = 4_000_000
_DAMAGED: Final = "Nothing was exported: {number} rows are damaged. `everthread doctor --repair` mends what it can."


_STATEMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "message": ("transfer.add_messages",),
    "summary": ("transfer.add_summaries",),
    "version": ("transfer.add_versions",),
    "fact": ("transfer.mark_facts", "transfer.add_facts"),
    "pin": ("transfer.mark_pins", "transfer.add_pins"),
    "document": ("transfer.add_documents",),
}


class Added(NamedTuple):
    """What one batch of an import did: its kind, lines read, how many were new, and how many are to be embedded."""

    kind: str
    lines: int
    new: int = 0
    pending: int = 0


async def export_rows(
    rows: UserRows, file: Path, *, thread: str | None = None, written: Callable[[int, int], None]
) -> Counts:
    """Write all that the archive holds of a user, or of one thread, as it is at this moment.

    The file appears when it is complete; before, it is `FILE.part`. Only its owner may read it.

    Args:
        rows: the user's.
        file: where they go; a file that is there is replaced.
        thread: the name or the id of the only thread that is wanted.
        written: called with the number of lines written and the total.

    Raises:
        InputError: the user has no such thread, or the file cannot be written.
        StorageError: the database fails.
    """
    ids = None if thread is None else [thread_id(thread, rows.user_id), former_id(thread, rows.user_id), thread]
    part = file.with_name(f"{file.name}.part")

    async def work(snapshot: Snapshot) -> Counts:
        async for batch in snapshot.batches("transfer.counts", ids=ids):
            counts = Counts(**batch[0])
        if thread is not None and not counts.threads:
            raise InputError(f"There is no thread {thread!r}: `everthread threads` lists yours.")
        output = await asyncio.to_thread(_create, file, part)
        try:
            await asyncio.to_thread(output.write, header_line(rows.user_id, counts))
            await _write_all(snapshot, output, ids, sum(counts.model_dump().values()), written)
            await asyncio.to_thread(output.close)
        except BaseException:
            await asyncio.to_thread(_give_up, output, part)
            raise
        await asyncio.to_thread(part.replace, file)
        return counts

    try:
        return await rows.snapshot(work)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}. Choose another place.") from None


def _give_up(output: TextIO, part: Path) -> None:
    with suppress(OSError):  # where the disk is full, closing fails as writing did
        output.close()
    part.unlink(missing_ok=True)


async def _write_all(
    rows: Snapshot, output: TextIO, ids: list[str] | None, number: int, written: Callable[[int, int], None]
) -> None:
    done = 0
    for query in (
        "transfer.threads",
        "transfer.messages",
        "transfer.summaries",
        "transfer.versions",
        "transfer.facts",
        "transfer.pins",
        "transfer.documents",
    ):
        async for batch in rows.batches(query, ids=ids):
            done += await asyncio.to_thread(_write, output, batch)
            written(done, number)
    if done != number:
        raise StorageError(_DAMAGED.format(number=number - done))


def _create(file: Path, part: Path) -> TextIO:
    if file.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return open(part, "w", encoding="utf-8", newline="\n", opener=lambda path, flags: os.open(path, flags, 0o600))


def _write(output: TextIO, rows: Sequence[Row]) -> int:
    """Write the lines of rows, without those that are damaged; returns how many."""
    lines = [line for line in map(row_line, rows) if line is not None]
    output.writelines(lines)
    return len(lines)


async def import_rows(rows: UserRows, file: Path, checked: Checked, *, added: Callable[[Added], None]) -> Counts:
    """Store what a file holds for a user; returns how many threads it holds, and how many of the rest were new.

    What the archive has already stays as it is, but for facts and pins that were given up since. A thread whose id was
    made from its name and its user gets the id that the same name has for this user.

    Args:
        rows: those of the user whose they become.
        file: what `export_rows` wrote.
        checked: what `check_file` found in it.
        added: called with each batch.

    Raises:
        ThreadOwnershipError: a thread belongs to another user; nothing was imported.
        InputError: the file has changed meanwhile, or a message has the id of another one with another content; what
            stands before it was imported.
        StorageError: the database fails; what was imported before stays.
    """
    names = {old: _new_id(thread, checked.header.user, rows.user_id) for old, thread in checked.threads.items()}
    await _own_all(rows, names, list(checked.threads.values()), added)
    batches = _batches(rows.user_id, file, names)
    new: Counter[str] = Counter()
    try:
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            result, changed = await _add(rows, *batch)
            if changed:
                await asyncio.to_thread(refuse_changed, file, names, changed)
            new[result.kind] += result.new
            added(result)
    finally:
        await asyncio.to_thread(batches.close)
    return Counts(
        threads=len(names), messages=new["message"], summaries=new["summary"], versions=new["version"],
        facts=new["fact"], pins=new["pin"], documents=new["document"],
    )  # fmt: skip


def _new_id(thread: ThreadLine, old_user: str, new_user: str) -> str:
    if new_user == old_user:
        return thread.id
    if thread.name is not None and thread.id == former_id(thread.name, old_user):
        return thread_id(thread.name, new_user)
    return handed_over(thread.id, old_user, new_user)


async def _own_all(
    rows: UserRows, names: dict[str, str], threads: list[ThreadLine], added: Callable[[Added], None]
) -> None:
    ids = list(names.values())
    _refuse_foreign([{"thread_id": id_} for id_ in ids if not may_have(id_, rows.user_id)])
    parts = range(0, len(ids), BATCH_ROWS)
    for start in parts:
        _refuse_foreign(await rows.across("transfer.not_mine", ids=ids[start : start + BATCH_ROWS]))
    for start in parts:
        part = threads[start : start + BATCH_ROWS]
        new = [{**thread.model_dump(mode="json", exclude={"kind"}), "id": names[thread.id]} for thread in part]
        values = {"ids": [thread["id"] for thread in new], "rows": json.dumps(new)}
        _refuse_foreign(await rows.transaction(("transfer.add_threads", values), ("transfer.not_claimed", values)))
        added(Added("thread", len(part)))


def _refuse_foreign(found: list[Row]) -> None:
    if found:
        raise ThreadOwnershipError(
            f"Thread {found[0]['thread_id']!r} belongs to another user: import the file for that user, or into "
            "another database."
        )


async def _add(rows: UserRows, kind: str, count: int, ids: list[str], lines: str) -> tuple[Added, set[tuple[str, str]]]:
    """Store a batch; returns what was done, or the thread and id of messages that would change one already said."""
    values = {"ids": ids, "rows": lines}
    new = await rows.transaction(*((name, values) for name in ("transfer.lock_threads", *_STATEMENTS[kind])))
    changed = {(row["thread_id"], row["changed"]) for row in new if row.get("changed") is not None}
    return Added(kind, count, len(new), sum(row["pending"] for row in new)), changed


def _batches(user_id: str, file: Path, names: dict[str, str]) -> Generator[tuple[str, int, list[str], str], None, None]:
    """What follows the threads, in batches of one kind: the kind, how many, their threads, their rows as JSON."""
    rows: list[str] = []
    ids: set[str] = set()
    kind, size = "", 0
    for number, line in read_body(file):
        if isinstance(line, ThreadLine):
            continue
        thread = "" if isinstance(line, DocumentLine) else names.get(line.thread)
        if thread is None:
            raise InputError(f"Line {number} of {file} has changed during the import: import the file again.")
        if rows and (line.kind != kind or len(rows) == BATCH_ROWS or size > _BATCH_CHARACTERS):
            yield kind, len(rows), sorted(ids), f"[{','.join(rows)}]"
            rows, ids, size = [], set(), 0
        kind = line.kind
        rows.append(json.dumps(_row(user_id, line, thread)))
        ids.add(thread)
        size += len(rows[-1])
    if rows:
        yield kind, len(rows), sorted(ids), f"[{','.join(rows)}]"


def _row(
    user_id: str, line: MessageLine | SummaryLine | VersionLine | FactLine | PinLine | DocumentLine, thread: str
) -> dict[str, Any]:
    """The columns of a line; times as ISO 8601."""
    if isinstance(line, FactLine):
        return fact_row(user_id, line.fact(thread))
    if isinstance(line, PinLine):
        pin = line.model_dump(mode="json", exclude={"kind", "thread", "sort"})
        return {**pin, "kind": line.sort, "thread_id": thread}
    if isinstance(line, DocumentLine):
        return line.model_dump(mode="json", exclude={"kind", "thread"})
    if isinstance(line, VersionLine):
        return {**line.model_dump(mode="json", exclude={"kind", "thread"}), "thread_id": thread}
    row = {**line.model_dump(exclude={"kind", "thread"}), "thread_id": thread, "created_at": str(line.created_at)}
    row["left_at"] = None if line.left_at is None else str(line.left_at)
    if isinstance(line, SummaryLine):
        return row
    row |= {"message": line.kept(), "text": line.text()}
    return {**row, "term_keys": message_keys(user_id, row, line.created_at)}
