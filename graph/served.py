"""The graph that a LangGraph server serves: `langgraph.json` names it.

It is compiled without a checkpointer; the server puts the one of `langgraph.json` in its place, on the same database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateUpdate
from langgraph_sdk.runtime import ServerRuntime

from ..compression.commands import read_command
from ..runtime.resources import Resources
from ..runtime.run_settings import is_authenticated
from ..settings.client import client_context, client_form, may_choose
from ..settings.operator import NO_COMMANDS
from ..settings.run_context import RunContext
from ..state.errors import EverthreadError, InputError
from ..state.messages import message_text, read_input, role_of
from ..storage.open import locks_of
from ..storage.served import shared_database
from .build import ConversationGraph
from .conversation import Conversation

resources = Resources(shared_database().settings, database=shared_database())
"""What the turns of the server share."""
resources.locks = locks_of(resources.database)


def _as_json(error: EverthreadError) -> dict[str, str]:
    """An error as clients of MCP and A2A hear of it, who are told what stands under `error` alone."""
    return {"error": f"{type(error).__name__}: {error}", "message": str(error)}


# Here alone, where the server asks each error for it: a checkpointer of LangGraph's would take it for a model of ours.
EverthreadError.model_dump = _as_json  # type: ignore[attr-defined]  # which no class of ours has elsewhere


class _ServedConversation(Conversation):
    """The compiled graph as clients of a server may use it.

    Args:
        sent: what a client has chosen for the run.
        **conversation: the attributes of the `Conversation`.
    """

    def __init__(self, *, sent: RunContext | None = None, **conversation: Any) -> None:
        super().__init__(**conversation)
        self.sent = sent

    def get_context_jsonschema(self) -> dict[str, Any]:
        """The form of what a client may choose."""
        return _form

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:  # noqa: A002  # the base class names it so
        """LangGraph's `astream`, with what the client has chosen: the server leaves out what its form does not have.

        Raises:
            InputError: it brings a system message or a command that is not for clients. Else as `Conversation`.
        """
        _refuse_messages(input.update if isinstance(input, Command) else input)
        async for part in super().astream(input, config, **{**options, "context": self.sent}):
            yield part

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """LangGraph's `abulk_update_state`. Errors as for `astream`."""
        for update in (update for superstep in supersteps for update in superstep):
            _refuse_messages(update.values)
        return await super().abulk_update_state(config, supersteps)


def _refuse_messages(given: Any) -> None:
    """Refuse what a client may not send: system messages, which would stand beside the operator's, and commands.

    Raises:
        InputError: there is one, or a message cannot be read.
    """
    base = resources.settings
    may_instruct, may_command = may_choose("system_prompt", base), NO_COMMANDS not in base.client_settings
    if (may_instruct and may_command) or not isinstance(given, Mapping) or not given.get("messages"):
        return
    for message in read_input(given["messages"]):
        if not may_instruct and role_of(message) == "system":
            raise InputError(
                "A system message is not for clients to send: the operator allows it with 'system_prompt' in "
                "EVERTHREAD_CLIENT_SETTINGS."
            )
        if not may_command and read_command(message_text(message)) is not None:
            raise InputError("A command is not for clients to send: the operator has switched commands off.")


_form = client_form(resources.settings, is_authenticated=is_authenticated())
_compiled = _ServedConversation(**vars(ConversationGraph(resources).compile(name="everthread")))


def graph(runtime: ServerRuntime[Any]) -> _ServedConversation:
    """The compiled graph, for one request.

    Raises:
        SettingsError: the context of a run holds what is not for its client to choose.
    """
    execution = runtime.execution_runtime
    context = execution.context if execution is not None else None
    return _compiled.copy({"sent": client_context(context, resources.settings) if context else None})
