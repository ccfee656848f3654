"""The graph: read it from top to bottom as the diagram is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, get_type_hints

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from ..compression.thread import batch_due, remake_due, settings_in
from ..nodes.command import command, is_for_command
from ..nodes.context_assembly import context_assembly
from ..nodes.keyword_check import keyword_check
from ..nodes.memory_retrieval import memory_retrieval
from ..nodes.pairing import pairing
from ..nodes.remember import remember
from ..nodes.slm_router import slm_router
from ..nodes.summarize import summarize
from ..nodes.tools import tool_tasks
from ..nodes.tools import tools as run_tool
from ..nodes.web_search import web_search
from ..runtime.resources import Resources
from ..runtime.telemetry import watch
from ..runtime.toolbox import Tool
from ..runtime.turn import Turn
from ..search.engines import SearchEngine
from ..settings.run_context import RunContext
from ..settings.settings import Settings
from ..state.conversation import ConversationState, TurnInput, TurnOutput
from ..state.errors import SettingsError
from ..state.tool_calls import open_calls
from .call_node import CallNode
from .conversation import Conversation
from .node import Edge, as_node
from .prepared import llm_call


class ConversationGraph(StateGraph[Any, Any, Any, Any]):
    """The graph, not compiled. What `compile` gives checks each input before the state of the thread is touched."""

    resources: Resources

    def compile(self, *args: Any, **options: Any) -> Conversation:
        """LangGraph's `compile`, with the same arguments."""
        return Conversation.around(super().compile(*args, **options), self.resources)


def build_graph(
    settings: Settings | None = None,
    *,
    model: BaseChatModel | None = None,
    embeddings: Embeddings | None = None,
    engines: Mapping[str, SearchEngine] | None = None,
    vector_store: VectorStore | str | None = None,
    fallbacks: Sequence[BaseChatModel] = (),
    tools: Sequence[Tool] = (),
    responder: Runnable[Any, Any] | Callable[..., Any] | None = None,
    state_schema: type[Any] | None = None,
    resources: Resources | None = None,
) -> ConversationGraph:
    """The graph, not compiled: for those who embed it or bring their own checkpointer.

    Args:
        settings: the base over which the context of each run is laid; by default the environment's.
        model: a chat model that answers, instead of the one that the settings name.
        embeddings: an embedding model, instead of the one that the settings name.
        engines: search engines by name, beside those that everthread knows.
        vector_store: a LangChain vector store (or its import path), instead of our own table.
        fallbacks: chat models that answer where the first fails, before those that the settings name.
        tools: what the model may call: LangChain tools, functions, or schemas of what is run elsewhere.
        responder: a Runnable, a compiled agent or a function that answers instead of the model.
        state_schema: a TypedDict with keys, and reducers, of your own beside ours: they are part of input, state and
            output, and tools may read and write them.
        resources: what the first eight make, already made.

    Raises:
        SettingsError: the environment holds a value that is not allowed, or something is no tool or no responder.
    """
    shared = resources or Resources(
        settings or Settings(),
        model=model,
        embeddings=embeddings,
        engines=engines,
        vector_store=vector_store,
        fallbacks=fallbacks,
        tools=tools,
        responder=responder,
    )
    watch(shared)
    state, taken, given = with_own_keys(state_schema)
    graph = ConversationGraph(state_schema=state, context_schema=RunContext, input_schema=taken, output_schema=given)
    graph.resources = shared

    graph.add_node("command", as_node(command, shared, answered))
    graph.add_node("keyword_check", as_node(keyword_check, shared))
    graph.add_node("slm_router", as_node(slm_router, shared))
    graph.add_node("web_search", as_node(web_search, shared))
    graph.add_node("memory_retrieval", as_node(memory_retrieval, shared))
    graph.add_node("pairing", as_node(pairing, shared))
    graph.add_node("context_assembly", as_node(context_assembly, shared), defer=True)
    graph.add_node("llm_call", as_node(llm_call, shared))
    graph.add_node("tools", CallNode(run_tool, shared))
    graph.add_node("remember", as_node(remember, shared, no_summary_due))
    graph.add_node("summarize", as_node(summarize, shared, no_summary_due))

    graph.add_conditional_edges(
        START,
        Edge(at_start, shared),
        {
            "a /command": "command",
            "keyword_check": "keyword_check",
            "memory_retrieval": "memory_retrieval",
            "nothing to answer": END,
        },
    )
    graph.add_edge("command", END)
    graph.add_conditional_edges(
        "keyword_check",
        Edge(after_keywords, shared),
        {"hit": "web_search", "no hit": "slm_router", "no search": "context_assembly"},
    )
    graph.add_conditional_edges(
        "slm_router", Edge(after_router, shared), {"yes": "web_search", "no": "context_assembly"}
    )
    graph.add_edge("web_search", "context_assembly")
    graph.add_edge("memory_retrieval", "pairing")
    graph.add_edge("pairing", "context_assembly")
    graph.add_edge("context_assembly", "llm_call")
    graph.add_conditional_edges("llm_call", Edge(tools_called, shared), {"tool calls": "tools", "answer": "remember"})
    graph.add_edge("tools", "llm_call")
    graph.add_conditional_edges("remember", Edge(summary_due, shared), {"due": "summarize", "not due": END})
    graph.add_conditional_edges("summarize", Edge(summary_due, shared), {"due": "summarize", "not due": END})
    return graph


def with_own_keys(own: type[Any] | None) -> tuple[type[Any], type[Any], type[Any]]:
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


SUMMARIES_A_TURN: Final = 12
"""Summaries that one turn makes, at most: a long thread that was brought in is caught up with over several turns."""


def no_summary_due(state: ConversationState, turn: Turn) -> bool:
    """Whether the turn ends here: no summary is due, none is to be made again, or the step before failed."""
    upkeep = state.get("upkeep")
    if upkeep is not None and (upkeep.error is not None or len(upkeep.summaries) >= SUMMARIES_A_TURN):
        return True
    chain = turn.live(state).view
    return batch_due(state, chain, settings_in(state, turn.settings)) is None and not remake_due(state, chain)


def answered(_state: ConversationState, _turn: Turn) -> bool:
    """Whether the turn ends here: after a command it always does."""
    return True


def at_start(
    state: ConversationState, _turn: Turn
) -> Literal["a /command", "nothing to answer"] | list[Literal["keyword_check", "memory_retrieval"]]:
    """Where the turn begins: a command is answered at once; else both retrievals run side by side.

    Where the last message is a reply, as when a message comes once more that was answered, there is nothing to do.
    """
    if is_for_command(state):
        return "a /command"
    messages = state.get("messages") or []
    if not messages or (isinstance(messages[-1], AIMessage) and not open_calls(messages)):
        return "nothing to answer"
    return ["keyword_check", "memory_retrieval"]


def after_keywords(state: ConversationState, _turn: Turn) -> Literal["hit", "no hit", "no search"]:
    """Where the turn goes after the keyword check."""
    needed = state["search"].needed
    if needed is None:
        return "no hit"
    return "hit" if needed else "no search"


def after_router(state: ConversationState, _turn: Turn) -> Literal["yes", "no"]:
    """Where the turn goes after the small model decided."""
    return "yes" if state["search"].needed else "no"


def tools_called(state: ConversationState, turn: Turn) -> list[Send] | Literal["answer"]:
    """Where the turn goes after a reply: each call of a tool is a task of its own."""
    tasks = tool_tasks(state["messages"], state.get("unreadable") or {}, turn.settings, turn.resources.toolbox)
    return [Send("tools", task) for task in tasks] or "answer"


def summary_due(state: ConversationState, turn: Turn) -> Literal["due", "not due"]:
    """Where the turn goes after it was remembered, and after each summary."""
    return "not due" if no_summary_due(state, turn) else "due"
