"""Export and import: what the archive holds of a user goes to a file, and comes back from it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich import progress as bars
from rich.console import Console

from ..maintenance.foreign.convert import UNKNOWN, Converted, converted
from ..maintenance.importing import Import, ImportProgress
from ..maintenance.transfer import export_rows
from ..maintenance.transfer_format import check_file, is_ours
from ..memory.store_index import store_client, vector_index
from ..models.embeddings import Embedder
from ..storage.storage import Storage
from ..text.count import counted
from .opening import rows_of, say


async def export(
    storage: Storage,
    file: Annotated[Path, typer.Argument(help="Where it goes: JSONL, one record a line.")],
    thread: Annotated[
        str | None, typer.Option("--thread", help="The name or the id of the only thread that is wanted.")
    ] = None,
) -> None:
    """Write a user's threads, or one of them, to a file, with a progress bar.

    Raises:
        InputError: the user has no such thread, or the file cannot be written.
    """
    with progress_bar() as bar:
        task = bar.add_task("Writing", total=None)
        counts = await export_rows(
            rows_of(storage),
            file,
            thread=thread,
            written=lambda done, total: bar.update(task, completed=done, total=total),
        )
    say(f"{file}: {', '.join(f'{count} {name}' for name, count in counts)}.")


async def import_(
    storage: Storage,
    file: Annotated[
        Path,
        typer.Argument(
            help="A file that `everthread export` wrote, or an export of ChatGPT, Claude, Gemini, LangChain, "
            "LangGraph, Letta, LibreChat, mem0, Open WebUI or SillyTavern."
        ),
    ],
    no_embed: Annotated[bool, typer.Option("--no-embed", help="Leave embedding for the next start.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what the file holds, and import nothing.")] = False,
) -> None:
    """Read a file into a user's archive, embed what is new while it is being read, and read it for facts.

    Raises:
        InputError: the file cannot be read, or a part of it is wrong; then nothing was imported.
        ThreadOwnershipError: a thread belongs to another user; then nothing was imported.
        EmbeddingError: the model fails; all was imported, and is embedded after the next start.
    """
    if not await asyncio.to_thread(is_ours, file):
        converting = converted(file, storage.settings.user_id)
        with Console().status("Reading the export ..."):
            found = await asyncio.to_thread(converting.__enter__)
        try:
            say(f"{file}: {_found(found)}.")
            if not dry_run:
                await _import(storage, found.file, str(file), embed=not no_embed)
        finally:
            await asyncio.to_thread(converting.__exit__, None, None, None)
    elif dry_run:
        checked = await asyncio.to_thread(check_file, file)
        say(f"{file}: {', '.join(f'{count} {name}' for name, count in checked.header.counts)}.")
    else:
        await _import(storage, file, str(file), embed=not no_embed)


def _found(found: Converted) -> str:
    """What an export holds, as a sentence without its end."""
    span = f" from {found.since:%Y-%m-%d} to {found.until:%Y-%m-%d}" if found.since and found.until else ""
    left = f", {found.left} of them on branches that were left" if found.left else ""
    facts = f", {counted(found.facts, 'fact')}" if found.facts else ""
    undated = f"; {found.undated} have no time, and are dated {UNKNOWN:%Y-%m-%d}" if found.undated else ""
    return (
        f"{found.product}, {counted(found.conversations, 'conversation')}{span}, "
        f"{counted(found.messages, 'message')}{left}{facts}{undated}"
    )


async def _import(storage: Storage, file: Path, shown: str, *, embed: bool) -> None:
    embedder = Embedder(storage.settings.embedding_model)
    beside = embed and storage.settings.vector_store is None
    if embed:
        embedder.load()
    with Console().status("Checking the file ..."):
        checked = await asyncio.to_thread(check_file, file)
    with progress_bar() as bar:
        reading, embedding = bar.add_task("Reading"), bar.add_task("Embedding", visible=beside)
        facts = bar.add_task("Facts", total=None)

        def advance(progress: ImportProgress) -> None:
            bar.update(reading, completed=progress.read, total=progress.lines)
            bar.update(embedding, completed=progress.embedded, total=progress.to_embed)
            bar.update(facts, completed=progress.for_facts)

        work = Import(rows_of(storage), file, checked, advance)
        new = await (work.with_vectors(embedder) if beside else work.without_vectors())
    if embed and not beside:
        await into_store(storage, embedder)
    counts = checked.header.counts
    say(
        f"{shown}: {counted(counts.messages, 'message')}, {new.messages} of them new; "
        f"{counted(counts.summaries, 'summary')}, {new.summaries} of them new; "
        f"{counted(counts.facts, 'fact')} and {counted(counts.pins, 'pin')}, {new.facts + new.pins} of them new; "
        f"{counted(work.learned, 'fact')} read in what was said."
    )


async def into_store(storage: Storage, embedder: Embedder) -> int:
    """Embed what is not in the vector store of the settings, with a progress bar; returns how many were done.

    Raises:
        EmbeddingError: the model or the store fails; what was done stays done.
        StorageError: the database fails.
    """
    settings, total = storage.settings, 0
    index = vector_index(rows_of(storage), embedder, store_client(settings, embedder))
    with progress_bar() as bar:
        task = bar.add_task("Embedding", total=None)
        while done := await index.embed_pending(timeout=settings.timeouts.embedding):
            total += done
            bar.advance(task, done)
        bar.update(task, total=total)
    return total


def progress_bar() -> bars.Progress:
    """A bar that shows how many of how many, and how long it will still take."""
    return bars.Progress(
        bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeRemainingColumn()
    )
