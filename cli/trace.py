"""`everthread trace`: what a summary was made from, down to the raw messages."""

from __future__ import annotations

import asyncio
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from ..memory.archive import Archive
from ..memory.archive_rows import ArchivedMessage
from ..memory.sources import SummaryTree
from ..memory.storages import storage_of
from ..state.errors import InputError
from ..state.records import MASTER_LEVEL, Summary
from ..state.settings import Settings
from ..state.threads import thread_id

_EXCERPT = 100


def show_trace(thread: str, wanted: str | None, values: dict[str, Any]) -> None:
    """Print the tree under a summary, or under each summary of the thread that no other one has replaced.

    Args:
        thread: the thread's name or id.
        wanted: the summary's id, or enough of its beginning to tell it from the others; None for all.
        values: settings by name.

    Raises:
        InputError: the thread has no such summary, or several begin with it.
        StorageError: the database cannot be started or reached.
    """
    settings = Settings(**values)

    async def work() -> list[SummaryTree]:
        database = storage_of(settings)
        try:
            archive, owner = Archive(database), settings.user_id
            id_ = thread_id(thread, owner)
            summaries = await archive.summaries(owner, id_)
            found = [await archive.sources(owner, id_, summary.id) for summary in _picked(summaries, thread, wanted)]
        finally:
            await database.close()
        return [tree for tree in found if tree is not None]

    for tree in asyncio.run(work()):
        Console().print(_drawn(tree))


def _picked(summaries: list[Summary], thread: str, wanted: str | None) -> list[Summary]:
    replaced = {id_ for summary in summaries for id_ in summary.source_ids}
    picked = [s for s in summaries if (s.id not in replaced if wanted is None else s.id.startswith(wanted))]
    if not picked or (wanted is not None and len(picked) > 1):
        what = f"no summary {wanted!r}" if wanted else "no summary yet"
        what = what if not picked else f"{len(picked)} summaries that begin with {wanted!r}"
        raise InputError(f"Thread {thread!r} has {what}: `everthread trace {thread}` shows those there are.")
    return picked


def _drawn(tree: SummaryTree, into: Tree | None = None) -> Tree:
    summary = tree.summary
    level = "master" if summary.level == MASTER_LEVEL else f"level {summary.level}"
    by = summary.model or summary.method
    label = f"[bold]{level}[/] {summary.id[:8]} ({escape(by)}): {escape(_excerpt(summary.content))}"
    branch = Tree(label) if into is None else into.add(label)
    for source in tree.sources:
        if isinstance(source, SummaryTree):
            _drawn(source, branch)
        else:
            branch.add(_line(source))
    for id_ in tree.missing:
        branch.add(f"[red]missing[/] {escape(id_)}")
    return branch


def _line(message: ArchivedMessage) -> str:
    return f"{message.seq} {message.created_at:%Y-%m-%d %H:%M} {message.role}: {escape(_excerpt(message.text))}"


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else f"{line[: _EXCERPT - 1]}…"
