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

from ..state.errors import SearchError
from ..state.search_records import EngineFailure, SearchResult
from .breaker import Breaker, Breakers
from .cleaning import clean_results
from .engines import SearchEngine
from .faults import TEMPORARY

_log = logging.getLogger(__name__)

_ATTEMPTS: Final = {"rate limit": 3, "server": 2, "unreachable": 2}
"""How often an engine is asked in one search, by what went wrong."""
_BACK_OFF: Final = 0.5
"""Seconds before the second attempt; twice as many before the third."""


class ResultCache(Protocol):
    """Where results are kept for a while."""

    async def get(self, key: Sequence[str], seconds: float) -> list[SearchResult] | None:
        """What was kept under this key in the last `seconds`. Never raises."""

    async def put(self, key: Sequence[str], results: Sequence[SearchResult], seconds: float) -> None:
        """Keep results under this key for `seconds`. Never raises."""


class Candidate:
    """An engine in one search: how often it was asked, and what went wrong last."""

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
        problem = part_of_sentence(self.engine.name, self.error)
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


class Hunt:
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

    async def ask(self, candidates: Sequence[Candidate], wanted: int) -> None:
        """Ask engines until `wanted` of them found something, none is left, or the time is over; tells the breakers."""
        fresh = list(candidates)
        again: list[tuple[float, Candidate]] = []
        running: dict[asyncio.Task[None], Candidate] = {}
        try:
            while (missing := wanted - sum(bool(candidate.found) for candidate in candidates)) > 0:
                self._start(fresh, again, running, missing)
                if not running and not again:
                    break
                pause = min((moment for moment, _ in again), default=self._deadline) - self._loop.time()
                if not running:
                    await asyncio.sleep(max(0.0, pause))
                    continue
                # Each attempt ends by itself; what is to be asked again matters only where there is room for it.
                room = len(running) < missing and not fresh and again
                done, _ = await asyncio.wait(
                    running, timeout=max(0.0, pause) if room else None, return_when=asyncio.FIRST_COMPLETED
                )
                for task in done:
                    candidate = running.pop(task)
                    task.result()
                    if (moment := self._next_attempt(candidate)) is not None:
                        again.append((moment, candidate))
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            for candidate in candidates:
                candidate.settle()

    def _start(
        self,
        fresh: list[Candidate],
        again: list[tuple[float, Candidate]],
        running: dict[asyncio.Task[None], Candidate],
        wanted: int,
    ) -> None:
        """Begin with as many engines as are still wanted; those that are to be asked again when their time has come."""
        while len(running) < wanted and fresh:
            # What one may use: an equal share of the time, counted in rounds of as many as run at once.
            left = self._deadline - self._loop.time()
            share = left / ceil(len(fresh) / wanted)
            candidate = fresh.pop(0)
            running[asyncio.create_task(self._attempt(candidate, share))] = candidate
        for moment, candidate in sorted(again, key=lambda entry: entry[0]):
            if len(running) < wanted and not fresh and moment <= self._loop.time():
                again.remove((moment, candidate))
                task = asyncio.create_task(self._attempt(candidate, self._deadline - self._loop.time()))
                running[task] = candidate

    def _next_attempt(self, candidate: Candidate) -> float | None:
        """When an engine is to be asked again, if it is."""
        error = candidate.error
        if candidate.found or error is None or error.kind not in TEMPORARY or not candidate.admitted:
            return None
        if candidate.attempts >= _ATTEMPTS[error.kind]:
            return None
        pause = _BACK_OFF * 2 ** (candidate.attempts - 1) * random.uniform(0.8, 1.2)  # noqa: S311  # no secret
        moment = self._loop.time() + max(pause, error.retry_after or 0.0)
        return moment if moment < self._deadline else None

    async def _attempt(self, candidate: Candidate, seconds: float) -> None:
        """Ask an engine once; what it found or what went wrong is in the candidate then."""
        name = candidate.engine.name
        try:
            if not candidate.attempts and await self._from_cache(candidate):
                return
            self._admit(candidate, seconds)
            async with asyncio.timeout(seconds):
                raw = await candidate.engine.search(self._query, self._limit, seconds, **self._more(candidate.engine))
            candidate.found = await asyncio.to_thread(clean_results, raw, self._limit, self._query)
        except TimeoutError:
            candidate.error = SearchError(f"{name} did not answer within {seconds:.3g} s.", "timeout")
        except SearchError as error:
            candidate.error = error
        except Exception as error:
            candidate.error = SearchError(f"{name} failed ({type(error).__name__}).")
        else:
            candidate.error = None if candidate.found else SearchError(f"{name} found nothing.", "nothing")
            if candidate.found and self._cache is not None:
                await self._cache.put(self._key(candidate.engine), candidate.found, self._cache_seconds)
        if candidate.error is not None:
            _log.warning("Web search: %s.", part_of_sentence(name, candidate.error).replace(self._query, "[query]"))

    def _admit(self, candidate: Candidate, seconds: float) -> None:
        """Count an attempt.

        Raises:
            SearchError: the engine's breaker is open, or there is no time.
        """
        name = candidate.engine.name
        if seconds <= 0:
            raise SearchError(f"no time was left for {name}.", "timeout")
        if not candidate.admitted and not candidate.breaker.admits():
            rest = ceil(candidate.breaker.seconds_left)
            raise SearchError(f"{name} is left alone for {rest} s, because it failed several times.", "unavailable")
        candidate.admitted = True
        candidate.attempts += 1

    async def _from_cache(self, candidate: Candidate) -> bool:
        if self._cache is None:
            return False
        candidate.found = await self._cache.get(self._key(candidate.engine), self._cache_seconds)
        candidate.from_cache = bool(candidate.found)
        return candidate.from_cache

    def _key(self, engine: SearchEngine) -> list[str]:
        variant = getattr(engine, "variant", "")
        return [engine.name, str(variant), self._language or "", str(self._limit), self._query]

    def _more(self, engine: SearchEngine) -> dict[str, str]:
        """The language, for an engine that takes one."""
        takes_it = self._language and "language" in inspect.signature(engine.search).parameters
        return {"language": self._language} if takes_it and self._language else {}


def part_of_sentence(name: str, error: SearchError) -> str:
    """A failure as part of a sentence that names the engine."""
    text = str(error).rstrip(".")
    return text if name in text else f"{name}: {text}"


def new_candidates(engines: Sequence[SearchEngine], breakers: Breakers) -> list[Candidate]:
    """The engines at the start of a search."""
    return [Candidate(engine, breakers.of(engine.name)) for engine in engines]
