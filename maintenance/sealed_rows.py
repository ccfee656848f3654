"""What is sealed, opened: where a text stands in rows and checkpoints of a user that no look at the files can find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from ..storage.encryption import MARK, Cipher
from ..storage.open import checkpointer_of
from ..storage.sealed_columns import SEALED
from ..storage.search_cache import SEALED_AS
from ..storage.user_rows import Snapshot, UserRows

_TABLES: Final = (*SEALED, "summary_versions", "search_cache")


async def in_opened(rows: UserRows, texts: Sequence[str]) -> list[str]:
    """The tables, and the threads' checkpoints, that hold one of these texts once they are opened; one line each.

    Args:
        rows: of a user whose rows are encrypted.
        texts: what is looked for.

    Raises:
        StorageError: the storage fails, or a checkpoint does not open.
    """
    cipher = await rows.storage.keys.of(rows.user_id)
    user = "%(user_id)s" if rows.storage.kind == "postgres" else ":user_id"

    async def look(snapshot: Snapshot) -> list[str]:
        found: list[str] = []
        for table in _TABLES:
            query = f"SELECT * FROM {table} WHERE user_id = {user}"  # noqa: S608  # names of our own tables
            batches = snapshot.batches(query, damaged=True)
            number = sum([_holds(row, texts, cipher) async for batch in batches for row in batch])
            found += [f"table {table}, opened: {number} rows"] if number else []
        return found

    found = await rows.snapshot(look)
    for thread in await rows.fetch("deletion.threads", thread_id=None):
        config: Any = {"configurable": {"thread_id": thread["thread_id"]}}
        states = checkpointer_of(rows.storage).alist(config)
        number = sum([_holds(tuple(state), texts, cipher) async for state in states])
        found += [f"checkpoints of {thread['thread_id']}, opened: {number}"] if number else []
    return found


def _holds(value: Any, texts: Sequence[str], cipher: Cipher | None) -> bool:
    return any(text in held for held in _strings(value, cipher) for text in texts)


def _strings(value: Any, cipher: Cipher | None) -> Iterator[str]:
    """All strings in a value of a row or a state, keys and what is still sealed in it among them."""
    if isinstance(value, str):
        yield value
        if cipher is not None and value.startswith(f"{MARK}{SEALED_AS}."):  # web results, which no statement opens
            yield cipher.open(value, (SEALED_AS,))
    elif isinstance(value, bytes):
        yield value.decode("utf-8", "replace")
    elif isinstance(value, BaseModel):
        yield from _strings(value.model_dump(), cipher)
    elif isinstance(value, Mapping):
        yield from _strings([*value.keys(), *value.values()], cipher)
    elif isinstance(value, Sequence | set | frozenset):
        for one in value:
            yield from _strings(one, cipher)
