"""The `everthread` command: a chat in the terminal, replay of real conversations, and what is stored."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from ..state.errors import EverthreadError, InputError
from .environment import read_environment
from .options import with_settings

app = typer.Typer(
    name="everthread",
    help="One conversation without end, with any chat model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Thread = Annotated[
    str | None, typer.Option("--thread", help="The name of the thread to go on with; without it a new one starts.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version("everthread"))
        raise typer.Exit


@app.callback()
def everthread(
    _: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """What stands before the command."""


@app.command()
@with_settings
def chat(values: dict[str, Any], thread: Thread = None) -> None:
    """Chat in the terminal. Reads lines from a pipe as well: one line, one turn."""
    with loading():
        from .chat import run_chat
    run_chat(thread, values)


@app.command()
@with_settings
def replay(
    values: dict[str, Any],
    file: Annotated[
        Path, typer.Argument(help="JSON or JSONL of role and content, LoCoMo, or an object with messages.")
    ],
    thread: Annotated[str, typer.Option("--thread", help="The name of the thread that receives the conversation.")],
    conversation: Annotated[
        str | None, typer.Option("--conversation", help="Which one, if the file holds several: its id.")
    ] = None,
) -> None:
    """Feed a real conversation through memory and summaries, as if it had been held here. May be run again."""
    with loading():
        from .replay import run_replay
    run_replay(file, thread, conversation, values)


@app.command()
@with_settings
def threads(values: dict[str, Any]) -> None:
    """List your threads, the latest first."""
    from .threads import list_threads

    list_threads(values)


@app.command()
@with_settings
def history(
    values: dict[str, Any],
    thread: Annotated[str, typer.Argument(help="The name or the id of the thread.")],
    before: Annotated[str | None, typer.Option("--before", help="Only what was said before this message id.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Messages, at most, the newest; all by default.")
    ] = None,
    left: Annotated[
        bool, typer.Option("--left", help="Also what has left the conversation: edited, removed, answered again.")
    ] = False,
) -> None:
    """Show what was said in a thread, from the archive."""
    from .threads import show_history

    show_history(thread, values, before=before, limit=limit, with_left=left)


@app.command(context_settings={"ignore_unknown_options": True})  # so that -1 is a number
@with_settings
def explain(
    values: dict[str, Any],
    thread: Annotated[str, typer.Argument(help="The name or the id of the thread.")],
    turn: Annotated[int, typer.Argument(help="Which turn: 1 is the first, -1 the last.")] = -1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Show what happened in a turn: search, memories, tokens, models, times, and what failed."""
    with loading():
        from .explain import run_explain
    run_explain(thread, turn, values, as_json=as_json)


@app.command()
@with_settings
def trace(
    values: dict[str, Any],
    thread: Annotated[str, typer.Argument(help="The name or the id of the thread; or the id of a summary alone.")],
    summary: Annotated[
        str | None, typer.Argument(help="The id of a summary, or its beginning; all by default.")
    ] = None,
) -> None:
    """Show what a summary was made from: the tree under it, down to what was said; and its earlier texts."""
    from .trace import show_trace

    show_trace(thread, summary, values)


@app.command()
@with_settings
def regenerate(
    values: dict[str, Any],
    summary: Annotated[str | None, typer.Argument(help="The id of a summary, or its beginning.")] = None,
    thread: Annotated[str | None, typer.Option("--thread", help="The name or the id of the thread it is in.")] = None,
    all_rejected: Annotated[
        bool, typer.Option("--all-rejected", help="All summaries of the thread whose model's text was rejected.")
    ] = False,
    above: Annotated[bool, typer.Option("--above", help="The summaries that were made from it, too.")] = False,
) -> None:
    """Make a summary again from its sources; its earlier text is kept. Exit code 1: one stays as it is."""
    with loading():
        from .regenerate import run_regenerate
    raise typer.Exit(run_regenerate(summary, thread, values, rejected=all_rejected, above=above))


@app.command()
@with_settings
def doctor(
    values: dict[str, Any],
    thread: Annotated[str | None, typer.Argument(help="The name or the id of the thread; all by default.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what can be repaired; nothing is deleted.")] = False,
) -> None:
    """Check whether a thread's chain and archive agree and nothing is missing. Exit code 1: something is left."""
    with loading():
        from .doctor import run_doctor
    raise typer.Exit(run_doctor(thread, values, repair=repair))


@app.command()
@with_settings
def prune(
    values: dict[str, Any], thread: Annotated[str, typer.Argument(help="The name or the id of the thread.")]
) -> None:
    """Delete all but the newest checkpoint of a thread. The archive keeps everything that was said."""
    from .threads import prune_checkpoints

    prune_checkpoints(thread, values)


@app.command()
@with_settings
def delete(
    values: dict[str, Any],
    thread: Annotated[str | None, typer.Argument(help="The name or the id of the thread.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Delete all of your threads.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a thread for good: messages, summaries, facts, pins, vectors, reports and checkpoints."""
    if (thread is None) is not all_:
        raise InputError("Name the thread to delete, or pass --all to delete all of yours.")
    from .threads import delete_threads

    def confirm(number: int) -> None:
        if number and not yes:
            asked = "Delete it for good?" if thread else f"Delete all of your threads ({number}) for good?"
            typer.confirm(asked, abort=True)

    delete_threads(thread, values, confirm)


@app.command()
@with_settings
def export(
    values: dict[str, Any],
    file: Annotated[Path, typer.Argument(help="Where it goes: JSONL, one record a line.")],
    thread: Annotated[
        str | None, typer.Option("--thread", help="The name or the id of the only thread that is wanted.")
    ] = None,
) -> None:
    """Write all your threads, messages, summaries, facts and pins to a file."""
    from .transfer import run_export

    run_export(file, thread, values)


@app.command("import")
@with_settings
def import_(
    values: dict[str, Any],
    file: Annotated[Path, typer.Argument(help="A file that `everthread export` wrote.")],
    no_embed: Annotated[bool, typer.Option("--no-embed", help="Leave embedding for the next start.")] = False,
) -> None:
    """Read a file that `everthread export` wrote, and embed what is new in it. May be run again."""
    from .transfer import run_import

    run_import(file, values, embed=not no_embed)


@app.command()
@with_settings
def facts(
    values: dict[str, Any],
    all_: Annotated[bool, typer.Option("--all", help="Show what is superseded or forgotten as well.")] = False,
) -> None:
    """Show what is known about you, and what is pinned: with its id, state and source."""
    from .facts import list_facts

    list_facts(values, with_past=all_)


@app.command()
@with_settings
def forget(
    values: dict[str, Any], fact: Annotated[str, typer.Argument(help="The id of the fact or pin, or its beginning.")]
) -> None:
    """Forget a fact or a pin: it is never used again. What you said stays in the archive."""
    from .facts import forget_fact

    forget_fact(fact, values)


@app.command()
@with_settings
def reindex(values: dict[str, Any]) -> None:
    """Re-embed everything that was embedded with another model. If stopped, it resumes where it was."""
    from .reindex import run_reindex

    run_reindex(values)


@app.command()
def settings() -> None:
    """Print the tables of settings, in Markdown: what a run may choose, and what the operator sets."""
    from .reference import operator_table, run_table

    typer.echo(f"{run_table()}\n\n{operator_table()}")


@app.command()
def graph() -> None:
    """Print the picture of the graph, as a Mermaid diagram."""
    from .reference import graph_picture

    typer.echo(graph_picture())


def main() -> None:
    """Run the command. An error becomes one line and exit code 1; `EVERTHREAD_DEBUG=1` shows the traceback."""
    try:
        read_environment()
        app()
    except KeyboardInterrupt:
        leave(130)
    except Exception as error:  # the last stop before the terminal
        if os.environ.get("EVERTHREAD_DEBUG"):
            traceback.print_exc()
        known = isinstance(error, EverthreadError)
        text = str(error) if known else f"{type(error).__name__}: {error} (EVERTHREAD_DEBUG=1 shows where)"
        print(f"everthread: {text}", file=sys.stderr)
        leave(1)
    except SystemExit as exit_:
        leave(exit_.code if isinstance(exit_.code, int) else 1 if exit_.code else 0)


def loading() -> AbstractContextManager[object]:
    """A line that says that everthread is being loaded; only a terminal shows it, and only until it is done."""
    from rich.console import Console

    return Console(stderr=True).status("Loading everthread ...")


def leave(code: int) -> None:
    """End the process without waiting for what still loads in the background: nothing is lost by that."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
