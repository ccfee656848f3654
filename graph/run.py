"""`Run`: what the graph is called with, read and checked before the state of a thread is touched."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from ..models.callbacks import ShownReply
from ..runtime.asked_by_tool import is_asked_by_tool
from ..runtime.requests import Heard
from ..runtime.resources import Resources
from ..runtime.run_settings import PASSED, PASSED_KEY, as_context, check_user, warn_of_unread
from ..runtime.turn import (
    CHAINS_KEY,
    FORGOTTEN_KEY,
    FORK_KEY,
    HEARD_KEY,
    LOOKING_KEY,
    NESTED_KEY,
    SHOWN_KEY,
    THREAD_KEY,
)
from ..state.errors import InputError, SettingsError
from ..state.live_chain import LiveChains
from ..state.messages import check_input, read_input
from ..state.threads import checked_thread_id
from ..storage.sparse_checkpoints import RUN_KEY, RunCheckpoints
from .node import RUNTIME_KEY, runtime_of

_HELD_KEY = "__everthread_held"
"""Names in a `configurable` the thread that a run has, so that a graph inside it does not wait for it."""


class _Held(NamedTuple):
    """The thread of the run around this one. No client can send one: what it sends is plain data."""

    thread_id: str | None


class Run(NamedTuple):
    """One run, read and checked.

    Attributes:
        input: as it was given.
        messages: those of the input; None where it has none of its own.
        config: with what the nodes and the checkpointer need to know.
        options: of LangGraph's `stream`.
        user_id: whose turn it is.
        thread_id: None where the graph runs without one.
        is_nested: whether it is a part of another graph.
        is_to_be_locked: whether the thread is not held by a run around this one.
        is_inside: whether it is part of a turn of everthread, and waits for no admission of its own.
        is_away: whether the storage does not answer, and it goes on from what this process holds.
    """

    input: Any
    messages: list[AnyMessage] | None
    config: RunnableConfig
    options: dict[str, Any]
    user_id: str
    thread_id: str | None
    is_nested: bool
    is_to_be_locked: bool
    is_inside: bool
    is_away: bool = False


def read_run(
    graph: CompiledStateGraph[Any, Any, Any, Any],
    resources: Resources,
    given: Any,
    config: RunnableConfig | None,
    options: Mapping[str, Any],
) -> Run:
    """Read and check what a graph is called with.

    Args:
        graph: the compiled graph.
        resources: those of the graph.
        given: the input.
        config: LangGraph's.
        options: of LangGraph's `stream`.

    Raises:
        InputError: there is no message, or it is empty or cannot be read; or the thread id cannot be used, or a tool of
            the thread asks.
        SettingsError: the context holds a value that is not allowed, or names no user where one must be named.
    """
    messages = _checked(given)
    options = {**options, "context": _as_context(options.get("context"), resources)}
    is_passed = options["context"] is not None
    if graph.checkpointer:
        options |= _durability(resources, options, config)
    config = ensure_config(config)
    configurable = config.get("configurable") or {}
    if "thread_id" not in configurable and isinstance(graph.checkpointer, BaseCheckpointSaver):
        configurable = {**configurable, "thread_id": str(uuid.uuid4())}
    thread_id, is_nested, around = _thread_id(configurable), _is_nested(configurable), configurable.get(_HELD_KEY)
    if is_nested and thread_id is not None and is_asked_by_tool(thread_id):
        raise InputError(
            f"A tool of thread {thread_id!r} asked the graph in the same thread, where its words would stand as the "
            'user\'s: give the graph a thread of its own, {"configurable": {"thread_id": "..."}}.'
        )
    if not is_nested:
        configurable = {name: value for name, value in configurable.items() if name != "checkpoint_ns"}
    is_inside = isinstance(around, _Held)
    is_held = thread_id is not None and isinstance(around, _Held) and around.thread_id == thread_id
    ours: dict[str, Any] = {_HELD_KEY: _Held(thread_id), LOOKING_KEY: False}
    ours |= {} if thread_id is not None else {THREAD_KEY: str(uuid.uuid4())}
    ours |= {FORK_KEY: bool(configurable.get("checkpoint_id")) and not is_nested, NESTED_KEY: is_nested}
    ours[PASSED_KEY] = PASSED if is_nested and is_passed else None
    ours |= {CHAINS_KEY: LiveChains(), FORGOTTEN_KEY: [], HEARD_KEY: Heard(), SHOWN_KEY: ShownReply()}
    own: RunnableConfig = {**config, "configurable": {**configurable, **ours}}
    # A graph around this one hands its context on in its runtime.
    handed_on = getattr(configurable.get(RUNTIME_KEY), "context", None)
    context = handed_on if options["context"] is None else options["context"]
    runtime = runtime_of(context, own)
    if not is_nested:
        warn_of_unread(context, config)
    check_user(resources.settings, runtime, own)
    user_id = resources.runs.settings_of(runtime, own).user_id
    if not (is_nested or _may_stop_between(graph, options)):
        own["configurable"][RUN_KEY] = RunCheckpoints(user_id)
    is_to_be_locked = thread_id is not None and not is_held
    return Run(given, messages, own, options, user_id, thread_id, is_nested, is_to_be_locked, is_inside)


def _is_nested(configurable: Mapping[str, Any]) -> bool:
    """Whether a graph around this one runs it, and not a client that names a namespace of its checkpoints."""
    return bool(configurable.get("checkpoint_ns")) and isinstance(configurable.get(RUNTIME_KEY), Runtime)


def _durability(resources: Resources, options: Mapping[str, Any], config: RunnableConfig | None) -> dict[str, Any]:
    """The operator's durability, where the run names none and is not a part of another graph, which has its own."""
    is_nested = _is_nested((config or {}).get("configurable") or {})
    if is_nested or any(options.get(name) is not None for name in ("durability", "checkpoint_during")):
        return {}
    return {"durability": resources.settings.turns.durability}


def _may_stop_between(graph: CompiledStateGraph[Any, Any, Any, Any], options: Mapping[str, Any]) -> bool:
    """Whether the run stops before or after a node, whichever: then each step must be in a checkpoint."""
    names = ("interrupt_before", "interrupt_after")
    return bool(graph.interrupt_before_nodes or graph.interrupt_after_nodes or any(options.get(name) for name in names))


def _as_context(context: Any, resources: Resources) -> Any:
    """The context, made to settings where it is a mapping of them: LangGraph would build them each time.

    Raises:
        SettingsError: a value in it is not allowed, or it is nothing that can be a context.
    """
    if isinstance(context, (str, bytes, int, float, list, tuple)):
        raise SettingsError(
            f"The context is a {type(context).__name__}: expected a mapping of settings, as "
            '{"user_id": "ada"}, or a Settings.'
        )
    context = as_context(context)
    return resources.runs.read(context) if isinstance(context, Mapping) else context


def _checked(given_input: Any) -> list[AnyMessage] | None:
    """The messages of an input; refuses what cannot be answered."""
    given = given_input.update if isinstance(given_input, Command) else given_input
    if not isinstance(given, Mapping):
        return None
    if not given.get("messages") and not isinstance(given.get("messages"), str):
        if isinstance(given_input, Command):
            return None
        named = f" It names {', '.join(repr(key) for key in given)}." if given else ""
        raise InputError(
            f'The input has no messages.{named} Expected {{"messages": [("user", "...")]}}; None goes on with a '
            "turn that broke off."
        )
    messages = read_input(given["messages"])
    check_input(messages)
    return None if isinstance(given_input, Command) else messages


def _thread_id(configurable: Mapping[str, Any]) -> str | None:
    """The thread of a run; None where none is named.

    Raises:
        InputError: the id cannot be kept as one.
    """
    if "thread_id" not in configurable:
        return None
    return checked_thread_id(configurable["thread_id"])
