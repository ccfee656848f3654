"""`Worker`: one thread that does blocking calls in their order, urgent ones before others."""

from __future__ import annotations

import atexit
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import PriorityQueue
from typing import Any, Final, TypeVar

T = TypeVar("T")

_EXIT_SECONDS: Final = 60


class Worker:
    """One thread that does calls in their order, the urgent ones first. At exit it ends after the call it is at, and
    drops the others."""

    def __init__(self, name: str) -> None:
        self.running: Future[Any] | None = None
        self._name = name
        self._calls: PriorityQueue[tuple[bool, int, Future[Any] | None, Callable[[], Any]]] = PriorityQueue()
        self._number = itertools.count()
        self._start = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ending = False

    def submit(self, call: Callable[[], T], *, is_urgent: bool = False) -> Future[T]:
        """Do the call after those before it, or before those that are not urgent; the future gets what comes of it."""
        future: Future[T] = Future()
        self._calls.put((not is_urgent, next(self._number), future, call))
        with self._start:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
                atexit.register(self._end)
        return future

    def _end(self) -> None:
        """Let the thread finish: one that is killed inside a C++ library takes the whole process down with it."""
        self._ending = True
        self._calls.put((False, -1, None, lambda: None))
        if self._thread is not None:
            self._thread.join(_EXIT_SECONDS)

    def _work(self) -> None:
        while not self._ending:
            *_, future, call = self._calls.get()
            if future is None:
                return
            if future.set_running_or_notify_cancel():
                self.running = future
                try:
                    future.set_result(call())
                except BaseException as error:  # it belongs to whoever waits for the future
                    future.set_exception(error if _can_be_awaited(error) else RuntimeError(type(error).__name__))


def _can_be_awaited(error: BaseException) -> bool:
    """Whether an error reaches who awaits it: SystemExit would end their event loop, StopIteration never arrives."""
    return isinstance(error, Exception) and not isinstance(error, StopIteration)
