"""`everthread trace`: what a summary was made from, down to the raw messages."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from ..state.compression_records import SummaryVersion
from ..state.errors import InputError
from ..state.records import MASTER_LEVEL, Summary
from ..storage.archive import Archive
from ..storage.archive_rows import ArchivedMessage
from ..storage.sources import SummaryTree
from ..storage.storage import Storage
from ..storage.summary_rows import SummaryRows
from ..text.shorten import one_line
from .json_output import SummaryLine, print_json
from .opening import rows_of

_EXCERPT = 100


async def trace(
    storage: Storage,
    thread: Annotated[str, typer.Argument(help="The name or the id of the thread; or the id of a summary alone.")],
    summary: Annotated[
        str | None, typer.Argument(help="The id of a summary, or its beginning; all by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Print the tree under a summary with its earlier texts, or under each summary of the thread that stands.

    Raises:
        InputError: the thread has no such summary, or several begin with it.
    """
    archive, rows = Archive(rows_of(storage)), SummaryRows(rows_of(storage))
    id_, picked = await _found(archive, rows, thread, summary)
    found = [await archive.sources(id_, one.id) for one in picked]
    trees = [tree for tree in found if tree is not None]
    # The texts of all would be long: they are shown where one summary is asked for.
    versions = await rows.versions(id_, picked[0].id) if len(picked) == 1 else []
    if as_json:
        print_json(SummaryLine.of(tree, versions) for tree in trees)
        return
    for tree in trees:
        Console().print(_drawn(tree))
    if versions:
        Console().print(_earlier(versions))


async def _found(archive: Archive, rows: SummaryRows, thread: str, wanted: str | None) -> tuple[str, list[Summary]]:
    """The id of the thread, and the summaries in it that are meant."""
    id_ = await archive.thread_named(thread)
    summaries = await archive.summaries(id_)
    if wanted is None and not summaries and not await archive.has_thread(id_):
        named = await rows.named(thread) if thread else []
        if len(named) == 1:
            return named[0][0], list((await rows.some(named[0][0], [named[0][1]])).values())
        what = f"{len(named)} summaries begin with {thread!r}" if named else f"There is no thread {thread!r}"
        raise InputError(f"{what}: `everthread threads` lists yours, `everthread trace THREAD` the summaries of one.")
    return id_, _picked(summaries, thread, wanted)


def _earlier(versions: list[SummaryVersion]) -> Tree:
    branch = Tree("[bold]earlier texts[/]")
    for version in versions:
        by = version.model or version.method
        why = f", the model's was rejected: {version.rejected}" if version.rejected else ""
        until = f"{version.replaced_at:%Y-%m-%d %H:%M}"
        branch.add(f"version {version.version} until {until} ({escape(by + why)}): {escape(version.content)}")
    return branch


def _picked(summaries: list[Summary], thread: str, wanted: str | None) -> list[Summary]:
    replaced = {id_ for summary in summaries for id_ in summary.source_ids}
    picked = [s for s in summaries if (s.id not in replaced if wanted is None else s.id.startswith(wanted))]
    if not picked and not wanted:
        raise InputError(f"Thread {thread!r} has no summary yet.")
    if not picked or (wanted is not None and len(picked) > 1):
        what = f"no summary {wanted!r}"
        what = what if not picked else f"{len(picked)} summaries that begin with {wanted!r}"
        raise InputError(f"Thread {thread!r} has {what}: `everthread trace {thread}` shows those there are.")
    return picked


def _drawn(tree: SummaryTree) -> Tree:
    root = Tree(_label(tree.summary))
    waiting = [(tree, root)]
    while waiting:  # not recursive, as a tree may be a thousand summaries deep
        parent, branch = waiting.pop()
        for source in parent.sources:
            if isinstance(source, SummaryTree):
                waiting.append((source, branch.add(_label(source.summary))))
            else:
                branch.add(_line(source))
        for id_ in parent.missing:
            branch.add(f"[red]missing[/] {escape(id_)}")
    return root


def _label(summary: Summary) -> str:
    level = "master" if summary.level == MASTER_LEVEL else f"level {summary.level}"
    by = summary.model or summary.method
    by += f", version {summary.version}" if summary.version > 1 else ""
    by += f", the model's was rejected: {summary.rejected}" if summary.rejected else ""
    return f"[bold]{level}[/] {summary.id[:8]} ({escape(by)}): {escape(one_line(summary.content, _EXCERPT))}"


def _line(message: ArchivedMessage) -> str:
    return (
        f"{message.seq} {message.created_at:%Y-%m-%d %H:%M} {message.role}: {escape(one_line(message.text, _EXCERPT))}"
    )
