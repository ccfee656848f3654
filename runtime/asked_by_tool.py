"""Whether an agent is asked by a tool that runs in the very thread: what it is told is then not said by the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_THREADS: Final = ContextVar[frozenset[str]]("everthread_threads_of_tools", default=frozenset())


@contextmanager
def running_tool(thread_id: str | None) -> Iterator[None]:
    """While a tool of this thread runs, or of a run that has none: LangGraph hands the thread on to agents inside."""
    token = _THREADS.set(_THREADS.get() | {thread_id or ""})
    try:
        yield
    finally:
        _THREADS.reset(token)


def is_asked_by_tool(thread_id: str | None) -> bool:
    """Whether a tool of this thread runs what asks."""
    return (thread_id or "") in _THREADS.get()
