"""The graph: read it from top to bottom as the diagram is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast, get_type_hints

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict, Unpack

from ..nodes.command import command, is_for_command
from ..nodes.context_assembly import context_assembly
from ..nodes.keyword_check import keyword_check
from ..nodes.memory_retrieval import memory_retrieval
from ..nodes.pairing import pairing
from ..nodes.remember import remember
from ..nodes.slm_router import slm_router
from ..nodes.summarize import no_summary_due, summarize
from ..nodes.tools import tool_tasks
from ..nodes.tools import tools as run_tool
from ..nodes.web_search import web_search
from ..runtime.components import Components
from ..runtime.resources import Resources
from ..runtime.telemetry import watch
from ..runtime.turn import Turn
from ..settings.run_context import RunContext
from ..settings.settings import Settings
from ..state.conversation import ConversationState, TurnInput, TurnOutput
from ..state.errors import SettingsError
from ..state.search_records import SearchOutcome
from ..state.tool_calls import open_calls
from .conversation import Conversation
from .node import CallNode, Edge, Node
from .prepared import llm_call


class ConversationGraph(StateGraph[Any, Any, Any, Any]):
    """The graph, not compiled. What `compile` gives checks each input before the state of the thread is touched.

    Args:
        resources: what the nodes share.

    Raises:
        SettingsError: a key of `state_schema` is one of ours.
    """

    def __init__(self, resources: Resources) -> None:
        state, taken, given = _with_own_keys(resources.state_schema)
        super().__init__(state_schema=state, context_schema=RunContext, input_schema=taken, output_schema=given)
        self.resources = resources
        watch(resources)

        self.add_node("command", Node(command, resources, is_answered))
        self.add_node("keyword_check", Node(keyword_check, resources))
        self.add_node("slm_router", Node(slm_router, resources))
        self.add_node("web_search", Node(web_search, resources))
        self.add_node("memory_retrieval", Node(memory_retrieval, resources))
        self.add_node("pairing", Node(pairing, resources))
        self.add_node("context_assembly", Node(context_assembly, resources), defer=True)
        self.add_node("llm_call", Node(llm_call, resources))
        self.add_node("tools", CallNode(run_tool, resources))
        self.add_node("remember", Node(remember, resources, no_summary_due))
        self.add_node("summarize", Node(summarize, resources, no_summary_due))

        self.add_conditional_edges(
            START,
            Edge(_at_start),
            {
                "a /command": "command",
                "keyword_check": "keyword_check",
                "memory_retrieval": "memory_retrieval",
                "nothing to answer": END,
            },
        )
        self.add_edge("command", END)
        self.add_conditional_edges(
            "keyword_check",
            Edge(after_keywords),
            {"hit": "web_search", "no hit": "slm_router", "no search": "context_assembly"},
        )
        self.add_conditional_edges("slm_router", Edge(after_router), {"yes": "web_search", "no": "context_assembly"})
        self.add_edge("web_search", "context_assembly")
        self.add_edge("memory_retrieval", "pairing")
        self.add_edge("pairing", "context_assembly")
        self.add_edge("context_assembly", "llm_call")
        self.add_conditional_edges(
            "llm_call", Edge(tools_called, resources), {"tool calls": "tools", "answer": "remember"}
        )
        self.add_edge("tools", "llm_call")
        self.add_conditional_edges("remember", Edge(summary_due, resources), {"due": "summarize", "not due": END})
        self.add_conditional_edges("summarize", Edge(summary_due, resources), {"due": "summarize", "not due": END})

    def compile(self, *args: Any, **options: Any) -> Conversation:
        """LangGraph's `compile`, with the same arguments."""
        return Conversation(resources=self.resources, **vars(super().compile(*args, **options)))


def build_graph(settings: Settings | None = None, **components: Unpack[Components]) -> ConversationGraph:
    """The graph, not compiled: for those who embed it or bring their own checkpointer.

    Args:
        settings: the base over which the context of each run is laid; by default the environment's.
        **components: what is given as an object instead of by name in the settings: see `Components`.

    Raises:
        SettingsError: the environment holds a value that is not allowed, or something is no component.
    """
    resources = Resources(Settings() if settings is None else settings, **components)
    resources.check_embeddings()
    return ConversationGraph(resources)


def _with_own_keys(own: type[Any] | None) -> tuple[type[Any], type[Any], type[Any]]:
    """The schemas of state, input and output, with the keys of one's own.

    Raises:
        SettingsError: a key of one's own is one of ours, with another type.
    """
    if own is None:
        return ConversationState, TurnInput, TurnOutput
    ours = get_type_hints(ConversationState, include_extras=True)
    theirs = {name: kind for name, kind in get_type_hints(own, include_extras=True).items() if name != "messages"}
    if taken := next((name for name in theirs if name in ours), None):
        raise SettingsError(f"The key {taken!r} of state_schema is one of everthread's own: choose another name.")
    made = [
        TypedDict(name, {**get_type_hints(kind, include_extras=True), **theirs}, total=False)  # type: ignore[operator]  # made at run time
        for name, kind in (("State", ConversationState), ("Input", TurnInput), ("Output", TurnOutput))
    ]
    return made[0], made[1], made[2]


class _Asked(TypedDict, total=False):
    """What the start of a turn depends on."""

    messages: list[AnyMessage]
    compression: dict[str, Any]


class _Searched(TypedDict):
    """What a web search depends on."""

    search: SearchOutcome


class _Replied(TypedDict, total=False):
    """What tool calls depend on."""

    messages: list[AnyMessage]
    unreadable: Mapping[str, str]


def is_answered(_state: ConversationState, _turn: Turn) -> bool:
    """Whether the turn ends here: after a command it always does."""
    return True


def _at_start(
    state: _Asked,
) -> Literal["a /command", "nothing to answer"] | list[Literal["keyword_check", "memory_retrieval"]]:
    """Where the turn begins: a command is answered at once; else both retrievals run side by side.

    Where the last message is a reply, as when a message comes once more that was answered, there is nothing to do.
    """
    if is_for_command(cast("ConversationState", state)):
        return "a /command"
    messages = state.get("messages") or []
    if not messages or (isinstance(messages[-1], AIMessage) and not open_calls(messages)):
        return "nothing to answer"
    return ["keyword_check", "memory_retrieval"]


def after_keywords(state: _Searched) -> Literal["hit", "no hit", "no search"]:
    """Where the turn goes after the keyword check."""
    needed = state["search"].needed
    if needed is None:
        return "no hit"
    return "hit" if needed else "no search"


def after_router(state: _Searched) -> Literal["yes", "no"]:
    """Where the turn goes after the small model decided."""
    return "yes" if state["search"].needed else "no"


def tools_called(state: _Replied, turn: Turn) -> list[Send] | Literal["answer"]:
    """Where the turn goes after a reply: each call of a tool is a task of its own."""
    tasks = tool_tasks(state["messages"], state.get("unreadable") or {}, turn.settings, turn.resources.toolbox)
    return [Send("tools", task) for task in tasks] or "answer"


def summary_due(state: ConversationState, turn: Turn) -> Literal["due", "not due"]:
    """Where the turn goes after it was remembered, and after each summary."""
    return "not due" if no_summary_due(state, turn) else "due"
