"""`SearchCache`: what web search engines found, kept for a while in Postgres for all processes and users."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Sequence
from typing import Any, Final

from psycopg.types.json import Jsonb
from pydantic import TypeAdapter, ValidationError

from ..state.errors import StorageError
from ..state.search_records import SearchResult
from ..text.fold import plain
from .encryption import Cipher
from .storage import Connection, Storage
from .user_keys import NOBODY

_log = logging.getLogger(__name__)

MAX_ENTRIES: Final = 5000
"""Entries kept: about 20 MB."""
_SECONDS: Final = 1.0
"""How long the cache may keep a turn waiting."""
_FIELD: Final = "results of the cache"
_RESULTS: Final = TypeAdapter(list[SearchResult])


class SearchCache:
    """Results by engine and query. A failure of the database is logged, and costs nothing but the cache.

    Args:
        database: where it is kept.
        max_entries: the oldest beyond this number go.
    """

    def __init__(self, database: Storage, max_entries: int = MAX_ENTRIES) -> None:
        self._database = database
        self._max_entries = max_entries

    async def get(self, key: Sequence[str], seconds: float) -> list[SearchResult] | None:
        """What was put under this key in the last `seconds`; None without it, or without the database."""

        try:
            async with asyncio.timeout(_SECONDS):
                cipher = await self._database.keys.of(NOBODY)
                values = {"key": _digest(key, cipher), "seconds": seconds}

                async def work(connection: Connection) -> Any:
                    row = await (
                        await connection.execute(self._database.queries["search_cache.get"], values)
                    ).fetchone()
                    return row["results"] if row else None

                found = await self._database.run(work)
            if isinstance(found, str) and cipher is not None:
                found = json.loads(cipher.open(found, (_FIELD,)))
            return _RESULTS.validate_python(found) if found else None
        except (StorageError, TimeoutError, ValidationError) as error:
            _log.warning("The cache of web results cannot be read: %s.", type(error).__name__)
            return None

    async def put(self, key: Sequence[str], results: Sequence[SearchResult], seconds: float) -> None:
        """Keep results under this key; what is older than `seconds` goes."""
        value = _RESULTS.dump_python(list(results), mode="json")

        try:
            async with asyncio.timeout(_SECONDS):
                cipher = await self._database.keys.of(NOBODY)
                sealed = value if cipher is None else cipher.seal(_FIELD, json.dumps(value))
                values = {"key": _digest(key, cipher), "results": Jsonb(sealed)}

                async def work(connection: Connection) -> None:
                    await connection.execute(self._database.queries["search_cache.put"], values)
                    await connection.execute(
                        self._database.queries["search_cache.prune"],
                        {"seconds": seconds, "kept": self._max_entries - 1},
                    )

                await self._database.run(work)
        except (StorageError, TimeoutError) as error:
            _log.warning("Web results cannot be put into the cache: %s.", type(error).__name__)


def _digest(key: Sequence[str], cipher: Cipher | None) -> bytes:
    """The hash of a key, keyed where the storage is encrypted; case, width and white space make no difference."""
    text = "\x1f".join(map(plain, key)).encode("utf-8", "replace")
    return hashlib.sha256(text).digest() if cipher is None else cipher.digest(text, 32)
