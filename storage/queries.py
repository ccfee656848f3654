"""The statements of a database by name, read from its `.sql` files: `-- name: subject.what`, then the statement.

Parameters are written `:name`. Postgres has every statement in `postgres/queries/`; another database has its own of
those that it says in another way, and takes the others as they are. What several statements of a database share stands
once, as `-- part: subject.what`; `{subject.what}` in a statement stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

Procedure = Callable[[Any, Mapping[str, Any]], list[dict[str, Any]]]
"""What takes one statement in Postgres and several elsewhere: is called with the connection and the parameters."""

Query = str | Procedure

_NAME: Final = re.compile(r"^-- (name|part): ([a-z_]+\.[a-z_]+)\n", re.MULTILINE)
_COMMENT: Final = re.compile(r"^--.*\n", re.MULTILINE)
_PART: Final = re.compile(r"\{([a-z_]+\.[a-z_]+)\}")
_PARAMETER: Final = re.compile(r"('(?:[^']|'')*'|--[^\n]*|::)|:([a-z_]+)|%")
"""Literals, comments and casts, which stay as they are; a parameter; a percent sign."""

_USER: Final = ("%(user_id)s", ":user_id")
"""How the statements of Postgres and of SQLite ask for the user."""


@lru_cache(maxsize=1_024)
def asks_for_user(statement: str) -> bool:
    """Whether a statement filters by the user."""
    return any(user in statement for user in _USER)


@cache
def read_queries(folder: str) -> Mapping[str, str]:
    """The statements of a folder beside this module, by name (blocking)."""
    found: dict[str, dict[str, str]] = {"name": {}, "part": {}}
    for file in sorted(files(__package__).joinpath(folder, "queries").iterdir(), key=lambda file: file.name):
        _, *marked = _NAME.split(file.read_text(encoding="utf-8"))
        for kind, name, text in zip(marked[::3], marked[1::3], marked[2::3], strict=True):
            found[kind][name] = _COMMENT.sub("", text).strip()
    return {name: _PART.sub(lambda part: found["part"][part[1]], text) for name, text in found["name"].items()}


def for_psycopg(statement: str) -> str:
    """A statement with its parameters as psycopg takes them: `%(name)s`."""

    def replaced(found: re.Match[str]) -> str:
        if found[2]:
            return f"%({found[2]})s"
        return found[0].replace("%", "%%")

    return _PARAMETER.sub(replaced, statement)
