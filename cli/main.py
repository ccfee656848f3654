"""The `everthread` command: which commands there are, and what ends them."""

from __future__ import annotations

import gc
import io
import os
import sys
import traceback
from contextlib import nullcontext
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from ..state.errors import EverthreadError
from .environment import read_environment

COMMANDS: Final = {
    "chat": ("chat", "Chat in the terminal. Reads lines from a pipe as well: one line, one turn."),
    "replay": ("replay", "Feed a real conversation through memory and summaries, as if it had been held here. May be "
                         "run again."),
    "threads": ("threads", "List your threads, the latest first."),
    "history": ("threads", "Show what was said in a thread, from the archive."),
    "explain": ("explain", "Show what happened in a turn: search, memories, tokens, models, times, and what failed."),
    "trace": ("trace", "Show what a summary was made from: the tree under it, down to what was said; and its earlier "
                       "texts."),
    "regenerate": ("regenerate", "Make a summary again from its sources; its earlier text is kept. Exit code 1: one "
                                 "stays as it is."),
    "doctor": ("doctor", "Check whether a thread's chain and archive agree and nothing is missing. Exit code 1: "
                         "something is left."),
    "prune": ("threads", "Delete all but the newest checkpoint of a thread. The archive keeps everything that was "
                         "said."),
    "delete": ("forget", "Delete a thread for good: messages, summaries, facts, pins, vectors, reports and "
                          "checkpoints."),
    "retention": ("retention", "Show what the last runs of retention have deleted; with --run delete what is due, "
                               "with --dry-run count it."),
    "export": ("transfer", "Write all your threads, messages, summaries, facts, pins and documents to a file."),
    "import": ("transfer", "Read what `everthread export`, ChatGPT, Claude and others have written, and embed what is "
                           "new in it. May be run again."),
    "facts": ("facts", "Show what is known about you, and what is pinned: with its id, state and source."),
    "pin": ("curation", "Pin a text: it stands in your prompts as long as pins fit. `everthread facts` lists pins."),
    "unpin": ("curation", "Remove a pin, and leave what was said."),
    "context": ("curation", "Show what a model would be shown for a question in a thread, and what it costs."),
    "summarize": ("curation", "Summarize the messages of a thread from one to another; the summary is not kept."),
    "forget": ("forget", "Forget a fact, messages, a span of time, a thread or everything, with all that was made from "
                         "it; and prove that it is gone."),
    "keys": ("keys", "Encryption: print a new master key, encrypt what is stored from before, or change the master "
                     "key."),
    "eval": ("evaluate", "Ask your own questions of the memory: how much of what you expect reaches the prompt, and "
                         "what it costs."),
    "mcp": ("mcp", "Serve the memory to assistants and agents over the Model Context Protocol: stdin and stdout, or "
                   "HTTP."),
    "web": ("web", "Open a page on this machine to see, correct and delete what is remembered."),
    "partitions": ("partitions", "Show in how many partitions the tables of a Postgres server are, or divide them by "
                                 "user. If stopped, it resumes where it was."),
    "reindex": ("reindex", "Re-embed everything that was embedded with another model. If stopped, it resumes where it "
                           "was."),
}  # fmt: skip
"""The commands on what is stored: the module of this room with the function of that name, and what `--help` says."""


class Commands(TyperGroup):
    """The commands, of which only the one that is called is imported: `--help` answers at once."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, with its options."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, _loaded(name) if name in COMMANDS else command, rest


def _loaded(name: str) -> Any:
    file, text = COMMANDS[name]
    from .opening import as_command, loading
    from .options import ALL_SETTINGS

    with loading() if name != "chat" else nullcontext():
        module = import_module(f".{file}", __package__)
    work = getattr(module, f"{name}_" if name in {"import", "eval"} else name)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    # The turn that `explain` is asked for may be -1, which is no option.
    context = {"ignore_unknown_options": True} if name == "explain" else None
    alone.command(name, help=text, context_settings=context, epilog=ALL_SETTINGS)(as_command(work, name))
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
for _name, (_, _help) in COMMANDS.items():
    app.command(_name, help=_help)(lambda: None)  # which is replaced when the command is called


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
    gc.set_threshold(50_000)  # what is imported stays: looking through it again and again takes a tenth of the start
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a console that has no emoji shows another sign for them
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
