"""Our statements, which are written for Postgres, as SQLite understands them: `translated`.

What the two say in the same way stays as it is; what can be said by another word is replaced here; what SQLite says in
another way altogether stands in `sqlite_statements`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

_RECORDS: Final = re.compile(r"jsonb_to_recordset\(%\((\w+)\)s(?:::jsonb)?\)\s+AS\s+(\w+)\(([^)]*)\)")
_UNNEST: Final = re.compile(r"unnest\(((?:\s*%\(\w+\)s::\w+\[\],?)+)\)\s+AS\s+(\w+)\(([^)]*)\)")
_NOTHING: Final = re.compile(r"pg_advisory_xact_lock|SET TRANSACTION ISOLATION LEVEL|DELETE FROM checkpoint_blobs")
_INSERTS_FROM: Final = re.compile(r"(FROM json_each\([^\n]*\) LIMIT -1\) AS \w+)(\s+ON CONFLICT)")

_RULES: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        (r"ARRAY\(SELECT jsonb_array_elements_text\(([\w.]+)\)::bigint\)", r"key_bytes(\1)"),
        (r"= ANY\((%\(\w+\)s|[\w.]+)(?:::\w+\[\])?\)", r"IN (SELECT value FROM json_each(\1))"),
        (r"<> ALL\((%\(\w+\)s|[\w.]+)(?:::\w+\[\])?\)", r"NOT IN (SELECT value FROM json_each(\1))"),
        (
            r"([\w.]+) && (%\(\w+\)s)(?:::\w+\[\])?",
            r"EXISTS (SELECT 1 FROM json_each(\1) AS one JOIN json_each(\2) AS other ON one.value = other.value)",
        ),
        (r"([\w.]+)::public\.vector\b", r"vector_bytes(\1)"),
        (r"([\w.]+)\[1\]", r"json_extract(\1, '$[0]')"),
        (r"::[\w.]+(?:\[\])?", ""),
        (r"\bpublic\.", ""),
        (r"\bcheckpoint_writes\b", "writes"),
        (r"(?s)\bDELETE FROM (\w+) USING (.*?) WHERE (.*)", r"DELETE FROM \1 WHERE EXISTS (SELECT 1 FROM \2 WHERE \3)"),
        (r"\bIS DISTINCT FROM\b", "IS NOT"),
        (r"\bEXISTS \(\s*SELECT FROM\b", "EXISTS (SELECT 1 FROM"),
        (r"\bgreatest\(", "max("),
        (r"(?m)^\(SELECT\b", "SELECT * FROM (SELECT"),
        (r"%\((\w+)\)s", r":\1"),
        (r"%s", "?"),
    )
)


@lru_cache(maxsize=512)
def translated(statement: str) -> str:
    """The statement for SQLite.

    Of locks and isolation levels nothing is left: a writer is alone anyway. Checkpoints have no blobs beside them.
    """
    if _NOTHING.search(statement):
        return "SELECT 1"
    text = _UNNEST.sub(_zipped, _RECORDS.sub(_from_objects, statement))
    # Without a condition, ON CONFLICT would be read as the condition of a join.
    text = _INSERTS_FROM.sub(r"\1 WHERE true\2", text)
    for pattern, by in _RULES:
        text = pattern.sub(by, text)
    return text


# The limit, which is none, has the JSON read once; else it would be read for every row of the table it is joined with.


def _from_objects(found: re.Match[str]) -> str:
    """Rows from an array of objects: a column for each field."""
    columns = ", ".join(_field(*column.split(maxsplit=1)) for column in found[3].split(","))
    return f"(SELECT {columns} FROM json_each(%({found[1]})s) LIMIT -1) AS {found[2]}"  # noqa: S608  # all parts are ours


def _field(name: str, kind: str) -> str:
    value = f"json_extract(value, '$.{name}')"
    return f"{f'moment({value})' if kind.strip() == 'timestamptz' else value} AS {name}"


def _zipped(found: re.Match[str]) -> str:
    """Rows from several arrays of one length: a column for each array."""
    arrays = ", ".join(f"%({name})s" for name in re.findall(r"%\((\w+)\)s", found[1]))
    columns = ", ".join(f"json_extract(value, '$[{n}]') AS {name}" for n, name in enumerate(found[3].split(",")))
    return f"(SELECT {columns} FROM json_each(zipped({arrays})) LIMIT -1) AS {found[2]}"  # noqa: S608  # all parts are ours


Procedure = Callable[..., list[dict[str, object]]]
Twins = Mapping[str, "str | Procedure"]
"""By the statement for Postgres, that for SQLite, or what does its work."""
