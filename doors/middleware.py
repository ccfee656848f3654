"""`Everthread`: memory for an agent that LangChain's `create_agent` makes, as a middleware."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse, hook_config
from langchain_core.messages import AnyMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime
from typing_extensions import Unpack

from ..runtime.components import Components
from ..runtime.left_out import note_refused, without_left_out
from ..runtime.prompt import Asked
from ..runtime.resources import Resources
from ..runtime.turn import NESTED_KEY, Turn
from ..settings.settings import Settings
from ..state.errors import ThreadOwnershipError
from ..state.turn_report import question_id
from ..state.update import with_update
from ..storage.loop_thread import blocking, node_thread
from ..storage.open import locks_of
from .memory import ConversationMemory
from .steps import found_for, kept, prompt_of, sent_again, with_ids

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

R = TypeVar("R")

_KEPT: Final = 256
"""Turns that run at once, at most, of which is remembered what was found for their question."""


class Everthread(AgentMiddleware[AgentState[Any], Any]):
    """An agent's conversation without end: `create_agent(model, tools, middleware=[Everthread()])`.

    Before each call of the model the prompt is assembled within the token budget: instructions, what is known about the
    user, the conversation as far as it fits, summaries in place of the rest, and memories of this and other threads.
    After the agent has answered, what is new is archived, embedded, read for facts and summarized. The `messages` of
    the agent stay the conversation as it was said.

    Thread and user are those of the run: `configurable={"thread_id": ...}` and `context={"user_id": ...}` (or
    `configurable={"user_id": ...}`). A run without a thread id is a thread of its own.

    Args:
        settings: by default the environment's; `system_prompt` is the agent's own.
        **components: see `Components`; `model` writes the summaries, where the settings name no `summary_model`.

    Raises:
        SettingsError: a setting is not allowed, or something is no component.
    """

    def __init__(self, settings: Settings | None = None, **components: Unpack[Components]) -> None:
        super().__init__()
        self.resources = Resources(Settings() if settings is None else settings, **components)
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
            SettingsError: the context holds a value that is not allowed.
            StorageError: the storage cannot be reached.
            ThreadOwnershipError: the thread belongs to another user.
        """
        turn = self._turn(runtime, get_config())
        await self._claim(state, turn)
        return await sent_again(with_ids(state["messages"], turn), turn)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[R]]]
    ) -> ModelResponse[R]:
        """Ask the model with the assembled prompt."""
        return await handler(await self._assembled(request, get_config()))

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Keep what is new.

        Raises:
            ModelError: the summary model fails, and the settings want no fallback; what was said is kept.
            StorageError: the storage fails; what was said is kept with the next turn.
        """
        turn = self._turn(runtime, get_config())
        self._found.pop(_key(turn, with_ids(state["messages"], turn)), None)
        async with self.resources.locks.hold(turn.thread_id):
            await self._keep(state, turn)

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """`abefore_agent`, blocking."""
        turn = self._turn(runtime, get_config())
        node_thread.run_sync(self._claim(state, turn))
        return node_thread.run_sync(sent_again(with_ids(state["messages"], turn), turn))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[R]]
    ) -> ModelResponse[R]:
        """`awrap_model_call`, blocking."""
        return handler(node_thread.run_sync(self._assembled(request, get_config())))

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """`aafter_agent`, blocking."""
        turn = self._turn(runtime, get_config())
        self._found.pop(_key(turn, with_ids(state["messages"], turn)), None)
        with self.resources.locks.hold_sync(turn.thread_id):
            node_thread.run_sync(self._keep(state, turn))

    async def _claim(self, state: AgentState[Any], turn: Turn) -> None:
        try:
            await turn.user.archive.own_thread(turn.thread_id)
        except ThreadOwnershipError:  # the agent's state has it already
            await note_refused(self.resources, turn.thread_id, state["messages"])
            raise

    async def _keep(self, state: AgentState[Any], turn: Turn) -> None:
        messages = with_ids(state["messages"], turn)
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
        settings = self.resources.runs.settings_of(runtime, config)
        configurable = config.get("configurable") or {}
        thread_id = str(configurable.get("thread_id") or (config.get("metadata") or {}).get("run_id") or uuid.uuid4())
        return Turn(self.resources, settings, {"configurable": {"thread_id": thread_id, NESTED_KEY: True}})


def _key(turn: Turn, messages: list[AnyMessage]) -> tuple[str, str]:
    """What tells a turn from others: its thread, and the question."""
    return turn.thread_id, question_id(cast("list[Any]", messages))
