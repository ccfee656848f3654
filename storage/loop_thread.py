"""An event loop in a thread of its own, on which work can be done from any loop and from no loop.

A pool of database connections belongs to the loop that opened it. Keeping it on one loop that lives as long as the
process lets sync callers, several event loops and a server's worker loops share it.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")

_END_SECONDS: Final = 1.0
"""That tasks have at the end of the process to give back what they hold."""


class LoopThread:
    """A daemon thread that runs an event loop; it starts with the first use.

    Args:
        name: the thread's name, as debuggers show it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._start = threading.Lock()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The running loop."""
        if self._loop is None:
            with self._start:
                if self._loop is None:
                    loop = asyncio.new_event_loop()
                    threading.Thread(target=loop.run_forever, name=self._name, daemon=True).start()
                    atexit.register(_end, loop)
                    self._loop = loop
        return self._loop

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work` on this loop without blocking the caller's; cancelling the caller cancels the work."""
        if asyncio.get_running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    def run_sync(self, work: Coroutine[Any, Any, T]) -> T:
        """Block the calling thread until `work` is done on this loop.

        Raises:
            RuntimeError: called from this very loop, which would wait for itself.
        """
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is not None and running is self._loop:
            work.close()
            raise RuntimeError(f"A sync call from inside the loop {self._name!r} would never end: use the async form.")
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def _end(loop: asyncio.AbstractEventLoop) -> None:
    """At the end of the process: cancel what runs there, which would be destroyed with a line for each."""

    async def cancel() -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_END_SECONDS)

    with suppress(TimeoutError):
        asyncio.run_coroutine_threadsafe(cancel(), loop).result(2 * _END_SECONDS)


io_thread = LoopThread("everthread-io")
"""The loop of the database."""

node_thread = LoopThread("everthread-nodes")
"""The loop on which nodes run when the graph is used through `invoke` and `stream`."""


def blocking(method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[S, P], T]:
    """The form of an async method `a...` that blocks the calling thread until it is done."""

    @wraps(method)
    def blocked(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        done: T = node_thread.run_sync(getattr(self, method.__name__)(*args, **kwargs))
        return done

    blocked.__name__, blocked.__doc__ = method.__name__.removeprefix("a"), f"`{method.__name__}`, blocking."
    return blocked
