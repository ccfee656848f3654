"""`SearchCache`: what web search engines found for one user, kept for a while for all processes."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from typing import Final

from psycopg.types.json import Jsonb
from pydantic import TypeAdapter, ValidationError

from ..state.errors import StorageError
from ..state.search_records import SearchResult
from ..text.fold import plain
from .user_rows import UserRows

_log = logging.getLogger(__name__)

MAX_ENTRIES: Final = 500
"""Entries kept of a user: about 2 MB."""
_SECONDS: Final = 1.0
"""How long the cache may keep a turn waiting."""
_RESULTS: Final = TypeAdapter(list[SearchResult])


class SearchCache:
    """Results of one user by engine and query: nobody can tell by them what others searched for.

    A failure of the database is logged, and costs nothing but the cache.

    Args:
        rows: the user's.
        max_entries: the user's oldest beyond this number go.
    """

    def __init__(self, rows: UserRows, max_entries: int = MAX_ENTRIES) -> None:
        self._rows = rows
        self._max_entries = max_entries

    async def get(self, key: Sequence[str], seconds: float) -> list[SearchResult] | None:
        """What was put under this key in the last `seconds`; None without it, or without the database."""
        try:
            async with asyncio.timeout(_SECONDS):
                rows = await self._rows.fetch("search_cache.get", key=self._digest(key), seconds=seconds)
            return _RESULTS.validate_python(rows[0]["results"]) if rows else None
        except (StorageError, TimeoutError, ValidationError) as error:
            _log.warning("The cache of web results cannot be read: %s.", type(error).__name__)
            return None

    async def put(self, key: Sequence[str], results: Sequence[SearchResult], seconds: float) -> None:
        """Keep results under this key; what is older than `seconds` goes, whosever it is."""
        value = Jsonb(_RESULTS.dump_python(list(results), mode="json"))
        try:
            async with asyncio.timeout(_SECONDS):
                await self._rows.transaction(
                    ("search_cache.put", {"key": self._digest(key), "results": value}),
                    ("search_cache.prune", {"seconds": seconds, "kept": self._max_entries - 1}),
                )
        except (StorageError, TimeoutError) as error:
            _log.warning("Web results cannot be put into the cache: %s.", type(error).__name__)

    def _digest(self, key: Sequence[str]) -> bytes:
        """The hash of user and key; case, width and white space of the key make no difference."""
        parts = [self._rows.user_id, *map(plain, key)]
        return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).digest()
