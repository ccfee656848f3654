"""What costly tests run over: all in `make test-all`, of it a part in `make test`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis
import pytest

from everthread.settings.profiles import PROFILES
from everthread.settings.settings import Settings


def each(values: Any, *, quick: Any) -> list[Any]:
    """Parameters, those that are not `quick` marked as slow; `quick` may be the number of the first."""
    first = list(values)[:quick] if isinstance(quick, int) else quick
    return [pytest.param(value, marks=[] if value in first else [pytest.mark.slow]) for value in values]


EACH_PROFILE = each(PROFILES, quick={"multi_strategy", "archive"})
"""The profiles; `make test` runs the default, and the one that is the least like it."""

EACH_STORAGE = each(["postgres", "sqlite", "json"], quick={"postgres", "sqlite"})
"""The storages; the rows of a JSON file are held in SQLite."""


def costly(test: Any) -> Any:
    """Fewer examples, for what has a long conversation in each."""
    return hypothesis.settings(max_examples=max(8, hypothesis.settings.default.max_examples // 4))(test)  # type: ignore[union-attr]


def on_storage(kind: str, settings: Settings, folder: Path) -> Settings:
    """The settings of a test, which are of its schema, on this storage; a file stands in the folder."""
    return settings if kind == "postgres" else settings.but(database_url=kind, data_dir=folder)
