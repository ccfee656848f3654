"""The errors everthread raises: each carries one sentence that says what was wrong and what to do.

They derive from `RuntimeError` (or `ValueError`) because the LangGraph server hides the text of other kinds.
"""

from __future__ import annotations

from typing import Any, Literal

SearchFault = Literal[
    "rate limit", "refused", "timeout", "unreachable", "server", "unreadable", "nothing", "unavailable", "failed"
]
"""What kept a search engine from finding something."""


class EverthreadError(RuntimeError):
    """The base of every error that everthread raises on purpose."""


class SettingsError(EverthreadError, ValueError):
    """A setting has a value that is not allowed, or an unknown name."""


class InputError(EverthreadError, ValueError):
    """A message given to the graph cannot be used: empty, or of an unknown role or shape."""


class StorageError(EverthreadError):
    """The database cannot be started, reached, or written to."""


class StorageUnreachable(StorageError):  # noqa: N818  # says which StorageError it is
    """The database does not answer, or has no room: what failed may succeed later."""


class StorageReadOnly(StorageUnreachable):
    """The database takes no writes: a standby, say. What is there can be read."""

    def __init__(self) -> None:
        super().__init__("The database takes no writes for now: is it a standby?")


class StorageFull(StorageUnreachable):
    """The database's disk is full, which does not pass by itself: no turn begins until there is room."""

    def __init__(
        self,
        text: str = "The database's disk is full: nothing of this step was stored, and what was stored before is kept. "
        "Free some space and go on.",
    ) -> None:
        super().__init__(text)


class ThreadOwnershipError(EverthreadError, ValueError):
    """A thread belongs to another user."""


class RightsError(EverthreadError):
    """A user may not do this in a space: the right for it was not given, or was taken."""


class ClaimLostError(EverthreadError):
    """Another process has gone on with a thread while a turn ran in it: what the turn still had to write is refused."""

    def __init__(self, thread_id: str) -> None:
        super().__init__(
            f"Another process has gone on with thread {thread_id!r} while this turn was running: its reply is not "
            "kept. Send the message again."
        )


class ModelError(EverthreadError):
    """A chat model cannot be loaded, or failed to answer.

    `calls` holds the requests that were made for the answer (each a `ModelCall`), the failed ones too.
    """

    calls: tuple[Any, ...] = ()


class OverloadError(EverthreadError):
    """So many turns run and wait in this process that another one would have to wait too long.

    Args:
        text: one sentence.
        retry_after: seconds after which another try is worth it.
    """

    def __init__(self, text: str, retry_after: float) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class EmbeddingError(EverthreadError):
    """An embedding model cannot be loaded, or failed to embed."""


class SearchError(EverthreadError):
    """A web search engine cannot be used, or failed to answer; or a page cannot be fetched.

    Args:
        text: one sentence, without the query.
        kind: what went wrong; a rate limit, a failing server and a lost connection are worth another try.
        retry_after: seconds after which the engine asks to be asked again.
    """

    def __init__(self, text: str, kind: SearchFault = "failed", retry_after: float | None = None) -> None:
        super().__init__(text)
        self.kind: SearchFault = kind
        self.retry_after = retry_after


def first_line(error: BaseException) -> str:
    """The first line of an error's text, without its full stop, as a part of our sentence; else the error's kind."""
    return str(error).strip().split("\n", 1)[0].rstrip(".") or type(error).__name__
