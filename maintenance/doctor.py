"""`examine`: threads are checked, what the state has against what the archive has, and repaired where that is asked."""

from __future__ import annotations

from ..graph.conversation import CompiledConversation, Conversation
from ..state.errors import InputError
from ..state.health_records import Checkup, Finding
from ..state.messages import is_empty
from ..storage.inspection import Inspection
from .checks import Seen, check
from .repair import Mending
from .thread_state import ThreadState, opened, thread_state

_ROUNDS = 10
"""Looks at one thread: what one repair brings up, the next finds."""


async def examine(
    graph: CompiledConversation, user_id: str, thread_id: str | None = None, *, repair: bool = False
) -> list[Checkup]:
    """Check a thread, or all of a user: whether chain and archive agree, and whether all is there that is pointed to.

    A turn that runs in a thread is waited for. Nothing is ever deleted.

    Args:
        graph: what `open_graph` gives.
        user_id: whose threads.
        thread_id: the only thread that is checked; None for all.
        repair: whether what can be repaired is repaired.

    Raises:
        InputError: the user has no such thread.
        StorageError: the database cannot be reached.
    """
    conversation = opened(graph)
    mine = {row["thread_id"]: row["name"] for row in await conversation.resources.of_user(user_id).archive.threads()}
    if thread_id is not None and thread_id not in mine:
        raise InputError(f"There is no thread {thread_id!r}: `everthread threads` lists yours.")
    wanted = mine if thread_id is None else {thread_id: mine[thread_id]}
    return [await _checkup(conversation, user_id, id_, name, repair=repair) for id_, name in wanted.items()]


async def _checkup(
    conversation: Conversation, user_id: str, thread_id: str, name: str | None, *, repair: bool
) -> Checkup:
    async with thread_state(conversation, user_id, thread_id) as state:
        seen = await _look(state)
        first = left = check(seen)
        in_vain: set[Finding] = set()
        for _ in range(_ROUNDS if repair else 0):
            tried = [finding for finding in left if finding.repairable and finding not in in_vain]
            if not tried:
                break
            done = await Mending(state, seen).mend({finding.kind for finding in tried})
            seen = await _look(state)
            left = check(seen)
            in_vain |= {finding for finding in left if finding.kind in done and finding in tried}
        return Checkup(
            thread_id=thread_id,
            name=name,
            messages=len(seen.archived),
            summaries=len(seen.rows.summaries),
            findings=tuple(first),
            left=tuple(left),
        )


async def _look(state: ThreadState) -> Seen:
    resources = state.conversation.resources
    rows = await Inspection(resources.database, state.user_id).read(state.thread_id)
    said = [message for message in state.messages if not is_empty(message)]
    return Seen(
        messages=state.messages,
        chain=state.chain,
        rows=rows,
        changed=await resources.of_user(state.user_id).archive.changed_ids(state.thread_id, said) if said else (),
        writable=state.is_writable,
        own_vectors=resources.store is None,
    )
