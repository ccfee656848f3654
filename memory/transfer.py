"""Export and import of a user's threads, messages and summaries, in batches, so that memory use does not grow.

Vectors do not travel: they are made anew from what is imported. Nor do checkpoints: an imported thread is remembered
and can be gone on with, but its live chain starts empty.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

from psycopg.rows import DictRow

from ..state.errors import InputError, ThreadOwnershipError
from ..state.threads import thread_id
from .database import Database
from .keywords import message_terms
from .transfer_format import (
    Checked,
    Counts,
    MessageLine,
    SummaryLine,
    ThreadLine,
    header_line,
    read_body,
    row_line,
)
from .user_rows import Snapshot, UserRows

BATCH_ROWS: Final = 500
"""Lines that are imported in one transaction, at most."""

_BATCH_CHARACTERS: Final = 4_000_000

_COUNTS = """
SELECT (SELECT count(*) FROM threads
        WHERE user_id = %(user_id)s AND (%(ids)s::text[] IS NULL OR thread_id = ANY(%(ids)s))) AS threads,
       (SELECT count(*) FROM messages
        WHERE user_id = %(user_id)s AND (%(ids)s::text[] IS NULL OR thread_id = ANY(%(ids)s))) AS messages,
       (SELECT count(*) FROM summaries
        WHERE user_id = %(user_id)s AND (%(ids)s::text[] IS NULL OR thread_id = ANY(%(ids)s))) AS summaries
"""
_THREADS = """
SELECT 'thread' AS kind, thread_id AS id, name, created_at FROM threads
WHERE user_id = %(user_id)s AND (%(ids)s::text[] IS NULL OR thread_id = ANY(%(ids)s)) ORDER BY thread_id
"""
_MESSAGES = """
SELECT 'message' AS kind, thread_id AS thread, id, seq, role, name, created_at, active, chunk_id, tokens, message
FROM messages
WHERE user_id = %(user_id)s AND (%(ids)s::text[] IS NULL OR thread_id = ANY(%(ids)s)) ORDER BY thread_id, seq
"""
_SUMMARIES = """
SELECT 'summary' AS kind, thread_id AS thread, id, level, content, source_ids, method, model, tokens, covers, rejected,
       active, created_at
FROM summaries
WHERE user_id = %(user_id)s AND (%(ids)s::text[] IS NULL OR thread_id = ANY(%(ids)s))
ORDER BY thread_id, created_at, id
"""
_NOT_MINE = "SELECT thread_id FROM threads WHERE thread_id = ANY(%(ids)s) AND user_id <> %(user_id)s LIMIT 1"
_ADD_THREADS = """
INSERT INTO threads (thread_id, user_id, name, created_at)
SELECT new.id, %(user_id)s, new.name, new.created_at
FROM jsonb_to_recordset(%(rows)s::jsonb) AS new(id text, name text, created_at timestamptz)
ON CONFLICT (thread_id) DO UPDATE SET name = excluded.name
WHERE threads.user_id = excluded.user_id AND threads.name IS NULL AND excluded.name IS NOT NULL
"""
_LOCK_THREADS = """
SELECT pg_advisory_xact_lock(hashtextextended(%(user_id)s || chr(31) || id, 0)) FROM unnest(%(ids)s::text[]) AS id
"""
_MARK_MESSAGES = """
UPDATE messages AS old SET active = false, chunk_id = coalesce(old.chunk_id, new.chunk_id)
FROM jsonb_to_recordset(%(rows)s::jsonb) AS new(thread_id text, id text, active boolean, chunk_id int)
WHERE old.user_id = %(user_id)s AND old.thread_id = new.thread_id AND old.id = new.id AND old.active AND NOT new.active
"""
# A message keeps its place, unless another one has it: then those of the batch go to the end of their thread.
_ADD_MESSAGES = r"""
WITH new AS (
    SELECT * FROM jsonb_to_recordset(%(rows)s::jsonb) AS line(
        thread_id text, id text, seq bigint, role text, name text, text text, message jsonb, tokens int,
        active boolean, chunk_id int, created_at timestamptz, terms jsonb)
    WHERE NOT EXISTS (SELECT FROM messages AS old WHERE old.user_id = %(user_id)s
                      AND old.thread_id = line.thread_id AND old.id = line.id)
), moved AS (
    SELECT new.thread_id, (SELECT max(seq) FROM messages AS old WHERE old.user_id = %(user_id)s
                           AND old.thread_id = new.thread_id) AS last
    FROM new JOIN messages AS taken ON taken.user_id = %(user_id)s AND taken.thread_id = new.thread_id
                                    AND taken.seq = new.seq
    GROUP BY new.thread_id
)
INSERT INTO messages (user_id, thread_id, id, seq, role, name, text, message, tokens, active, chunk_id, created_at,
                      embedded_with, terms)
SELECT %(user_id)s, thread_id, id,
       coalesce(last + row_number() OVER (PARTITION BY thread_id ORDER BY seq), seq),
       role, name, text, message, tokens, active, chunk_id, created_at,
       CASE WHEN role IN ('user', 'assistant') AND text ~ '\S' THEN NULL ELSE '' END,
       ARRAY(SELECT jsonb_array_elements_text(terms))
FROM new LEFT JOIN moved USING (thread_id)
ON CONFLICT (user_id, thread_id, id) DO NOTHING
RETURNING embedded_with IS NULL AS pending
"""
_MARK_SUMMARIES = """
UPDATE summaries AS old SET active = false
FROM jsonb_to_recordset(%(rows)s::jsonb) AS new(thread_id text, id text, active boolean)
WHERE old.user_id = %(user_id)s AND old.thread_id = new.thread_id AND old.id = new.id AND old.active AND NOT new.active
"""
_ADD_SUMMARIES = """
INSERT INTO summaries (user_id, thread_id, id, level, content, source_ids, method, model, tokens, covers, rejected,
                       active, created_at)
SELECT %(user_id)s, new.thread_id, new.id, new.level, new.content, new.source_ids, new.method, new.model, new.tokens,
       new.covers, new.rejected, new.active, new.created_at
FROM jsonb_to_recordset(%(rows)s::jsonb) AS new(
    thread_id text, id text, level int, content text, source_ids text[], method text, model text, tokens int,
    covers int, rejected text, active boolean, created_at timestamptz)
ON CONFLICT (user_id, thread_id, id) DO NOTHING
RETURNING true AS pending
"""


class Added(NamedTuple):
    """What one batch of an import did: lines read, those of them that were new, those still to be embedded."""

    lines: int
    messages: int = 0
    summaries: int = 0
    pending: int = 0


async def export_rows(
    database: Database, user_id: str, file: Path, *, thread: str | None = None, written: Callable[[int, int], None]
) -> Counts:
    """Write all that the archive holds of a user, or of one thread, as it is at this moment.

    The file appears when it is complete; before, it is `FILE.part`. Only its owner may read it.

    Args:
        database: where the rows are.
        user_id: whose.
        file: where they go; a file that is there is replaced.
        thread: the name or the id of the only thread that is wanted.
        written: is told the number of lines written, and of those there are.

    Raises:
        InputError: the user has no such thread, or the file cannot be written.
        StorageError: the database fails.
    """
    ids = None if thread is None else [thread_id(thread, user_id), thread]
    part = file.with_name(f"{file.name}.part")

    async def work(rows: Snapshot) -> Counts:
        async for batch in rows.batches(_COUNTS, ids=ids):
            counts = Counts(**batch[0])
        if thread is not None and not counts.threads:
            raise InputError(f"There is no thread {thread!r}: `everthread threads` lists yours.")
        output = await asyncio.to_thread(_create, part)
        try:
            await asyncio.to_thread(output.write, header_line(user_id, counts))
            await _write_all(rows, output, ids, lambda done: written(done, sum(counts.model_dump().values())))
        finally:
            await asyncio.to_thread(output.close)
        await asyncio.to_thread(part.replace, file)
        return counts

    try:
        return await UserRows(database, user_id).snapshot(work)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}. Choose another place.") from None


async def _write_all(rows: Snapshot, output: TextIO, ids: list[str] | None, written: Callable[[int], None]) -> None:
    done = 0
    for query in (_THREADS, _MESSAGES, _SUMMARIES):
        async for batch in rows.batches(query, ids=ids):
            await asyncio.to_thread(_write, output, batch)
            done += len(batch)
            written(done)


def _create(part: Path) -> TextIO:
    return open(part, "w", encoding="utf-8", newline="\n", opener=lambda path, flags: os.open(path, flags, 0o600))


def _write(output: TextIO, rows: Sequence[DictRow]) -> None:
    output.writelines(map(row_line, rows))


async def import_rows(
    database: Database, user_id: str, file: Path, checked: Checked, *, added: Callable[[Added], None]
) -> Counts:
    """Store what a file holds for a user; returns how many threads there were, and how many of the rest were new.

    What the archive has already stays as it is, but for what was summarized since. A thread whose id was made from its
    name and its user gets the id that the same name has for this user.

    Args:
        database: where the rows go.
        user_id: whose they become.
        file: what `export_rows` wrote.
        checked: what `check_file` found in it.
        added: is told of each batch.

    Raises:
        ThreadOwnershipError: a thread belongs to another user; nothing was imported.
        InputError: the file has changed meanwhile.
        StorageError: the database fails; what was imported before stays.
    """
    rows = UserRows(database, user_id)
    names = {old: _new_id(thread, checked.header.user, user_id) for old, thread in checked.threads.items()}
    await _own_all(rows, names, list(checked.threads.values()), added)
    batches = _batches(file, names)
    messages = summaries = 0
    try:
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            result = await _add(rows, *batch)
            messages, summaries = messages + result.messages, summaries + result.summaries
            added(result)
    finally:
        await asyncio.to_thread(batches.close)
    return Counts(threads=len(names), messages=messages, summaries=summaries)


def _new_id(thread: ThreadLine, old_user: str, new_user: str) -> str:
    named = thread.name is not None and thread.id == thread_id(thread.name, old_user)
    return thread_id(str(thread.name), new_user) if named else thread.id


async def _own_all(
    rows: UserRows, names: dict[str, str], threads: list[ThreadLine], added: Callable[[Added], None]
) -> None:
    ids = list(names.values())
    parts = range(0, len(ids), BATCH_ROWS)
    for start in parts:
        _refuse_foreign(await rows.fetch(_NOT_MINE, ids=ids[start : start + BATCH_ROWS]))
    for start in parts:
        part = threads[start : start + BATCH_ROWS]
        new = [{"id": names[thread.id], "name": thread.name, "created_at": str(thread.created_at)} for thread in part]
        values = {"ids": [thread["id"] for thread in new], "rows": json.dumps(new)}
        _refuse_foreign(await rows.transaction((_ADD_THREADS, values), (_NOT_MINE, values)))
        added(Added(len(part)))


def _refuse_foreign(found: list[DictRow]) -> None:
    if found:
        raise ThreadOwnershipError(
            f"Thread {found[0]['thread_id']!r} belongs to another user: import the file for that user, or into "
            "another database."
        )


async def _add(rows: UserRows, kind: str, count: int, ids: list[str], lines: str) -> Added:
    values = {"ids": ids, "rows": lines}
    mark, add = (_MARK_MESSAGES, _ADD_MESSAGES) if kind == "message" else (_MARK_SUMMARIES, _ADD_SUMMARIES)
    new = await rows.transaction((_LOCK_THREADS, values), (mark, values), (add, values))
    pending = sum(row["pending"] for row in new)
    if kind == "message":
        return Added(count, messages=len(new), pending=pending)
    return Added(count, summaries=len(new), pending=pending)


def _batches(file: Path, names: dict[str, str]) -> Generator[tuple[str, int, list[str], str], None, None]:
    """Messages and summaries in batches of one kind: the kind, how many, their threads, their rows as JSON."""
    rows: list[str] = []
    ids: set[str] = set()
    kind, size = "", 0
    for number, line in read_body(file):
        if isinstance(line, ThreadLine):
            continue
        if line.thread not in names:
            raise InputError(f"Line {number} of {file} has changed during the import: import the file again.")
        if rows and (line.kind != kind or len(rows) == BATCH_ROWS or size > _BATCH_CHARACTERS):
            yield kind, len(rows), sorted(ids), f"[{','.join(rows)}]"
            rows, ids, size = [], set(), 0
        kind = line.kind
        rows.append(json.dumps(_row(line, names[line.thread])))
        ids.add(names[line.thread])
        size += len(rows[-1])
    if rows:
        yield kind, len(rows), sorted(ids), f"[{','.join(rows)}]"


def _row(line: MessageLine | SummaryLine, thread: str) -> dict[str, Any]:
    """The columns of a line; times as ISO 8601."""
    row = {**line.model_dump(exclude={"kind", "thread"}), "thread_id": thread, "created_at": str(line.created_at)}
    if isinstance(line, SummaryLine):
        return row
    text = line.text()
    return {**row, "text": text, "terms": message_terms(text, line.created_at)}
