"""Asking engines: in order of preference, several at once if so wanted, with failover and back-off, to one deadline.

While another engine can be asked, nothing is waited for. Only when none is left are those asked again that refused for
now, after a back-off or as long as they said, if that ends before the deadline.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
from collections.abc import Sequence
from math import ceil
from typing import Final, Protocol

from ..state.errors import SearchError, SearchFault
from ..state.search_records import EngineFailure, SearchResult
from .breaker import Breaker
from .cleaning import clean_results
from .engines import SearchEngine

_log = logging.getLogger(__name__)

_ATTEMPTS: Final[dict[SearchFault, int]] = {"rate limit": 3, "server": 2, "unreachable": 2}
"""How often an engine is asked in one search, by what went wrong, where that may be gone after a moment."""
_BACK_OFF: Final = 0.5
"""Seconds before the second attempt; twice as many before the third."""


class ResultCache(Protocol):
    """Where results are kept for a while."""

    async def get(self, key: Sequence[str], seconds: float) -> list[SearchResult] | None:
        """What was kept under this key in the last `seconds`. Never raises."""

    async def put(self, key: Sequence[str], results: Sequence[SearchResult], seconds: float) -> None:
        """Keep results under this key for `seconds`. Never raises."""


class EngineCalls:
    """An engine in one search: how often it was asked, what it found, and what went wrong last."""

    def __init__(self, engine: SearchEngine, breaker: Breaker) -> None:
        self.engine = engine
        self.breaker = breaker
        self.attempts = 0
        self.admitted = False
        self.error: SearchError | None = None
        self.found: list[SearchResult] | None = None
        self.from_cache = False

    def failure(self) -> EngineFailure | None:
        """Why it brought nothing, if that is so."""
        if self.error is None or self.found:
            return None
        problem = _part_of_sentence(self.engine.name, self.error)
        return EngineFailure(engine=self.engine.name, kind=self.error.kind, problem=problem, attempts=self.attempts)

    def settle(self) -> None:
        """Tell the breaker how it ended."""
        if not self.admitted:
            return
        self.admitted = False
        if self.found is not None or (self.error is not None and self.error.kind == "nothing"):
            self.breaker.succeeded()
        elif self.error is not None:
            self.breaker.failed(self.error)
        else:
            self.breaker.given_up()


class Failover:
    """One search over several engines.

    Args:
        query: as it leaves.
        limit: results wanted of each engine.
        seconds: the deadline, from now.
        language: the language of the results, as a code of two letters.
        cache: where results are kept, and for how many seconds.
    """

    def __init__(
        self,
        query: str,
        limit: int,
        seconds: float,
        *,
        language: str | None = None,
        cache: ResultCache | None = None,
        cache_seconds: float = 0,
    ) -> None:
        self._query = query
        self._limit = limit
        self._language = language
        self._cache = cache if cache_seconds > 0 else None
        self._cache_seconds = cache_seconds
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + seconds

    @property
    def _left(self) -> float:
        return self._deadline - self._loop.time()

    async def ask(self, engines: Sequence[EngineCalls], wanted: int) -> None:
        """Ask engines until `wanted` of them found something, none is left, or the time is over; tells the breakers."""
        fresh, again = list(engines), list[tuple[float, EngineCalls]]()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(wanted):
                    group.create_task(self._until_found(fresh, again, wanted))
        finally:
            for calls in engines:
                calls.settle()

    async def _until_found(self, fresh: list[EngineCalls], again: list[tuple[float, EngineCalls]], wanted: int) -> None:
        """Ask one engine after another until one finds something; each may use an equal share of the time that is left.

        Args:
            fresh: engines that were not asked yet; those of `wanted` such searches share them.
            again: engines that are to be asked again, and when.
            wanted: how many search at once.
        """
        while fresh or again:
            if fresh:
                seconds = self._left / ceil(len(fresh) / wanted)
                calls = fresh.pop(0)
            else:
                again.remove(earliest := min(again, key=lambda entry: entry[0]))
                moment, calls = earliest
                await asyncio.sleep(max(0.0, moment - self._loop.time()))
                seconds = self._left
            await self._attempt(calls, seconds)
            if calls.found:
                return
            if (next_moment := self._next_attempt(calls)) is not None:
                again.append((next_moment, calls))

    def _next_attempt(self, calls: EngineCalls) -> float | None:
        """When an engine is to be asked again, if it is."""
        error = calls.error
        if error is None or not calls.admitted or calls.attempts >= _ATTEMPTS.get(error.kind, 1):
            return None
        pause = _BACK_OFF * 2 ** (calls.attempts - 1) * random.uniform(0.8, 1.2)  # noqa: S311  # no secret
        moment = self._loop.time() + max(pause, error.retry_after or 0.0)
        return moment if moment < self._deadline else None

    async def _attempt(self, calls: EngineCalls, seconds: float) -> None:
        """Ask an engine once; what it found or what went wrong is in the calls then."""
        name = calls.engine.name
        try:
            if not calls.attempts and await self._from_cache(calls):
                return
            self._admit(calls, seconds)
            async with asyncio.timeout(seconds):
                raw = await calls.engine.search(self._query, self._limit, seconds, **self._more(calls.engine))
            calls.found = await asyncio.to_thread(clean_results, raw, self._limit, self._query)
        except TimeoutError:
            calls.error = SearchError(f"{name} did not answer within {seconds:.3g} s.", "timeout")
        except SearchError as error:
            calls.error = error
        except Exception as error:
            calls.error = SearchError(f"{name} failed ({type(error).__name__}).")
        else:
            calls.error = None if calls.found else SearchError(f"{name} found nothing.", "nothing")
            if calls.found and self._cache is not None:
                await self._cache.put(self._key(calls.engine), calls.found, self._cache_seconds)
        if calls.error is not None:
            _log.warning("Web search: %s.", _part_of_sentence(name, calls.error).replace(self._query, "[query]"))

    def _admit(self, calls: EngineCalls, seconds: float) -> None:
        """Count an attempt.

        Raises:
            SearchError: the engine's breaker is open, or there is no time.
        """
        name = calls.engine.name
        if seconds <= 0:
            raise SearchError(f"no time was left for {name}.", "timeout")
        if not calls.admitted and not calls.breaker.admits():
            rest = ceil(calls.breaker.seconds_left)
            raise SearchError(f"{name} is left alone for {rest} s, because it failed several times.", "unavailable")
        calls.admitted = True
        calls.attempts += 1

    async def _from_cache(self, calls: EngineCalls) -> bool:
        if self._cache is None:
            return False
        calls.found = await self._cache.get(self._key(calls.engine), self._cache_seconds)
        calls.from_cache = bool(calls.found)
        return calls.from_cache

    def _key(self, engine: SearchEngine) -> list[str]:
        variant = getattr(engine, "variant", "")
        return [engine.name, str(variant), self._language or "", str(self._limit), self._query]

    def _more(self, engine: SearchEngine) -> dict[str, str]:
        """The language, for an engine that takes one."""
        takes_it = self._language and "language" in inspect.signature(engine.search).parameters
        return {"language": self._language} if takes_it and self._language else {}


def _part_of_sentence(name: str, error: SearchError) -> str:
    """A failure as part of a sentence that names the engine."""
    text = str(error).rstrip(".")
    return text if name in text else f"{name}: {text}"
