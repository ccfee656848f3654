"""`Background`: what is done beside the turns: embedding, reading for facts, and the summaries that a model writes.

A turn does not wait for it, so that the next message can be typed as soon as the answer stands. What is read for facts
the next turn waits for, as far as the step that is under way: so it knows what the one before said.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Final, Literal, get_args

from ..state.errors import EverthreadError
from ..state.observer import Observer
from ..storage.loop_thread import io_thread

logger = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 0.2
"""Before a job begins, so that it does not slow down the rest of the turn that asked for it; nobody waits for that."""

Kind = Literal["embedding", "facts", "summaries"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Step = Callable[[], Awaitable[bool]]
"""Does a part of the work; whether more is left."""


class _Job:
    """Work of one kind for one user, or for one of their threads.

    Attributes:
        asked: how often it was asked for.
        done: how often it had been asked for when the last step that is done began; when the job ends, as `asked`.
        wanted: set when somebody waits.
        changed: tells those who wait of another `done`.
        work: the steps, one after the other.
    """

    work: Future[None]

    def __init__(self) -> None:
        self.asked, self.done = 1, 0
        self.wanted = asyncio.Event()
        self.changed = asyncio.Condition()

    async def until_done(self, asked: int) -> None:
        """Wait for a step that began after it was asked for so often, or for the end of the job."""
        self.wanted.set()
        async with self.changed:
            await self.changed.wait_for(lambda: self.done >= asked)

    async def note(self, done: int) -> None:
        """Tell those who wait."""
        async with self.changed:
            self.done = done
            self.changed.notify_all()


class Background:
    """Jobs that run on the database's loop, one of each kind a user, or a thread.

    Attributes:
        observer: notified of a job that could not be done.
    """

    def __init__(self) -> None:
        self.observer = Observer()
        self._jobs: dict[tuple[Kind, str], _Job] = {}
        self._change = threading.Lock()

    def begin(self, kind: Kind, whose: str, step: Step) -> None:
        """Do `step` until nothing is left. Where such a job runs already, it looks once more for what is to be done.

        Args:
            kind: of the work.
            whose: the user; of work for a thread, a key that has both.
            step: does a part of it.
        """
        with self._change:
            if (running := self._jobs.get((kind, whose))) is not None:
                running.asked += 1
                return
            job = self._jobs[kind, whose] = _Job()
            job.work = asyncio.run_coroutine_threadsafe(self._run(job, kind, whose, step), io_thread.loop)

    def counts(self) -> Counter[Kind]:
        """How many jobs of each kind there are."""
        return Counter(kind for kind, _ in list(self._jobs))

    async def caught_up(self, kind: Kind, whose: str) -> None:
        """Wait until a step was done that began after all that was asked for until now; not for all of a long job."""
        if (job := self._jobs.get((kind, whose))) is not None:
            await io_thread.run(job.until_done(job.asked))

    async def settled(self, timeout: float | None = None) -> None:
        """Wait until nothing is left, for up to this many seconds; what is not done by then goes on."""
        while jobs := list(self._jobs.values()):
            for job in jobs:
                io_thread.loop.call_soon_threadsafe(job.wanted.set)
            _, left = await asyncio.wait([asyncio.wrap_future(job.work) for job in jobs], timeout=timeout)
            if left:
                return

    def cancel(self, kind: Kind | None = None) -> None:
        """End all jobs, or those of a kind; what they have not done yet is left to be done."""
        for (of, _), job in list(self._jobs.items()):
            if kind in {None, of}:
                job.work.cancel()

    async def _run(self, job: _Job, kind: Kind, whose: str, step: Step) -> None:
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(job.wanted.wait(), PAUSE_SECONDS)
            while True:
                asked = job.asked
                more = await step()
                await job.note(asked)
                with self._change:
                    if not more and asked == job.asked:
                        del self._jobs[kind, whose]
                        return
        except Exception as error:  # nobody else would know
            ours = isinstance(error, EverthreadError)
            # The text of any other may quote what was said.
            reason, level = (error, logging.WARNING) if ours else (type(error).__name__, logging.ERROR)
            if not threading.main_thread().is_alive():
                level = logging.DEBUG  # the process ends, and no thread can be had: no fault of the work
            logger.log(level, "Work in the background stopped (%s): %s", kind, reason)
            self.observer.left_undone(kind)
        finally:
            with self._change:
                if self._jobs.get((kind, whose)) is job:
                    del self._jobs[kind, whose]
            await job.note(job.asked)
