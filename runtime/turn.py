"""`Turn`: what a node is given beside the state."""

from __future__ import annotations

import uuid
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from langchain_core.runnables import RunnableConfig

from ..models.callbacks import heard_by
from ..prompts.system import SYSTEM, SYSTEM_TINY
from ..settings.settings import Settings
from ..state.live_chain import LiveChain, LiveChains
from ..state.update import Update
from ..storage.sparse_checkpoints import RUN_KEY, RunCheckpoints, is_away
from .forget import Found
from .requests import Heard
from .user import User

if TYPE_CHECKING:
    from ..state.conversation import ConversationState
    from ..state.records import Place
    from .resources import Resources

THREAD_KEY = "__everthread_thread"
"""Names in a `configurable` the thread of a run that has no thread id."""


FORK_KEY = "__everthread_fork"
"""Says in a `configurable` that the run names the checkpoint that it goes on from."""


NESTED_KEY = "__everthread_nested"
"""Says in a `configurable` that the run is a part of another graph, whose messages are its own."""

LOOKING_KEY = "__everthread_looking"
"""Says in a `configurable` that the run changes nothing: it claims no thread, and forgets nothing."""

SHOWN_KEY = "__everthread_shown"
"""Names in a `configurable` the `ShownReply` of the run."""

CHAINS_KEY = "__everthread_chains"
"""Names in a `configurable` the `LiveChains` of the run."""

FORGOTTEN_KEY = "__everthread_forgotten"
"""Names in a `configurable` the list of what the run forgets, which a checkpointer of another make is told after it."""

HEARD_KEY = "__everthread_heard"
"""Names in a `configurable` what the run has `Heard`."""


_NEEDED: Final = ("chain_texts", "places")
"""Working values that the prompt of the next turn shows, too."""

_FIGURES: Final = ("search", "recall", "facts", "context_report", "reply")
"""Working values of which the report of the turn is made."""


class Turn:
    """The settings of this run, whose turn it is, the thread, and the shared resources.

    Args:
        resources: what the nodes share.
        settings: the settings of this run.
        config: LangGraph's config, which carries the callbacks that stream tokens.
        own_context: a context of the application that is not ours, for a responder; None where there is none.
    """

    def __init__(
        self,
        resources: Resources,
        settings: Settings,
        config: RunnableConfig | None = None,
        own_context: Any = None,
        user: User | None = None,
    ) -> None:
        self.resources = resources
        self.settings = settings
        self.config: RunnableConfig = config or {}
        self.own_context = own_context
        self._user = user
        self.heard: Heard = self.config.get("configurable", {}).get(HEARD_KEY) or Heard()
        self._chains: LiveChains = self.config.get("configurable", {}).get(CHAINS_KEY) or LiveChains()

    @cached_property
    def user(self) -> User:
        """Whose turn it is.

        Raises:
            StorageError: the user id cannot be stored.
        """
        return self._user or self.resources.of_user(self.settings.user_id)

    @cached_property
    def thread_id(self) -> str:
        """The thread; one of its own where the graph runs without a thread id."""
        configurable = self.config.get("configurable", {})
        return str(configurable.get("thread_id") or configurable.get(THREAD_KEY) or uuid.uuid4())

    def live(self, state: ConversationState) -> LiveChain:
        """The chain of the state that the turn is in."""
        return self._chains.of(state)

    @property
    def places(self) -> dict[str, Place]:
        """By id, where messages stand, as far as the run has looked."""
        return self._chains.places

    @property
    def instructions(self) -> str:
        """The system prompt: the setting's, or everthread's own in the form that suits the model."""
        own = SYSTEM if self.resources.models.has_capable(self.settings) else SYSTEM_TINY
        return self.settings.system_prompt.strip() or own

    @property
    def is_fork(self) -> bool:
        """Whether the run goes on from an earlier checkpoint that it names."""
        return bool(self.config.get("configurable", {}).get(FORK_KEY))

    @property
    def is_nested(self) -> bool:
        """Whether the run is a part of another graph."""
        return bool(self.config.get("configurable", {}).get(NESTED_KEY))

    @property
    def only_looks(self) -> bool:
        """Whether the run shows what a turn would be, and changes nothing."""
        return bool(self.config.get("configurable", {}).get(LOOKING_KEY))

    @property
    def is_away(self) -> bool:
        """Whether the storage did not answer when the turn began: it goes on from what the process holds."""
        return is_away(self.config) if "configurable" in self.config else False

    def hold(self, state: ConversationState) -> None:
        """Hold what the end of this turn needs, and the next one where the storage does not answer."""
        if (run := self._run) is not None:
            run.texts = {name: state[name] for name in _NEEDED if state.get(name) is not None}
            run.figures = {**run.figures, **{name: state[name] for name in _FIGURES if state.get(name) is not None}}

    @property
    def figures(self) -> Update:
        """What the report of the turn is made of, where a run before this one has come to the reply."""
        return {} if self._run is None else dict(self._run.figures)

    @property
    def _run(self) -> RunCheckpoints | None:
        run = self.config.get("configurable", {}).get(RUN_KEY)
        return run if isinstance(run, RunCheckpoints) else None

    def held(self) -> Update:
        """What is held of the turn before."""
        held = self.resources.database.held.of(self.thread_id)
        return dict(held.texts) if held is not None and held.user_id == self.settings.user_id else {}

    @property
    def needed_before(self) -> list[str]:
        """Ids of what the prompt of the turn before needed, where this process made it: most is needed again."""
        return [*self.held().get("chain_texts", ())]

    @property
    def is_claimed(self) -> bool:
        """Whether the thread was claimed for the user before the run began."""
        return self.resources.is_claimed(self.settings.user_id, self.thread_id)

    def shown(self) -> RunnableConfig:
        """A config for calls whose tokens are the user's to see, and are held until the turn ends."""
        listener = self.config.get("configurable", {}).get(SHOWN_KEY)
        return self.config if listener is None else heard_by(listener, self.config)

    def apart(self) -> Turn:
        """The same turn for work that goes on after its run: with its callbacks but those of LangGraph's stream."""
        around = self.config.get("callbacks")
        handlers = getattr(around, "inheritable_handlers", around if isinstance(around, list) else None) or []
        callbacks = [handler for handler in handlers if not type(handler).__module__.startswith("langgraph.")]
        config: RunnableConfig = {"configurable": {"thread_id": self.thread_id}, "callbacks": callbacks}
        return Turn(self.resources, self.settings, config, user=self._user)

    async def note_forgotten(self, found: Found) -> None:
        """What the turn forgets is gone from the storage: what else keeps states is told when the turn is over."""
        self.config.get("configurable", {}).get(FORGOTTEN_KEY, []).append(found)

    def quiet(self) -> RunnableConfig:
        """A config for calls whose tokens are not the user's to see."""
        return {**self.config, "tags": [*(self.config.get("tags") or []), "nostream"]}
