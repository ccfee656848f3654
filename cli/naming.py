"""Threads as they are typed: by name or by id."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..state.errors import InputError


@contextmanager
def as_typed(thread_id: str | None, typed: str | None) -> Iterator[None]:
    """Errors name a thread as it was typed, and not by its id."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(repr(thread_id), repr(typed))) from None
