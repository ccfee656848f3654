"""`encrypt_checkpoints`: checkpoints from before encryption was turned on are sealed, in batches."""

from __future__ import annotations

from typing import Any, Final

from .encryption import Cipher
from .entering import enter
from .queries import for_psycopg
from .sealed_checkpoints import has_open_texts, seal_inline, sealed_value
from .storage import Connection, Storage
from .user_keys import NOBODY
from .values import Json, Row

BATCH_ROWS: Final = 200

_CHECKPOINT: Final = ("thread_id", "checkpoint_ns", "checkpoint_id")
_VALUES: Final[dict[str, dict[str, tuple[str, tuple[str, ...]]]]] = {
    "postgres": {
        "checkpoint_blobs": ("blob", ("thread_id", "checkpoint_ns", "channel", "version")),
        "checkpoint_writes": ("blob", (*_CHECKPOINT, "task_id", "idx")),
    },
    "sqlite": {
        "checkpoints": ("checkpoint", _CHECKPOINT),
        "writes": ("value", (*_CHECKPOINT, "task_id", "idx")),
    },
}
"""By storage and table, the column with a serialized value, and the key."""

_OF_USER: Final = "thread_id IN (SELECT thread_id FROM threads WHERE user_id = :user_id)"
_OF_NOBODY: Final = "thread_id NOT IN (SELECT thread_id FROM threads) AND :user_id = ''"


async def encrypt_checkpoints(database: Storage, cipher: Cipher) -> None:
    """Seal the checkpoints of all threads of the user of a cipher, or of nobody. It may be stopped, and done again.

    Raises:
        StorageError: the database fails; the batches before it are done.
    """
    which = _OF_NOBODY if cipher.user_id == NOBODY else _OF_USER
    kind = "postgres" if database.kind == "postgres" else "sqlite"
    for table, (column, keys) in _VALUES[kind].items():
        select = f"SELECT {', '.join(keys)}, type, {column} AS value FROM {table} WHERE {which}"  # noqa: S608
        select += f" AND type NOT LIKE '%+evt1.%' AND {column} IS NOT NULL LIMIT {BATCH_ROWS}"
        update = f"UPDATE {table} SET type = :type, {column} = :value WHERE {_are(keys)}"  # noqa: S608
        while await _values(database, cipher, _for(kind, select), _for(kind, update)):
            pass
    if kind == "postgres":
        select = f"SELECT {', '.join(_CHECKPOINT)}, checkpoint FROM checkpoints WHERE {which} AND ("  # noqa: S608
        select += f"{', '.join(_CHECKPOINT)}) > (:thread_id, :checkpoint_ns, :checkpoint_id) "
        select += f"ORDER BY {', '.join(_CHECKPOINT)} LIMIT {BATCH_ROWS}"
        update = f"UPDATE checkpoints SET checkpoint = :checkpoint WHERE {_are(_CHECKPOINT)}"  # noqa: S608
        after: dict[str, Any] | None = dict.fromkeys(_CHECKPOINT, "")
        while after is not None:
            after = await _inline(database, cipher, (_for(kind, select), _for(kind, update)), after)


def _are(keys: tuple[str, ...]) -> str:
    return " AND ".join(f"{key} = :{key}" for key in keys)


def _for(kind: str, statement: str) -> str:
    return for_psycopg(statement) if kind == "postgres" else statement


async def _values(database: Storage, cipher: Cipher, select: str, update: str) -> int:
    """Seal the next serialized values; returns how many they were."""

    async def work(connection: Connection) -> int:
        await enter(database, connection, cipher.user_id or None)
        rows = await (await connection.execute(select, {"user_id": cipher.user_id})).fetchall()
        async with connection.pipeline():
            for row in rows:
                type_, value = sealed_value(cipher, row["type"], bytes(row["value"]))
                await connection.execute(update, {**row, "type": type_, "value": value})
        return len(rows)

    return await database.run(work)


async def _inline(
    database: Storage, cipher: Cipher, statements: tuple[str, str], after: dict[str, Any]
) -> dict[str, Any] | None:
    """Seal the texts that stand in the next checkpoints themselves; returns the key of the last."""
    select, update = statements

    async def work(connection: Connection) -> list[Row]:
        await enter(database, connection, cipher.user_id or None)
        rows = await (await connection.execute(select, {**after, "user_id": cipher.user_id})).fetchall()
        async with connection.pipeline():
            for row in rows:
                if has_open_texts(row["checkpoint"]):
                    await connection.execute(
                        update, {**row, "checkpoint": Json(seal_inline(cipher, row["checkpoint"]))}
                    )
        return rows

    rows = await database.run(work)
    return {key: rows[-1][key] for key in _CHECKPOINT} if len(rows) == BATCH_ROWS else None
