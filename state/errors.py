"""The errors everthread raises: each carries one sentence that says what was wrong and what to do.

They derive from `RuntimeError` (or `ValueError`) because the LangGraph server hides the text of other kinds.
"""


class EverthreadError(RuntimeError):
    """The base of every error that everthread raises on purpose."""


class SettingsError(EverthreadError, ValueError):
    """A setting has a value that is not allowed, or an unknown name."""


class InputError(EverthreadError, ValueError):
    """A message given to the graph cannot be used: empty, or of an unknown role or shape."""


class StorageError(EverthreadError):
    """The database cannot be started, reached, or written to."""


class ThreadOwnershipError(EverthreadError):
    """A thread belongs to another user."""


class ModelError(EverthreadError):
    """A chat model cannot be loaded, or failed to answer."""


class EmbeddingError(EverthreadError):
    """An embedding model cannot be loaded, or failed to embed."""


class SearchError(EverthreadError):
    """A web search engine cannot be used, or failed to answer."""
