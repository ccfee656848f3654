"""The `everthread` command: which commands there are, and what ends them."""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperGroup

from ..state.errors import EverthreadError
from .environment import read_environment


class Entry(NamedTuple):
    """A command: the module of this room with the function of its name, and what `--help` says of it."""

    module: str
    help: str
    context: dict[str, Any] | None = None


COMMANDS: Final = {
    "chat": Entry("chat", "Chat in the terminal. Reads lines from a pipe as well: one line, one turn."),
    "replay": Entry(
        "replay",
        "Feed a real conversation through memory and summaries, as if it had been held here. May be run again.",
    ),
    "threads": Entry("threads", "List your threads, the latest first."),
    "history": Entry("threads", "Show what was said in a thread, from the archive."),
    "explain": Entry(
        "explain",
        "Show what happened in a turn: search, memories, tokens, models, times, and what failed.",
        {"ignore_unknown_options": True},  # so that -1 is a number
    ),
    "trace": Entry(
        "trace",
        "Show what a summary was made from: the tree under it, down to what was said; and its earlier texts.",
    ),
    "regenerate": Entry(
        "regenerate",
        "Make a summary again from its sources; its earlier text is kept. Exit code 1: one stays as it is.",
    ),
    "doctor": Entry(
        "doctor",
        "Check whether a thread's chain and archive agree and nothing is missing. Exit code 1: something is left.",
    ),
    "prune": Entry(
        "threads", "Delete all but the newest checkpoint of a thread. The archive keeps everything that was said."
    ),
    "delete": Entry(
        "threads", "Delete a thread for good: messages, summaries, facts, pins, vectors, reports and checkpoints."
    ),
    "export": Entry("transfer", "Write all your threads, messages, summaries, facts and pins to a file."),
    "import": Entry(
        "transfer", "Read a file that `everthread export` wrote, and embed what is new in it. May be run again."
    ),
    "facts": Entry("facts", "Show what is known about you, and what is pinned: with its id, state and source."),
    "forget": Entry("facts", "Forget a fact or a pin: it is never told again. What you said stays in the archive."),
    "reindex": Entry(
        "reindex", "Embed everything anew that was embedded with another model. Stopped, it goes on where it was."
    ),
}
"""The commands on what is stored, as `--help` lists them."""


class Commands(TyperGroup):
    """The commands, of which only the one that is called is imported: `--help` answers at once."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, with its options."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, _loaded(name) if name in COMMANDS else command, rest


def _loaded(name: str) -> Any:
    entry = COMMANDS[name]
    from .opening import as_command, loading

    with loading():
        module = import_module(f".{entry.module}", __package__)
    work = getattr(module, f"{name}_" if name == "import" else name)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, help=entry.help, context_settings=entry.context)(as_command(work))
    return typer.main.get_command(alone)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version("everthread"))
        raise typer.Exit


def _everthread(
    _: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """What stands before the command."""


app = typer.Typer(
    name="everthread",
    cls=Commands,
    callback=_everthread,
    help="One conversation without end, with any chat model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _name, _entry in COMMANDS.items():
    app.command(_name, help=_entry.help)(lambda: None)  # which is replaced when the command is called


@app.command()
def settings() -> None:
    """Print the table of settings, in Markdown."""
    from .reference import settings_table

    typer.echo(settings_table())


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


def leave(code: int) -> None:
    """End the process without waiting for what still loads in the background: nothing is lost by that."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
