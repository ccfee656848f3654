"""The settings as options of the command line: generated from `Settings`, so that nothing is typed twice."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, Final

import typer

from ..settings.forms import groups_of, shown
from ..settings.profiles import PROFILES
from ..settings.settings import Settings

_STORED: Final = frozenset({"user_id", "database_url", "data_dir", "encryption_key"})
_ANSWERING: Final = frozenset(
    {"profile", "model", "slm_model", "summary_model", "system_prompt", "search_engines", "max_context_tokens"}
)
_SHOWN: Final[Mapping[str, frozenset[str]]] = {
    "chat": _ANSWERING,
    "replay": frozenset({"profile", "summary_model", "embedding_model"}),
    "regenerate": frozenset({"summary_model"}),
    "doctor": frozenset({"summary_model"}),
    "summarize": frozenset({"summary_model"}),
    "context": frozenset({"profile", "max_context_tokens"}),
    "import": frozenset({"embedding_model"}),
    "reindex": frozenset({"embedding_model"}),
    "retention": frozenset({"retention"}),
}
"""Settings that the help of a command shows beside those of the storage."""

_SENTENCE: Final = re.compile(r"(?<=[^.]\.) (?=[A-Z])")

ALL_SETTINGS: Final = (
    "Every setting is an option of every command: `everthread settings` lists them, and says more of these."
)


def with_settings(command: Callable[..., None], name: str) -> Callable[..., None]:
    """Give a command one option for each setting; the command gets those given as the argument `values`.

    Args:
        command: what is run.
        name: that of the command; its help shows the settings that matter to it.
    """

    @wraps(command)
    def with_options(**arguments: Any) -> None:
        values = {name: arguments.pop(name) for name in Settings.model_fields}
        command(**arguments, values={name: value for name, value in values.items() if value is not None})

    own = [
        parameter
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items()
        if name != "values"
    ]
    shown = _STORED | _SHOWN.get(name, frozenset())
    options = [
        _option(setting, group, is_shown=setting in shown)
        for group, settings in groups_of(Settings).items()
        for setting in settings
    ]
    with_options.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]  # typer reads it
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *options]}
    return with_options


def _option(name: str, group: str, *, is_shown: bool) -> inspect.Parameter:
    flag = typer.Option(
        f"--{name.replace('_', '-')}",
        help=f"{_begins(str(Settings.model_fields[name].description))} [default: {default_text(name)}]",
        metavar="VALUE",
        show_default=False,
        rich_help_panel=group,
        hidden=not is_shown,
    )
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=None, annotation=Annotated[str | None, flag])


def _begins(description: str) -> str:
    """Of a description the first sentence, and what holds where nothing is set; `everthread settings` has the rest."""
    first, *others = _SENTENCE.split(description)
    return " ".join([first, *(other for other in others if other.startswith(("Unset:", "Empty:")))])


def default_text(name: str) -> str:
    """A setting's default as a person writes it, and what profiles fill in its place."""
    filled = [f"{p.name} {shown(p.settings[name])}" for p in PROFILES.values() if name in p.settings]
    default = shown(Settings.model_fields[name].default)
    return f"{default} ({', '.join(filled)})" if filled else default
