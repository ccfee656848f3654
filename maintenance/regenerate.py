"""`regenerate`: a summary is made again from its sources, whatever thread of the user it is in."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.conversation import CompiledConversation
from ..runtime.regenerate_rejected import regenerate_summary
from ..state.chain import SummaryMessage, summary_ids
from ..state.compression_records import Regenerated
from ..state.errors import InputError
from ..state.records import Summary
from .thread_state import ThreadState, opened, thread_state


async def regenerate(
    graph: CompiledConversation, user_id: str, summary_id: str, *, thread_id: str | None = None, above: bool = False
) -> list[Regenerated]:
    """Make a summary again from its direct sources, with the summarizer and the checks of the settings.

    Its id stays, and with it what points to it. The new text takes its place in the chain, in the archive and, when it
    is embedded, in recall; the earlier one is kept as a version. Where the new text is rejected or the same, nothing
    changes.

    Args:
        graph: what `open_graph` gives.
        user_id: whose summary.
        summary_id: its id, or enough of its beginning to tell it from the user's others.
        thread_id: the only thread in which it is looked for.
        above: whether the summaries that were made from it are made again after it, the lower ones first.

    Raises:
        InputError: the user has no such summary, or several begin so; a source of it is gone; or a turn of its thread
            has not come to its end.
        StorageError: the database cannot be reached.
        ModelError: the summary model failed, and the settings want no fallback.
    """
    conversation = opened(graph)
    user = conversation.resources.of_user(user_id)
    found = [
        (thread, id_)
        for thread, id_ in await user.summaries.named(summary_id)
        if (thread_id is None or thread == thread_id) and summary_id
    ]
    if len(found) != 1:
        what = f"There are {len(found)} summaries that begin with" if found else "There is no summary"
        raise InputError(f"{what} {summary_id!r}: `everthread trace THREAD` shows those of a thread.")
    thread, id_ = found[0]
    async with thread_state(conversation, user, thread) as state:
        state.check_writable()
        wanted = list((await user.summaries.some(thread, [id_])).values())
        wanted += await user.summaries.above(thread, id_) if above else []
        return await _regenerated(state, wanted)


async def regenerate_rejected(graph: CompiledConversation, user_id: str, thread_id: str) -> list[Regenerated]:
    """Make every summary of a thread again whose model's text was rejected, the oldest first.

    Args and errors as for `regenerate`; also

    Raises:
        InputError: the user has no such thread.
    """
    conversation = opened(graph)
    user = conversation.resources.of_user(user_id)
    if not await user.archive.has_thread(thread_id):
        raise InputError(f"There is no thread {thread_id!r}: `everthread threads` lists yours.")
    async with thread_state(conversation, user, thread_id) as state:
        state.check_writable()
        found = await user.summaries.rejected(thread_id)
        return await _regenerated(state, sorted(found, key=lambda summary: (summary.created_at, summary.id)))


async def _regenerated(state: ThreadState, wanted: Sequence[Summary]) -> list[Regenerated]:
    """Make these again one after the other; each is in the chain before the next is begun."""
    turn = state.turn
    done: list[Regenerated] = []
    for summary in wanted:
        standing = await turn.user.summaries.some(state.thread_id, summary_ids(state.chain))
        beside = [SummaryMessage.of(one) for one in standing.values()]
        done.append(await regenerate_summary(summary, turn.settings, turn, standing=beside))
    return done
