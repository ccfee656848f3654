"""`everthread eval`: one's own questions asked of the memory, and what of the expected reaches the prompt."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table

from ..settings.settings import Settings
from ..state.errors import InputError
from .opening import loading, say

_SHOWN = 100


def eval_(
    settings: Settings,
    file: Annotated[
        Path | None, typer.Argument(help="JSON Lines of questions, and of messages; a small example by default.")
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option("--against", metavar="NAME=VALUE ...", help="Other settings to compare with; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Print what was found, what it cost, and what was missed.

    Raises:
        InputError: a line of the file is neither a message nor a question.
        SettingsError: what is compared with is no setting, or not allowed.
    """
    with loading():
        from ..doors.evaluation import EXAMPLE, Evaluation, QuestionFile, evaluate
        from ..doors.open import open_memory

        questions = QuestionFile.read(file or EXAMPLE)
        choices = [(_changed(settings, name), name or "as set") for name in ("", *(against or ()))]

    async def measured(chosen: Settings, name: str) -> Evaluation:
        async with open_memory(chosen) as memory:
            return await evaluate(memory, questions, name)

    results = []
    for choice, name in choices:
        with _stored(choice, is_own=not questions.said) as chosen:
            results.append(asyncio.run(measured(chosen, name)))
    if as_json:
        typer.echo(json.dumps([result.model_dump() for result in results], indent=2, ensure_ascii=False))
        return
    table = Table(
        Column("settings", overflow="fold"), "questions", "found", "precision", "silent", "tokens", "of memories", "ms"
    )
    for one in results:
        table.add_row(
            one.settings, str(one.questions), _percent(one.found), _percent(one.precision), _percent(one.silent),
            f"{one.tokens:.0f}", f"{one.memory_tokens:.0f}", f"{one.milliseconds:.0f}",
        )  # fmt: skip
    Console().print(table)
    for answer in results[0].answers:
        if answer.missing:
            missed = ", ".join(answer.missing)
            say(f"Not in the prompt of {answer.question[:_SHOWN]!r}: {missed[:_SHOWN]}")


@contextmanager
def _stored(settings: Settings, *, is_own: bool) -> Iterator[Settings]:
    """The settings of the user's storage; or of one that is gone afterwards, where the file brings the messages."""
    if is_own:
        yield settings
        return
    with tempfile.TemporaryDirectory(prefix="everthread-eval-") as folder:
        yield _with(settings, database_url="sqlite", data_dir=folder)


def _changed(settings: Settings, text: str) -> Settings:
    values: dict[str, Any] = {}
    for part in text.split():
        name, is_there, value = part.partition("=")
        name = name.removeprefix("--").replace("-", "_")
        if not is_there or name not in Settings.model_fields:
            raise InputError(f"{part!r} is no setting: expected NAME=VALUE, such as max_memories=3.")
        values[name] = value
    return _with(settings, **values)


def _with(settings: Settings, **values: Any) -> Settings:
    return Settings(**{**settings.model_dump(include=settings.model_fields_set), **values})


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"
