"""The queries by which facts and pins leave the database and come into another: part of `transfer`."""

from __future__ import annotations

from typing import Any

from ..facts.rows import fact_row
from .transfer_lines import FactLine, PinLine


def row_of(user_id: str, line: FactLine | PinLine, thread: str) -> dict[str, Any]:
    """The columns of a line, as JSON."""
    if isinstance(line, FactLine):
        return fact_row(user_id, line.fact(thread))
    row = line.model_dump(mode="json", exclude={"kind", "thread", "sort"})
    return {**row, "kind": line.sort, "thread_id": thread}
