"""`ConversationState`: what flows through the graph, one channel a key.

The state is bounded: it holds the live chain and this turn's working values, never the history. That is in the
archive.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from langchain_core.messages import AnyMessage
from langgraph.channels import UntrackedValue
from typing_extensions import TypedDict  # pydantic asks for it below Python 3.12, to tell the schemas

from .compression_records import ThreadCompression
from .fact_records import FactSheet
from .messages import add_to_chain
from .records import Recall, Record
from .report_records import Progress, TurnReport, advanced
from .search_records import SearchOutcome
from .turn_records import Context, ContextReport, ReplyReport, Upkeep


class TurnInput(TypedDict):
    """What a turn is given."""

    messages: Annotated[list[AnyMessage], add_to_chain]
    """The new message, mostly one of the user's."""


class ConversationState(TypedDict, total=False):
    """Everything the nodes read and write. All but `messages` and `compression` describe the newest turn."""

    messages: Annotated[list[AnyMessage], add_to_chain]
    """The live chain: recent messages, and summaries where their sources stood. The reply of a turn is its last."""

    compression: ThreadCompression
    """What the commands in the chat have set for this thread."""

    command_answer: Annotated[AnyMessage, UntrackedValue]
    """The graph's own answer to a command, for the stream of messages. Not checkpointed: it stands in `messages`."""

    search: SearchOutcome
    """Whether this turn searches the web, why, and what came of it."""

    recall: Recall
    """What was remembered for this turn."""

    facts: FactSheet
    """What this turn is told about its user."""

    context: Annotated[Context, UntrackedValue]
    """The messages that go to the model. Not checkpointed: they can be assembled again."""

    context_report: ContextReport
    """What the context cost in tokens, by section."""

    reply: ReplyReport
    """Which model answered."""

    upkeep: Upkeep
    """What was archived, embedded and summarized after the reply."""

    progress: Annotated[Progress, advanced]
    """Which turn this is, and how long each node took."""

    report: TurnReport
    """What happened in the newest turn that came to its end, for a person to read."""


Update = dict[str, Any]
"""What a node returns: new values by the keys of `ConversationState`."""

RECORDS: Final[tuple[type[Record], ...]] = tuple(Record.__subclasses__())
"""Every kind of record that a checkpoint may hold; their modules are imported above."""
