"""`SearchCache`: what web search engines found for one user, kept for a while for all processes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Sequence
from typing import Final

from pydantic import TypeAdapter, ValidationError

from ..state.errors import StorageError
from ..state.search_records import SearchResult
from ..text.fold import plain
from .encryption import Cipher
from .user_rows import UserRows
from .values import Json

_log = logging.getLogger(__name__)

MAX_ENTRIES: Final = 500
"""Entries kept of a user: about 2 MB."""
_SECONDS: Final = 1.0
"""How long the cache may keep a turn waiting."""
SEALED_AS: Final = "results of the cache"
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
                cipher = await self._rows.storage.keys.of(self._rows.user_id)
                rows = await self._rows.fetch("search_cache.get", key=self._digest(key, cipher), seconds=seconds)
            found = rows[0]["results"] if rows else None
            if isinstance(found, str) and cipher is not None:
                found = json.loads(cipher.open(found, (SEALED_AS,)))
            return _RESULTS.validate_python(found) if found else None
        except (StorageError, TimeoutError, ValidationError) as error:
            _log.warning("The cache of web results cannot be read: %s.", type(error).__name__)
            return None

    async def put(self, key: Sequence[str], results: Sequence[SearchResult], seconds: float) -> None:
        """Keep results under this key; the user's that are older than `seconds` go."""
        value = _RESULTS.dump_python(list(results), mode="json")
        try:
            async with asyncio.timeout(_SECONDS):
                cipher = await self._rows.storage.keys.of(self._rows.user_id)
                sealed = value if cipher is None else cipher.seal(SEALED_AS, json.dumps(value))
                await self._rows.transaction(
                    ("search_cache.put", {"key": self._digest(key, cipher), "results": Json(sealed)}),
                    ("search_cache.prune", {"seconds": seconds, "kept": self._max_entries - 1}),
                )
        except (StorageError, TimeoutError) as error:
            _log.warning("Web results cannot be put into the cache: %s.", type(error).__name__)

    def _digest(self, key: Sequence[str], cipher: Cipher | None) -> bytes:
        """The hash of user and key, keyed where the storage is encrypted; case, width and white space do not count."""
        text = "\x1f".join([self._rows.user_id, *map(plain, key)]).encode("utf-8", "replace")
        return hashlib.sha256(text).digest() if cipher is None else cipher.digest(text, 32)
