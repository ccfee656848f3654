"""The graph that a LangGraph server serves: `langgraph.json` names it.

It is compiled without a checkpointer; the server puts the one of `langgraph.json` in its place, on the same database.
"""

from ..runtime.resources import Resources
from ..storage.postgres.checkpointer import shared_database
from .build import ConversationGraph

resources = Resources(shared_database().settings, database=shared_database())
"""What the turns of the server share."""

graph = ConversationGraph(resources).compile(name="everthread")
"""The compiled graph."""
