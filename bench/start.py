"""How long everthread takes to start, part by part: `python -m bench.start [--runs 5] [--json FILE]`.

Each part runs in a process of its own, on a data folder that was used before; the median of the runs. Wall clock and
processor milliseconds: on a busy machine only the latter mean something. The run before them, which is not
counted, leaves the bytecode of all modules, as an installation has it, whatever PYTHONDONTWRITEBYTECODE says.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

PARTS: Final = {
    "python": "pass",
    "import everthread": "import everthread",
    "import open_graph": "from everthread import open_graph",
    "open_graph on SQLite": "from everthread import Settings, open_graph\n"
    "with open_graph(Settings(database_url='sqlite')): pass",
    "open_graph on the embedded Postgres": "from everthread import open_graph\nwith open_graph(): pass",
    "embedding model, one question": "from everthread.models.embedding_models import load_embeddings\n"
    "from everthread.models.bundled_weights import BUNDLED_MODEL\nload_embeddings(BUNDLED_MODEL).embed_query('hello')",
}
CHAT: Final = "chat: one line answered, offline model"


def main() -> None:
    """Time every part and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    commands = {name: [sys.executable, "-c", code] for name, code in PARTS.items()}
    commands[CHAT] = [str(Path(sys.executable).with_name("everthread")), "chat"]
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        figures = {name: timed(command, Path(folder), options.runs) for name, command in commands.items()}
    print("| | ms | of them processor |\n|---|---|---|")
    for name, (wall, processor) in figures.items():
        print(f"| {name} | {wall:,.0f} | {processor:,.0f} |")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


def timed(command: list[str], folder: Path, runs: int) -> tuple[float, float]:
    """Wall clock and processor milliseconds of a command, medians; one run before them is not counted."""
    environment = {**os.environ, "EVERTHREAD_DATA_DIR": str(folder), "EVERTHREAD_MODEL": "offline"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    wall, processor = [], []
    for _ in range(runs + 1):
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, env=environment, input="hello\n", text=True, capture_output=True, check=True)
        wall.append(1000 * (time.perf_counter() - started))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor.append(1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return median(wall[1:]), median(processor[1:])


if __name__ == "__main__":
    main()
