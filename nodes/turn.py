"""`Turn`: what a node is told beside the state."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from ..state.settings import Settings
from .resources import Resources


class Turn:
    """The settings of this run, whose turn it is, the thread, and the shared resources.

    Args:
        resources: what the nodes share.
        settings: the settings of this run.
        config: LangGraph's config, which carries the callbacks that stream tokens.
    """

    def __init__(self, resources: Resources, settings: Settings, config: RunnableConfig | None = None) -> None:
        self.resources = resources
        self.settings = settings
        self.config: RunnableConfig = config or {}

    @property
    def user_id(self) -> str:
        """Whose turn it is."""
        return self.settings.user_id

    @property
    def thread_id(self) -> str:
        """The thread; "ephemeral" where the graph runs without a thread id."""
        return str(self.config.get("configurable", {}).get("thread_id") or "ephemeral")

    def quiet(self) -> RunnableConfig:
        """A config for calls whose tokens are not the user's to see."""
        return {**self.config, "tags": [*(self.config.get("tags") or []), "nostream"]}
