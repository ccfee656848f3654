"""A thread is copied: what its owner said in it stands in the archive under the new id as well.

Facts and pins are the user's, not the thread's, and are there already.
"""

from __future__ import annotations

from typing import Any, Final, LiteralString

from .storage import Connection, Storage
from .user_rows import UserRows

_OWNER: Final = "SELECT user_id FROM threads WHERE thread_id = %(source)s"
_COPY: Final[tuple[LiteralString, ...]] = (
    "INSERT INTO threads (thread_id, user_id) VALUES (%(target)s, %(user_id)s) ON CONFLICT (thread_id) DO NOTHING",
    """
INSERT INTO messages (user_id, thread_id, id, seq, role, name, text, message, tokens, created_at,
                      embedded_with, term_keys, facts_read, left_at)
SELECT user_id, %(target)s, id, seq, role, name, text, message, tokens, created_at,
       embedded_with, term_keys, true, left_at
FROM messages WHERE user_id = %(user_id)s AND thread_id = %(source)s
ON CONFLICT (user_id, thread_id, id) DO NOTHING
""",
    """
INSERT INTO summaries (user_id, thread_id, id, level, content, source_ids, method, model, tokens, covers, rejected,
                       version, created_at, embedded_with, tries, left_at)
SELECT user_id, %(target)s, id, level, content, source_ids, method, model, tokens, covers, rejected,
       version, created_at, embedded_with, tries, left_at
FROM summaries WHERE user_id = %(user_id)s AND thread_id = %(source)s
ON CONFLICT (user_id, thread_id, id) DO NOTHING
""",
    """
INSERT INTO summary_versions (user_id, thread_id, id, version, content, method, model, tokens, rejected, replaced_at)
SELECT user_id, %(target)s, id, version, content, method, model, tokens, rejected, replaced_at
FROM summary_versions WHERE user_id = %(user_id)s AND thread_id = %(source)s
ON CONFLICT (user_id, thread_id, id, version) DO NOTHING
""",
    """
INSERT INTO vectors (langchain_id, content, embedding, langchain_metadata, user_id, thread_id, source_type, source_id,
                     role, model, created_at)
SELECT gen_random_uuid(), content, embedding, langchain_metadata, user_id, %(target)s, source_type, source_id,
       role, model, created_at
FROM vectors WHERE user_id = %(user_id)s AND thread_id = %(source)s AND NOT EXISTS (
    SELECT FROM vectors AS there WHERE there.user_id = %(user_id)s AND there.thread_id = %(target)s)
""",
    """
INSERT INTO turn_reports (user_id, thread_id, turn, started_at, report)
SELECT user_id, %(target)s, turn, started_at, report
FROM turn_reports WHERE user_id = %(user_id)s AND thread_id = %(source)s
ON CONFLICT (user_id, thread_id, turn) DO NOTHING
""",
)


async def owner_of(storage: Storage, thread_id: str) -> str | None:
    """Whose thread it is; None where nobody said anything in it.

    Raises:
        StorageError: the storage fails.
    """

    async def work(connection: Connection) -> str | None:
        row: Any = await (await connection.execute(_OWNER, {"source": thread_id})).fetchone()
        return None if row is None else str(row["user_id"])

    return await storage.run(work, one_statement=True)


async def copy_archive(storage: Storage, source: str, target: str) -> None:
    """Copy what the archive has of a thread to another one of the same user. Done twice, it changes nothing.

    Raises:
        StorageError: the storage fails; nothing was copied.
    """
    if (user_id := await owner_of(storage, source)) is None or source == target:
        return
    values = {"source": source, "target": target}
    await UserRows(storage, user_id).transaction(*((query, values) for query in _COPY))
