"""What costly tests run over: all in `make test-all`, of it a part in `make test`."""

from __future__ import annotations

from typing import Any

import pytest

from everthread.settings.profiles import PROFILES


def _quick(names: Any, quick: set[str]) -> list[Any]:
    return [pytest.param(name, marks=[] if name in quick else [pytest.mark.slow]) for name in names]


EACH_PROFILE = _quick(PROFILES, {"multi_strategy", "archive"})
"""The profiles; `make test` runs the default, and the one that is the least like it."""

EACH_STORAGE = _quick(["postgres", "sqlite", "json"], {"postgres", "sqlite"})
"""The storages; the rows of a JSON file are held in SQLite."""
