"""A run when it is its turn: its thread is claimed and held, it is admitted, and it is known what in its input is new.

Where the storage does not answer, a run in a thread that this process knows goes on from what is held of it: such a
turn holds the thread in this process alone, and is written later.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage

from ..compression.commands import read_command
from ..runtime.left_out import note_refused, without_left_out
from ..runtime.turn import FORGOTTEN_KEY
from ..state.errors import ClaimLostError, StorageError, StorageFull, StorageUnreachable, ThreadOwnershipError
from ..state.messages import message_text
from ..state.tool_calls import ends_with_reply
from ..storage.loop_checkpointer import own_saver
from ..storage.loop_thread import node_thread
from ..storage.sparse_checkpoints import RUN_KEY, RunCheckpoints
from .node import runtime_of
from .put_behind import Compiled, put_behind, said_in, write_later
from .recognition import new_in, recognized
from .removed import forget_removed
from .run import Run
from .stopped import kept_when_stopped, kept_when_stopped_sync
from .time_travel import refuse_missing

if TYPE_CHECKING:
    from .conversation import Conversation

logger = logging.getLogger(__name__)

_TRIES: Final = 5
"""That a turn makes whose claim is lost over and over."""


async def parts_of(graph: Conversation, run: Run) -> AsyncGenerator[Any]:
    """What a run streams, when it is its turn."""
    resources, run = graph.resources, await _claimed(graph, run)
    async with AsyncExitStack() as stack:
        if run.is_to_be_locked:
            held = resources.locks.hold(str(run.thread_id), here_alone=run.is_away)
            await stack.enter_async_context(held)
        if not run.is_inside:
            await stack.enter_async_context(resources.admission.admitted(run.user_id))
        given = await stack.enter_async_context(_begun(graph, run))
        await stack.enter_async_context(kept_when_stopped(graph, resources, run, given))
        async with aclosing(_parts(graph, run, given)) as parts:
            async for part in parts:
                yield part
        write_later(graph, resources, run)


def parts_of_sync(graph: Conversation, run: Run) -> Iterator[Any]:
    """`parts_of` for sync code."""
    resources, run = graph.resources, node_thread.run_sync(_claimed(graph, run))
    with ExitStack() as stack:
        if run.is_to_be_locked:
            stack.enter_context(resources.locks.hold_sync(str(run.thread_id), here_alone=run.is_away))
        if not run.is_inside:
            stack.enter_context(resources.admission.admitted_sync(run.user_id))
        given = stack.enter_context(_begun_sync(graph, run))
        stack.enter_context(kept_when_stopped_sync(graph, resources, run, given))
        try:
            yield from Compiled.stream(graph, given, run.config, **run.options)
        except ClaimLostError as error:
            yield from node_thread.run_sync(_all_behind(graph, run, error))
        write_later(graph, resources, run)


async def _parts(graph: Conversation, run: Run, given: Any) -> AsyncGenerator[Any]:
    lost: ClaimLostError | None = None
    try:
        async for part in Compiled.astream(graph, given, run.config, **run.options):
            yield part
    except ClaimLostError as error:
        lost = error
    if lost is not None:
        async for part in _behind(graph, run, lost):
            yield part


async def _behind(graph: Conversation, run: Run, lost: ClaimLostError) -> AsyncIterator[Any]:
    """The end of a turn whose claim was lost, behind what another process said meanwhile.

    Raises:
        ClaimLostError: there is no reply yet, or the turn goes on from what is no end of the conversation.
    """
    said = said_in(run)
    if not run.is_to_be_locked or not ends_with_reply(said):
        raise lost
    logger.warning("Another process went on with thread %s: what was said here is put behind that.", run.thread_id)
    for left in reversed(range(_TRIES)):
        await graph.resources.locks.retake(str(run.thread_id))
        try:
            async for part in put_behind(graph, graph.resources, run, said, {}):
                yield part
        except ClaimLostError:
            if not left:
                raise
        else:
            return


async def _all_behind(graph: Conversation, run: Run, lost: ClaimLostError) -> list[Any]:
    return [part async for part in _behind(graph, run, lost)]


@asynccontextmanager
async def _begun(graph: Conversation, run: Run) -> AsyncIterator[Any]:
    """Around a turn whose thread is held: its input without what was said already."""
    async with AsyncExitStack() as stack:
        if run.thread_id is not None:
            stack.enter_context(graph.resources.turn_of(run.user_id, run.thread_id))
        stack.push_async_callback(_scrub_after, graph, run)
        yield await _recognized(graph, run)


@contextmanager
def _begun_sync(graph: Conversation, run: Run) -> Iterator[Any]:
    with ExitStack() as stack:
        if run.thread_id is not None:
            stack.enter_context(graph.resources.turn_of(run.user_id, run.thread_id))
        stack.callback(lambda: node_thread.run_sync(_scrub_after(graph, run)))
        yield node_thread.run_sync(_recognized(graph, run))


async def _claimed(graph: Conversation, run: Run) -> Run:
    """The run, whose thread is its user's; where the storage does not answer, as one that goes on without it.

    Raises:
        ThreadOwnershipError: the thread belongs to somebody else.
        StorageUnreachable: the storage does not answer, and this process cannot go on with the thread.
    """
    if run.thread_id is None:
        return run
    resources = graph.resources
    try:
        await resources.of_user(run.user_id).archive.own_thread(run.thread_id)
        if run.is_to_be_locked:
            await _caught_up(graph, run.thread_id)
    except ThreadOwnershipError:
        if run.is_nested:  # the state of the graph around this one has it already
            await note_refused(resources, run.thread_id, run.messages or ())
        raise
    except StorageUnreachable as error:
        return _at_hand(graph, run, error)
    await refuse_missing(graph.checkpointer, run.config)
    return run


async def _caught_up(graph: Conversation, thread_id: str) -> None:
    """Write what a storage that did not answer has yet to take of a thread.

    Raises:
        StorageUnreachable: it does not take it.
    """
    resources = graph.resources
    if resources.away.waits(thread_id):
        async with resources.locks.hold(thread_id):
            await resources.away.catch_up(thread_id)
    elif resources.database.unwritten.waits(thread_id) and (saver := own_saver(graph.checkpointer)) is not None:
        await saver.caught_up(thread_id)


def _at_hand(graph: Conversation, run: Run, error: StorageUnreachable) -> Run:
    """The run as one that goes on from what this process holds.

    Raises:
        StorageUnreachable: it cannot, or the operator wants such turns refused.
    """
    resources, configurable = graph.resources, run.config["configurable"]
    if resources.settings.turns.away == "refuse" or resources.away.is_full:
        raise error
    if isinstance(error, StorageFull) and not _goes_on_without_room(graph, run):
        raise error
    if run.is_nested or RUN_KEY not in configurable or own_saver(graph.checkpointer) is None:
        raise error
    if not resources.database.held.is_known(run.user_id, run.thread_id):
        raise StorageUnreachable(f"{error} This process does not hold thread {run.thread_id!r}, to go on meanwhile.")
    if not run.messages or configurable.get("checkpoint_id"):
        raise StorageUnreachable(f"{error} Until then only new messages can be answered.")
    configurable[RUN_KEY] = RunCheckpoints(run.user_id, is_away=True)
    return run._replace(is_away=True)


def _goes_on_without_room(graph: Conversation, run: Run) -> bool:
    """Whether a run goes on in memory when the disk is full, as seed 003 has it.

    Elsewhere it is refused: that does not pass by itself, and what is said until then would stand in memory alone.
    """
    context = run.options.get("context")
    return graph.resources.runs.settings_of(runtime_of(context, run.config), run.config).profile == "archive"


async def _recognized(graph: Conversation, run: Run) -> Any:
    """The input without what was said already; None where a turn that broke off is to be resumed."""
    if run.thread_id is None or run.messages is None:
        return run.input
    if run.is_away:
        return {**run.input, "messages": _new_at_hand(graph, run, run.messages)}
    resources, user = graph.resources, graph.resources.of_user(run.user_id)
    if not run.is_nested:
        if run.is_to_be_locked and resources.away.waits(run.thread_id):
            await resources.away.catch_up(run.thread_id)
        await forget_removed(resources, run.user_id, run.thread_id, run.messages, scrub=graph.scrub)
    own = await without_left_out(user, run.thread_id, run.messages, asked=not run.is_nested)
    if run.is_nested or graph.checkpointer in {None, False}:
        return run.input if own is run.messages else {**run.input, "messages": own}
    new = await recognized(list(own), graph, run.config, user.archive, run.thread_id)
    return None if new is None else {**run.input, "messages": new}


def _new_at_hand(graph: Conversation, run: Run, given: list[AnyMessage]) -> list[AnyMessage]:
    """What of an input is new, by the messages that are held. What else it changes must wait: an edit, a command.

    Raises:
        StorageUnreachable: it is not one new message of the user.
    """
    held = graph.resources.database.held.of(run.thread_id)
    said = cast("list[AnyMessage]", held.step.checkpoint["channel_values"].get("messages") or []) if held else []
    new, known = new_in(given, said), {message.id for message in said}
    asked = [message for message in new if isinstance(message, HumanMessage)]
    others = any(isinstance(message, RemoveMessage) or message.id in known for message in new)
    if others or len(new) > 1 or any(read_command(message_text(message)) is not None for message in asked):
        raise StorageUnreachable("The storage does not answer: until it does, only a new message can be answered.")
    return new


async def _scrub_after(graph: Conversation, run: Run) -> None:
    """Forget in a checkpointer of another make, too, what the run has forgotten at the user's word."""
    for found in run.config["configurable"][FORGOTTEN_KEY]:
        try:
            await graph.scrub(found, held=run.thread_id or "")
        except StorageError as error:
            logger.warning("%s", error)
