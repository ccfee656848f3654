"""`examine`: threads are checked, what the state has against what the archive has, and repaired where that is asked."""

from __future__ import annotations

from ..graph.conversation import CompiledConversation, Conversation
from ..runtime.user import User
from ..state.errors import InputError
from ..state.messages import is_empty
from ..storage.documents import Documents, change_documents
from .checks import ThreadSnapshot, check
from .damage import damages
from .findings import Checkup, Finding
from .repair import repair_first
from .thread_rows import read_rows
from .thread_state import ThreadState, opened, thread_state

_ROUNDS = 10
"""Looks at one thread: what one repair brings up, the next finds."""


async def examine(
    graph: CompiledConversation, user_id: str, thread_id: str | None = None, *, repair: bool = False
) -> list[Checkup]:
    """Check a thread, or all of a user: whether chain and archive agree, and whether all is there that is pointed to.

    A turn that runs in a thread is waited for. Nothing that can be read is ever deleted.

    Args:
        graph: what `open_graph` gives.
        user_id: whose threads.
        thread_id: the only thread that is checked; None for all, and for the documents of agents (`MemoryStore`).
        repair: whether what can be repaired is repaired.

    Raises:
        InputError: the user has no such thread.
        StorageError: the database cannot be reached.
    """
    conversation = opened(graph)
    user = conversation.resources.of_user(user_id)
    mine = {row["thread_id"]: row["name"] for row in await user.archive.threads()}
    if thread_id is not None and thread_id not in mine:
        raise InputError(f"There is no thread {thread_id!r}: `everthread threads` lists yours.")
    wanted = mine if thread_id is None else {thread_id: mine[thread_id]}
    checkups = [await _checkup(conversation, user, id_, name, repair=repair) for id_, name in wanted.items()]
    documents = await _of_documents(user, repair=repair) if thread_id is None else None
    return checkups if documents is None else [*checkups, documents]


async def _of_documents(user: User, *, repair: bool) -> Checkup | None:
    """What is damaged among the documents of agents; None where nothing is."""
    damaged = await Documents(user.rows).damaged()
    if not damaged:
        return None
    names = tuple(f"{'.'.join(namespace)}/{key}" for (namespace, key), _ in damaged)
    lost = sum(document is None for _, document in damaged)
    finding = Finding(
        kind="damaged row",
        ids=names,
        problem=f"{len(damaged)} documents of agents cannot be read; of {lost}, the value is lost",
        action="A repair mends those whose value can be read, and deletes the others",
    )
    if repair:
        kept = [document for _, document in damaged if document is not None]
        await change_documents(user.rows, kept, removed=[place for place, _ in damaged])
    left = () if repair else (finding,)
    return Checkup(thread_id="documents", messages=0, summaries=0, findings=(finding,), left=left)


async def _checkup(
    conversation: Conversation, user: User, thread_id: str, name: str | None, *, repair: bool
) -> Checkup:
    async with thread_state(conversation, user, thread_id) as state:
        thread = await _look(state)
        findings = left = check(thread)
        in_vain: set[Finding] = set()
        for _ in range(_ROUNDS if repair else 0):
            due = {finding for finding in left if finding.repairable} - in_vain
            tried = await repair_first(thread, {finding.kind for finding in due})
            if not tried:
                break
            thread = await _look(state)
            left = check(thread)
            in_vain |= {finding for finding in due.intersection(left) if finding.kind in tried}
        counts = {"messages": len(thread.rows.messages), "summaries": len(thread.rows.summaries)}
        return Checkup(thread_id=thread_id, name=name, findings=tuple(findings), left=tuple(left), **counts)


async def _look(state: ThreadState) -> ThreadSnapshot:
    said = [message for message in state.messages if not is_empty(message)]
    damaged = await damages(state.user.rows, state.thread_id, state.messages)
    rows = await read_rows(state.user.rows, state.thread_id, own_vectors=state.conversation.resources.store is None)
    changed = await state.user.archive.changed_ids(state.thread_id, said) if said else ()
    return ThreadSnapshot(state, rows, changed, damaged)
