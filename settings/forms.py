"""Marks on the fields of `Settings` that a form reads: the nodes a field belongs to, and what a process fixes."""

from __future__ import annotations

from typing import Final

from pydantic.config import JsonDict

PROCESS: Final[JsonDict] = {"scope": "process"}
"""Marks what is fixed when the process starts: a single run cannot change it."""


def on_node(*names: str) -> JsonDict:
    """JSON schema metadata that makes Studio show a setting on the nodes it belongs to."""
    return {"langgraph_nodes": list(names)}
