"""`Components`: what a program gives as objects, instead of what its settings name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypedDict

from ..settings.settings import Settings
from ..state.errors import SettingsError

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable
    from langchain_core.vectorstores import VectorStore

    from ..search.engines import SearchEngine
    from ..storage.encryption import MasterKey
    from .toolbox import Tool


class Components(TypedDict, total=False):
    """The keyword arguments of `open_graph` and `build_graph`; each may be left out.

    Also the type of a dictionary of them: `parts: Components = {"model": model}`, then `open_graph(**parts)`.
    """

    model: BaseChatModel | None
    """A chat model that answers, instead of the one that the settings name."""

    fallbacks: Sequence[BaseChatModel]
    """Chat models that answer where the first fails, before those that the settings name."""

    responder: Runnable[Any, Any] | Callable[..., Any] | None
    """A Runnable, a compiled agent or a function that answers instead of the model."""

    tools: Sequence[Tool]
    """What the model may call: LangChain tools, functions, or schemas of what is run elsewhere."""

    embeddings: Embeddings | str | None
    """An embedding model or its name ("openai:text-embedding-3-small"), instead of the one that the settings name. One
    that cannot be had, for want of a package or a key, is refused at once."""

    vector_store: VectorStore | str | None
    """A LangChain vector store or its import path, instead of our own table."""

    engines: Mapping[str, SearchEngine] | None
    """Search engines by name, beside those that everthread knows."""

    master_key: MasterKey | Callable[[], bytes] | None
    """What wraps the keys of users: an object with `id`, `wrap` and `unwrap` that asks a key management service, or a
    function that returns 32 bytes; instead of the setting `encryption_key`."""

    state_schema: type[Any] | None
    """A TypedDict with keys, and reducers, of your own beside ours: they are part of input, state and output, and
    tools may read and write them."""


def check_names(given: Mapping[str, object]) -> None:
    """Refuse keyword arguments that are no components.

    Raises:
        SettingsError: there is one.
    """
    if unknown := sorted(given.keys() - Components.__annotations__.keys()):
        name, known = unknown[0], list(Components.__annotations__)
        if name in {"checkpointer", "store"}:
            raise SettingsError(
                f"everthread keeps its threads itself, and {name!r} is no component: give one of your own where a "
                f"graph is compiled, build_graph(...).compile({name}=...), or to create_agent(..., {name}=...)."
            )
        if name in Settings.model_fields:
            raise SettingsError(f"{name!r} is a setting, and no component: give Settings({name}=...).")
        close = get_close_matches(name, known, 1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise SettingsError(f"There is no component {name!r}: expected {', '.join(known)}.{meant}")
