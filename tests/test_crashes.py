"""Short runs of `bench.crash` and `bench.faults`: whatever is killed or fails, nothing is lost and nothing doubled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.faults import measure

pytestmark = pytest.mark.slow


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes that are killed are forked")
@pytest.mark.parametrize("storage", ["sqlite", "postgres"])
def test_processes_that_are_killed_at_each_point_lose_nothing(storage: str, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    words = ["--kills", "7", "--storage", storage, "--seed", "3", "--json", str(figures)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, "-m", "bench.crash", *words], check=True, env=environment, cwd=Path(__file__).parent.parent
    )
    (found,) = json.loads(figures.read_text())
    assert found["kills"] >= 5  # a point may lie behind all that a process does
    assert (found["refused"], found["failed"]) == (0, 0)
    assert {name for name in found["faults"] if not name.startswith("finding of an unfinished turn")} == set()


@pytest.mark.parametrize("fault", ["lock", "gone"])
async def test_a_fault_loses_nothing_and_doubles_nothing(fault: str) -> None:
    found: dict[str, Any] = await measure(fault, size=0.2)
    assert found["acknowledged"] > 0
    assert (found["lost"], found["doubled"], found["findings"]) == (0, 0, 0)
