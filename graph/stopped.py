"""A stopped reply: the client is gone, the user pressed Ctrl-C, the task was cancelled.

What the user has seen of the reply is kept as the reply, marked as stopped, and the turn ends as any other: it is
archived, and has its report. Of a reply of which nothing was shown the question alone stays, to be answered later.
Nothing is kept of a run that a client of the LangGraph server rolls back: the server takes its states back as well.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.types import StateUpdate

from ..models.callbacks import ShownReply
from ..runtime.resources import Resources
from ..runtime.turn import SHOWN_KEY
from ..state.errors import EverthreadError
from ..state.messages import STOPPED_KEY
from ..state.tool_calls import ends_with_reply
from ..storage.loop_thread import node_thread
from ..storage.sparse_checkpoints import RUN_KEY, RunCheckpoints
from .put_behind import Compiled, going_on, write_later
from .recognition import ANSWERING
from .run import Run

logger = logging.getLogger(__name__)

_AFTER_REPLY: Final = frozenset({"remember", "summarize"})
"""Nodes that end a turn whose reply is there."""


@asynccontextmanager
async def kept_when_stopped(graph: Compiled, resources: Resources, run: Run, given: Any) -> AsyncIterator[None]:
    """Stands around a run whose thread is held.

    Args:
        graph: the compiled graph.
        resources: those of the graph.
        run: what may be stopped.
        given: its input, without what was said already.
    """
    try:
        yield
    except (GeneratorExit, asyncio.CancelledError) as stop:
        if not _is_rolled_back(stop):
            await _keep(graph, resources, run, given)
        raise


@contextmanager
def kept_when_stopped_sync(graph: Compiled, resources: Resources, run: Run, given: Any) -> Iterator[None]:
    """`kept_when_stopped` for sync code."""
    try:
        yield
    except (GeneratorExit, KeyboardInterrupt):
        node_thread.run_sync(_keep(graph, resources, run, given))
        raise


def _is_rolled_back(stop: BaseException) -> bool:
    """Whether the LangGraph server says with its cancellation that the run is to be undone (`multitask_strategy`)."""
    return any(type(reason).__name__ == "UserRollback" for reason in stop.args)


async def _keep(graph: Compiled, resources: Resources, run: Run, given: Any) -> None:
    """End a turn that was stopped, with what was shown of its reply. Whoever cancels that as well has to wait."""
    if run.thread_id is None or run.is_nested or graph.checkpointer in {None, False}:
        return
    try:
        await _to_its_end(_end_turn(graph, resources, run, given))
    except Exception as error:  # that the turn was stopped is what the caller hears
        # The text of any other error than ours may quote what was said.
        reason = error if isinstance(error, EverthreadError) else type(error).__name__
        logger.warning("A stopped reply was not kept: %s", reason)


async def _end_turn(graph: Compiled, resources: Resources, run: Run, given: Any) -> None:
    config, shown = going_on(run), run.config["configurable"][SHOWN_KEY]
    began: RunCheckpoints = run.config["configurable"].get(RUN_KEY) or RunCheckpoints(run.user_id)
    if run.is_away:
        said = began.said
        reply = None if ends_with_reply(said) else _reply(shown, said)
        write_later(graph, resources, run, shown=[] if reply is None else [reply])
        return
    snapshot = await Compiled.aget_state(graph, config)
    messages: Sequence[AnyMessage] = snapshot.values.get("messages") or ()
    if not snapshot.tasks or not _is_asked(messages, given):
        return
    if not _AFTER_REPLY.issuperset(snapshot.next):
        known = {message.id for message in messages}
        new = [message for message in began.said if message.id not in known]
        if not ends_with_reply(new):
            reply = _reply(shown, messages)
            if reply is None:
                return
            new = [reply]
        await Compiled.abulk_update_state(graph, config, [[StateUpdate({"messages": new}, ANSWERING)]])
    config["configurable"][RUN_KEY] = began.following()
    async for _ in Compiled.astream(graph, None, config, context=run.options["context"]):
        pass


def _is_asked(messages: Sequence[AnyMessage], given: Any) -> bool:
    """Whether the state has come to the question of the run; one that was stopped at once has left nothing."""
    asked = [m for m in given["messages"] if isinstance(m, HumanMessage)] if isinstance(given, Mapping) else []
    newest = next((m for m in reversed(messages) if isinstance(m, HumanMessage)), None)
    return not asked or (newest is not None and (newest.id == asked[-1].id or newest.content == asked[-1].content))


def _reply(shown: ShownReply, messages: Sequence[AnyMessage]) -> AIMessage | None:
    """What was shown, as a message that is marked; None where that is nothing."""
    if not shown.text.strip():
        return None
    is_taken = shown.id is None or any(message.id == shown.id for message in messages)
    id_ = str(uuid.uuid4()) if is_taken else shown.id
    return AIMessage(shown.text, id=id_, response_metadata={STOPPED_KEY: True})


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
