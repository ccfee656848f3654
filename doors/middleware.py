"""`Everthread`: memory for an agent that LangChain's `create_agent` makes, as a middleware."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
    hook_config,
)
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import Command
from typing_extensions import Unpack

from ..runtime.asked_by_tool import is_asked_by_tool, running_tool
from ..runtime.components import Components
from ..runtime.left_out import note_refused, without_left_out
from ..runtime.prompt import Asked
from ..runtime.resources import Resources
from ..runtime.run_settings import check_user, warn_of_unread
from ..runtime.turn import LOOKING_KEY, NESTED_KEY, Turn
from ..settings.settings import Settings
from ..state.errors import ThreadOwnershipError
from ..state.threads import checked_thread_id
from ..state.turn_report import question_id
from ..state.update import with_update
from ..storage.loop_thread import blocking, node_thread
from ..storage.open import locks_of
from .memory import ConversationMemory
from .steps import found_for, kept, name, prompt_of, sent_again, with_ids

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

R = TypeVar("R")
ToolResult = ToolMessage | Command[Any]

_KEPT: Final = 256
"""Turns that run at once, at most, of which is remembered what was found for their question."""

_CHECKPOINTER_KEY: Final = "__pregel_checkpointer"
"""Names in LangGraph's `configurable` what keeps the state; None where nothing does."""


class Everthread(AgentMiddleware[AgentState[Any], Any]):
    """An agent's conversation without end: `create_agent(model, tools, middleware=[Everthread()])`.

    Before each call of the model the prompt is assembled within the token budget: instructions, what is known about the
    user, the conversation as far as it fits, summaries in place of the rest, and memories of this and other threads.
    After the agent has answered, what is new is archived, embedded, read for facts and summarized. The `messages` of
    the agent stay the conversation as it was said.

    Thread and user are those of the run: `configurable={"thread_id": ...}` and `context={"user_id": ...}` (or
    `configurable={"user_id": ...}`). A run without a thread id is a thread of its own. A sub-agent that a tool asks in
    the same thread, which it has from LangGraph unless it is given another, is shown what is remembered of the user;
    what it is told and answers is not the conversation, and is not kept but as what the tool gave.

    Args:
        settings: by default the environment's; `system_prompt` is the agent's own.
        **components: see `Components`; `model` writes the summaries, where the settings name no `summary_model`.

    Raises:
        SettingsError: a setting is not allowed, or something is no component.
    """

    def __init__(self, settings: Settings | None = None, **components: Unpack[Components]) -> None:
        super().__init__()
        self.resources = Resources(Settings() if settings is None else settings, **components)
        self.resources.check_embeddings()
        self.resources.locks = locks_of(self.resources.database)
        self._found: OrderedDict[tuple[str, str], ConversationState] = OrderedDict()

    def memory(self, user_id: str) -> ConversationMemory:
        """What is kept of a user.

        Raises:
            StorageError: the user id cannot be stored.
        """
        return ConversationMemory(self.resources, user_id)

    async def aclose(self) -> None:
        """Give the connections back, when what goes on in the background is done or has taken 2 s."""
        await self.resources.close()

    close = blocking(aclose)

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Claim the thread for the user before the model is asked, and recognize what was said already.

        Raises:
            SettingsError: the context holds a value that is not allowed, or names no user where one must be named.
            StorageError: the storage cannot be reached.
            ThreadOwnershipError: the thread belongs to another user.
        """
        return await self._begun(state, runtime, get_config())

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[R]]]
    ) -> ModelResponse[R]:
        """Ask the model with the assembled prompt."""
        return await handler(await self._assembled(request, get_config()))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Run a tool, in which agents that it asks are told from the conversation."""
        with running_tool(_thread_of(get_config())):
            return await handler(request)

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Keep what is new.

        Raises:
            ModelError: the summary model fails, and the settings want no fallback; what was said is kept.
            StorageError: the storage fails; what was said is kept with the next turn.
        """
        turn = self._turn(runtime, get_config())
        self._found.pop(_key(turn, with_ids(state["messages"], turn)), None)
        if turn.only_looks:
            return
        async with self.resources.locks.hold(turn.thread_id):
            await self._keep(state, turn)

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """`abefore_agent`, blocking."""
        return node_thread.run_sync(self._begun(state, runtime, get_config()))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[R]]
    ) -> ModelResponse[R]:
        """`awrap_model_call`, blocking."""
        return handler(node_thread.run_sync(self._assembled(request, get_config())))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """`awrap_tool_call`, blocking."""
        with running_tool(_thread_of(get_config())):
            return handler(request)

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """`aafter_agent`, blocking."""
        turn = self._turn(runtime, get_config())
        self._found.pop(_key(turn, with_ids(state["messages"], turn)), None)
        if turn.only_looks:
            return
        with self.resources.locks.hold_sync(turn.thread_id):
            node_thread.run_sync(self._keep(state, turn))

    async def _begun(
        self, state: AgentState[Any], runtime: Runtime[Any], config: RunnableConfig
    ) -> dict[str, Any] | None:
        turn = self._turn(runtime, config)
        warn_of_unread(runtime.context, config)
        if (config.get("configurable") or {}).get(_CHECKPOINTER_KEY) is None:
            name(state["messages"])
        if turn.only_looks:
            return None
        await self._claim(state, turn)
        return await sent_again(with_ids(state["messages"], turn), turn)

    async def _claim(self, state: AgentState[Any], turn: Turn) -> None:
        try:
            await turn.user.archive.own_thread(turn.thread_id)
        except ThreadOwnershipError:  # the agent's state has it already
            await note_refused(self.resources, turn.thread_id, state["messages"])
            raise

    async def _keep(self, state: AgentState[Any], turn: Turn) -> None:
        messages = [_as_said(message) for message in with_ids(state["messages"], turn)]
        await kept(list(await without_left_out(turn.user, turn.thread_id, messages)), turn)

    async def _assembled(self, request: ModelRequest[Any], config: RunnableConfig) -> ModelRequest[Any]:
        """The request with the assembled prompt in place of the agent's messages."""
        turn = self._turn(request.runtime, config)
        messages = list(await without_left_out(turn.user, turn.thread_id, with_ids(request.messages, turn)))
        key = _key(turn, messages)
        if (state := self._found.get(key)) is None:
            state = self._found[key] = await found_for(messages, turn)
            while len(self._found) > _KEPT:
                self._found.popitem(last=False)
        asked = Asked(request.model, request.tools, request.system_prompt or "")
        prompt = await prompt_of(with_update(state, {"messages": messages}), turn, asked)
        system = prompt[0] if prompt and isinstance(prompt[0], SystemMessage) else None
        return request.override(system_message=system, messages=prompt if system is None else prompt[1:])

    def _turn(self, runtime: Runtime[Any], config: RunnableConfig) -> Turn:
        """The turn that the agent is in; its messages are the agent's."""
        check_user(self.resources.settings, runtime, config)
        settings = self.resources.runs.settings_of(runtime, config)
        thread_id = _thread_of(config) or str((config.get("metadata") or {}).get("run_id") or uuid.uuid4())
        if is_aside := is_asked_by_tool(_thread_of(config)):
            thread_id = f"{thread_id} {str(config['configurable'].get('checkpoint_ns')).rpartition('|')[0]}"
        own = {"thread_id": thread_id, NESTED_KEY: True, LOOKING_KEY: is_aside}
        return Turn(self.resources, settings, {"configurable": own})


def _as_said(message: AnyMessage) -> AnyMessage:
    """The message; what a middleware of LangChain has put in as the user's, such as its summary, is nobody's words."""
    if isinstance(message, HumanMessage) and message.additional_kwargs.get("lc_source"):
        return SystemMessage(message.content, id=message.id, additional_kwargs=message.additional_kwargs)
    return message


def _thread_of(config: RunnableConfig) -> str | None:
    found = (config.get("configurable") or {}).get("thread_id")
    return None if found is None else checked_thread_id(found)


def _key(turn: Turn, messages: list[AnyMessage]) -> tuple[str, str]:
    """What tells a turn from others: its thread, and the question."""
    return turn.thread_id, question_id(cast("list[Any]", messages))
