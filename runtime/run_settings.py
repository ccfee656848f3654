"""Which settings a run has: those of its context, or those that it finds beside a context of another application.

A run of our own graph is given settings as its context. In a graph of one's own, and for an agent that has a context of
its own, the context is whatever that application uses: ours are under its key or attribute `everthread`, else under the
key `everthread` of `configurable`. A `user_id` there counts as well, as other memories for LangGraph have it, and must
be a text that is not empty, as in our context: a number that was ignored would share one memory among all users.

Under a LangGraph server all that came with a run is its client's, whichever graph that runs: it is held to what the
operator allows clients. What a node of one's own graph passes to ours as its context is the program's.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from cachetools import LRUCache
from langchain_core.runnables import RunnableConfig

from ..settings.client import KEY, limited
from ..settings.run_context import RunContext
from ..settings.settings import Settings
from ..state.errors import SettingsError

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MOST_KEPT: Final = 256
"""Settings that are kept made, at most."""


NO_IDENTITY: Final = "The server's authentication gave no identity: expected a non-empty text that says who it is."

_ALIKE: Final = 0.85
"""How alike a name must be to one of ours to be taken for it, misspelt; from 0 to 1."""

_OF_OTHERS: Final = ("__", "langgraph_", "checkpoint_", "thread_")
"""How names in a `configurable` begin that LangGraph and its server put there."""

_TOLD: Final[set[str]] = set()
"""Names in `configurable` of which was warned."""

PASSED_KEY: Final = "__everthread_passed"
"""Says in a `configurable`, with `PASSED`, that a program passed the context to the graph, and no client."""

PASSED: Final = object()

Layer = Settings | RunContext | Mapping[str, Any]
"""What is laid over the base."""


class Given(NamedTuple):
    """What a run was given.

    Attributes:
        settings: laid over the base.
        own: a context that is not ours, for a responder or tools; None where there is none.
        configured: how many of the settings stand in `configurable`; they come first.
    """

    settings: tuple[Layer, ...]
    own: Any = None
    configured: int = 0


class LayeredSettings:
    """The settings of each run, laid over a base. Made once for the same values: that takes milliseconds.

    Args:
        base: the settings of the process.
    """

    def __init__(self, base: Settings) -> None:
        self._base = base
        self._made = LRUCache[Hashable, Any](_MOST_KEPT)
        self._lock = Lock()
        self._newest: tuple[Any, int, Settings] = (None, 0, base)
        """The settings or the context that a run was given last, and what it makes: each node asks."""

    def settings_of(self, runtime: Runtime[Any], config: RunnableConfig | None) -> Settings:
        """What a run was given laid over the base, and the authenticated user over both.

        Raises:
            SettingsError: a value is not allowed, a name is unknown, or the context does not agree with the base.
        """
        user_id = authenticated_user(runtime)
        found, _, configured = given(runtime.context, config)
        if runtime.server_info is not None:
            found, configured = _without_claims(found, configured, is_known=user_id is not None)
        sent = 0  # of the layers, how many a client has sent
        if runtime.server_info is not None:
            sent = configured if _is_passed(config) else len(found)
        newest, newest_sent, settings = self._newest
        if len(found) != 1 or found[0] is not newest or sent != newest_sent:
            layers = [layer if isinstance(layer, (Settings, RunContext)) else self.read(layer) for layer in found]
            layers[:sent] = map(self._limited, layers[:sent])
            key = tuple((type(layer), *layer.chosen.items()) for layer in layers)
            settings = self._kept(key, lambda: self._laid_over(layers)) if layers else self._base
            if len(found) == 1 and not isinstance(found[0], Mapping):
                self._newest = (found[0], sent, settings)
        return settings if user_id is None else settings.model_copy(update={"user_id": user_id})

    def read(self, values: Mapping[str, Any]) -> RunContext:
        """What a mapping chooses for a run.

        Raises:
            SettingsError: a value is not allowed, or a name is unknown or the operator's.
        """
        return self._kept(("given", *values.items()), lambda: RunContext(**values))

    def _limited(self, layer: Settings | RunContext) -> Settings | RunContext:
        """What a layer chooses, as a client may choose it; whose turn it is is no setting."""
        chosen = layer.chosen
        if chosen.keys() <= {"user_id"}:
            return layer
        return self._kept(("limited", *chosen.items()), lambda: limited(RunContext(**chosen), self._base))

    def _laid_over(self, layers: Sequence[Settings | RunContext]) -> Settings:
        settings = self._base
        for layer in layers:
            settings = layer.over(settings)
        return settings

    def _kept(self, key: Hashable, make: Callable[[], T]) -> T:
        try:
            with self._lock:
                known: T | None = self._made.get(key)
        except TypeError:  # a list among the values
            return make()
        if known is None:
            known = make()
            with self._lock:
                self._made[key] = known
        return known


class _OwnContext:
    """A context of another application, instead of our settings."""

    def __init__(self, value: Any) -> None:
        self.value = value


def as_context(context: Any) -> Any:
    """The context as our graph takes it: LangGraph would make a mapping with keys of others to settings, and fail."""
    if context is None or isinstance(context, (Settings, RunContext, _OwnContext)):
        return context
    if isinstance(context, Mapping) and KEY not in context:
        return context
    return _OwnContext(context)


def given(context: Any, config: RunnableConfig | None) -> Given:
    """What a run was given by its context and by `configurable`.

    Raises:
        SettingsError: what stands under the key `everthread` is neither settings nor a mapping of them.
    """
    found = _beside((config or {}).get("configurable") or {})
    configured = len(found)
    own = context.value if isinstance(context, _OwnContext) else context
    if isinstance(own, (Settings, RunContext)):
        return Given((*found, own), None, configured)
    if own is None:
        return Given(tuple(found), None, configured)
    return Given((*found, *_beside(own)), own, configured)


def authenticated_user(runtime: Runtime[Any]) -> str | None:
    """Who the server says it is, signed in or not; None where no server knows anybody.

    Raises:
        SettingsError: the server's authentication let somebody in and does not say who it is.
    """
    user = runtime.server_info.user if runtime.server_info is not None else None
    if user is None:
        return None
    if not user.identity and is_authenticated():
        raise SettingsError(NO_IDENTITY)
    return str(user.identity) if user.identity else None


def is_authenticated() -> bool:
    """Whether a LangGraph server runs here that has an authentication of its own."""
    return bool(os.environ.get("LANGGRAPH_AUTH", "").strip("{} "))


def names_user(context: Any, config: RunnableConfig | None) -> bool:
    """Whether a run says whose turn it is."""
    layers = given(context, config).settings
    return any("user_id" in _names_of(layer) and _claimed(layer) != "" for layer in layers)


def check_user(base: Settings, runtime: Runtime[Any], config: RunnableConfig | None) -> None:
    """Refuse a run that names no user, where one must be named.

    Raises:
        SettingsError: it names none.
    """
    if base.require_user and not (authenticated_user(runtime) or names_user(runtime.context, config)):
        raise SettingsError(
            'The run names no user: pass {"user_id": "..."} in the context, or sign in on the server '
            "(EVERTHREAD_REQUIRE_USER is set)."
        )


def warn_of_unread(context: Any, config: RunnableConfig | None) -> None:
    """Warn, once of each, of what stands in `configurable` as if it were read there: settings, also misspelt ones."""
    configurable = dict((config or {}).get("configurable") or {})
    if not configurable.get("user_id"):  # a server without authentication has it empty
        configurable.pop("user_id", None)
    chosen = {name for layer in given(context, config).settings for name in _names_of(layer)}
    for name in configurable.keys() - _TOLD - chosen - {KEY}:
        meant = get_close_matches(name.lower().replace("-", "_"), [*RunContext.model_fields, KEY], n=1, cutoff=_ALIKE)
        if not meant or name.startswith(_OF_OTHERS) or (meant[0] == "user_id" and "user_id" in chosen):
            continue
        _TOLD.add(name)
        is_read_there = meant[0] in {"user_id", KEY}
        known = (
            f"Did you mean {meant[0]!r}?" if is_read_there else f"Settings are in the context, or under {KEY!r} there."
        )
        logger.warning("%r in configurable is not read. %s", name, known)


def _names_of(layer: Layer) -> Iterable[str]:
    return layer if isinstance(layer, Mapping) else layer.model_fields_set


def without_ours(own: Any) -> Any:
    """The context of another application as it is without our key."""
    return {name: value for name, value in own.items() if name != KEY} if isinstance(own, Mapping) else own


def _is_passed(config: RunnableConfig | None) -> bool:
    return ((config or {}).get("configurable") or {}).get(PASSED_KEY) is PASSED


def _beside(holder: Any) -> list[Layer]:
    """Our settings in what is another's: its `user_id`, and what stands under our key."""
    found: list[Layer] = []
    user_id = _value(holder, "user_id")
    if user_id is not None:
        found.append({"user_id": user_id})
    settings = _value(holder, KEY)
    if settings is None:
        return found
    if not isinstance(settings, (Settings, RunContext, Mapping)):
        raise SettingsError(
            f"What stands under {KEY!r} in the context is a {type(settings).__name__}: expected a mapping of settings, "
            'as {"user_id": "ada"}, or a Settings.'
        )
    return [*found, settings]


def _without_claims(found: Sequence[Layer], configured: int, *, is_known: bool) -> tuple[tuple[Layer, ...], int]:
    """What a run on a server was given, without a claim of who it is: where that is known, or where it is empty.

    A server without authentication has an empty one in `configurable`.
    """
    kept = [_claimed(layer) is None or not (is_known or _claimed(layer) == "") for layer in found]
    return tuple(layer for layer, is_kept in zip(found, kept, strict=True) if is_kept), sum(kept[:configured])


def _claimed(layer: Layer) -> Any:
    """The user id of what says nothing else; None for what does."""
    return layer["user_id"] if isinstance(layer, Mapping) and layer.keys() == {"user_id"} else None


def _value(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
