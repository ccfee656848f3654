"""A summary is made again from its sources, or corrected by hand, whatever thread of the user it is in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..graph.conversation import CompiledConversation
from ..runtime.regenerate_rejected import regenerate_summary
from ..runtime.user import User
from ..state.chain import SummaryMessage, summary_ids
from ..state.compression_records import Regenerated
from ..state.errors import InputError
from ..state.messages import clean_text
from ..state.records import Summary
from ..text.tokens import estimate_tokens
from .thread_state import ThreadState, opened, thread_state

_LONGEST: Final = 20_000


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
    thread, id_ = await _meant(user, summary_id, thread_id)
    async with thread_state(conversation, user, thread) as state:
        state.check_writable()
        wanted = list((await user.summaries.some(thread, [id_])).values())
        wanted += await user.summaries.above(thread, id_) if above else []
        return await _regenerated(state, wanted)


async def correct_summary(
    graph: CompiledConversation, user_id: str, summary_id: str, text: str, *, thread_id: str | None = None
) -> Summary:
    """Give a summary the text that a person wrote for it; the text it had is kept as a version.

    It is embedded again. Summaries that were made from it stay as they are until they are made again, and so does it:
    only when a message under it is edited or forgotten is it made again by itself.

    Args:
        graph: what `open_graph` gives.
        user_id: whose summary.
        summary_id: as for `regenerate`.
        text: the new text, of 1 to 20,000 characters.
        thread_id: the only thread in which it is looked for.

    Raises:
        InputError: the text is empty, too long, or the one it has; or there is no such summary.
        StorageError: the database cannot be reached.
    """
    text = clean_text(text.replace("\r\n", "\n")).strip()
    if not 0 < len(text) <= _LONGEST:
        raise InputError(f"A summary is a text of 1 to {_LONGEST:,} characters.")
    conversation = opened(graph)
    user = conversation.resources.of_user(user_id)
    thread, id_ = await _meant(user, summary_id, thread_id)
    async with conversation.resources.locks.hold(thread):
        old = (await user.summaries.some(thread, [id_])).get(id_)
        if old is None:
            raise InputError(f"The summary {id_!r} is damaged: `everthread doctor --repair` mends what it can.")
        if old.content == text:
            raise InputError("The summary says that already: change its text.")
        by_hand = {"content": text, "method": "user", "model": None, "rejected": None}
        new = old.model_copy(update={**by_hand, "tokens": estimate_tokens(text), "version": old.version + 1})
        await user.summaries.replace(thread, new)
    if conversation.resources.embedder.ready:  # else the next turn does it
        user.embed_later(conversation.resources.settings.timeouts.embedding)
    return new


async def _meant(user: User, summary_id: str, thread_id: str | None) -> tuple[str, str]:
    """Thread and id of the one summary that is meant."""
    found = [
        (thread, id_)
        for thread, id_ in await user.summaries.named(summary_id)
        if (thread_id is None or thread == thread_id) and summary_id
    ]
    if len(found) != 1:
        what = f"There are {len(found)} summaries that begin with" if found else "There is no summary"
        raise InputError(f"{what} {summary_id!r}: `everthread trace THREAD` shows those of a thread.")
    return found[0]


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
