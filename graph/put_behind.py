"""A turn whose thread went on without it is put behind what was said there meanwhile: nothing is said twice, or lost.

Two turns need it: one whose claim was lost while it ran, as its process stood still say, and one that went on while the
storage did not answer. What it said goes behind the newest state there is, and the end of a turn is done on that:
archive, chain, report.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Final

from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import BinaryOperatorAggregate
from langgraph.graph import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite, StateUpdate

from ..runtime.resources import Resources
from ..runtime.turn import CHAINS_KEY, FORK_KEY
from ..state.conversation import ConversationState
from ..state.errors import StorageError
from ..state.live_chain import LiveChains
from ..state.report_records import Progress, TurnReport
from ..state.tool_calls import ends_with_reply
from ..storage.sparse_checkpoints import RUN_KEY, RunCheckpoints
from .recognition import ANSWERING
from .run import Run

logger = logging.getLogger(__name__)

Compiled = CompiledStateGraph[Any, Any, Any, Any]

_KEPT: Final = frozenset({*ConversationState.__annotations__} - {"responder_state", "structured_response"})
"""Channels that the end of a turn makes, or that a command has set."""


def said_in(run: Run) -> list[AnyMessage]:
    """The messages that a run has brought: its question, and what answers it. None where these are not the end of the
    conversation that it began with: where it goes on from an earlier state, removes or edits something."""
    checkpoints: RunCheckpoints | None = run.config["configurable"].get(RUN_KEY)
    if checkpoints is None or run.config["configurable"].get(FORK_KEY):
        return []
    said = checkpoints.said
    new = {message.id for message in said}
    given = run.messages or []
    if any(isinstance(message, RemoveMessage) or (message.id and message.id not in new) for message in given):
        return []
    return said


def going_on(run: Run) -> RunnableConfig:
    """The config of the run as that of one that goes on from the newest state, to which nobody listens."""
    own = {name: value for name, value in run.config["configurable"].items() if name not in {RUN_KEY, "checkpoint_id"}}
    return {**run.config, "callbacks": None, "configurable": {**own, CHAINS_KEY: LiveChains()}}


async def put_behind(
    graph: Compiled, resources: Resources, run: Run, said: Sequence[AnyMessage], own: Mapping[str, Any]
) -> AsyncIterator[Any]:
    """Put what a run said behind the newest state of its thread, which is held; the parts of the stream that it wanted.

    Args:
        graph: the compiled graph.
        resources: those of the graph.
        run: whose messages they are.
        said: the messages, the reply the last.
        own: other channels that the run has set.

    Raises:
        StorageError: the thread is gone, or the storage fails.
    """
    config, thread_id = going_on(run), str(run.thread_id)
    snapshot = await Compiled.aget_state(graph, config)
    there: list[AnyMessage] = snapshot.values.get("messages") or []
    if not there:
        raise StorageError(f"The thread {thread_id!r} was deleted before what was said in it could be written.")
    known = {message.id for message in there}
    new = [message for message in said if message.id not in known]
    if new and _is_answered(said[0], there):  # it was sent again meanwhile, to another process say
        return
    if new and snapshot.tasks and isinstance(there[-1], HumanMessage) and there[-1].id != said[0].id:
        # Another turn has not come to its reply: its question stays the last, so that it can be resumed.
        update = {"messages": Overwrite([*there[:-1], *new, there[-1]]), **own}
        await Compiled.abulk_update_state(graph, config, [[StateUpdate(update, START)]])
        return
    archived = await resources.of_user(run.user_id).archive.known_ids(thread_id, [str(m.id) for m in said])
    if not (new or own) and len(archived) == len(said):
        return
    await Compiled.abulk_update_state(graph, config, [[StateUpdate({"messages": new, **own}, ANSWERING)]])
    config["configurable"][RUN_KEY] = run.config["configurable"][RUN_KEY].following()
    async for part in Compiled.astream(graph, None, config, **run.options):
        yield part


def _is_answered(question: AnyMessage, there: Sequence[AnyMessage]) -> bool:
    """Whether a reply follows a question."""
    ids = [message.id for message in there]
    if not isinstance(question, HumanMessage) or question.id not in ids:
        return False
    after = takewhile(lambda message: not isinstance(message, HumanMessage), there[ids.index(question.id) + 1 :])
    return ends_with_reply(list(after))


def write_later(graph: Compiled, resources: Resources, run: Run, *, shown: Sequence[AnyMessage] = ()) -> None:
    """Have what a run said written when the storage answers, if it could not be written by now.

    Args:
        graph: the compiled graph.
        resources: those of the graph.
        run: which is over.
        shown: what was shown of a reply that was stopped.
    """
    thread_id = str(run.thread_id)
    checkpoints: RunCheckpoints | None = run.config["configurable"].get(RUN_KEY)
    if checkpoints is None or not (run.is_away or resources.database.unwritten.waits(thread_id)):
        return
    said = [*checkpoints.said, *shown]
    if ends_with_reply(said):
        write = partial(_write, graph, resources, run, said, _own(graph, checkpoints) if run.is_away else {})
        resources.away.add(thread_id, write, resources.locks)


async def _write(
    graph: Compiled, resources: Resources, run: Run, said: Sequence[AnyMessage], own: Mapping[str, Any]
) -> None:
    """Write a turn that waited, and its report under the number that it has by now."""
    thread_id, held = str(run.thread_id), resources.database.held
    ahead = held.pop(thread_id)  # from now on the state is that of the storage
    try:
        async for _ in put_behind(graph, resources, run, said, own):
            pass
        await _keep_report(graph, resources, run)
    except BaseException:
        if ahead is not None:
            held.put(thread_id, ahead)
        raise


async def _keep_report(graph: Compiled, resources: Resources, run: Run) -> None:
    newest = run.config["configurable"][RUN_KEY].newest
    report = TurnReport.read(newest.checkpoint["channel_values"].get("report"))
    progress = Progress.read((await Compiled.aget_state(graph, going_on(run))).values.get("progress"))
    if report is not None and progress is not None:
        numbered = report.model_copy(update={"turn": progress.turn})
        await resources.of_user(run.user_id).reports.keep(str(run.thread_id), numbered)


def _own(graph: Compiled, checkpoints: RunCheckpoints) -> dict[str, Any]:
    """What a run has set beside what the end of a turn makes: keys of one's own, the state of a responder."""
    return {
        name: Overwrite(value) if isinstance(graph.channels[name], BinaryOperatorAggregate) else value
        for name, value in checkpoints.changed().items()
        if name in graph.channels and name in graph.builder.channels and name not in _KEPT
    }
