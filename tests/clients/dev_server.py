"""`langgraph dev` with this repository's graph, and the terminal on the same storage."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
BIN: Final = Path(sys.executable).parent
GRAPH: Final = "everthread"
CONTROL: Final = os.environ.get("CONTROL") == "1"
"""Whether a plain graph is served in the place of this repository's, to test the bench itself."""

TERMINAL: Final = "from the terminal"
"""The name of the thread that the terminal made before the server was started."""

TERMINAL_LINES: Final = (
    "In the terminal I planted a walnut.",
    "In the terminal I planted a cherry.",
    "In the terminal I planted a quince.",
    "In the terminal I planted a medlar.",
)


@contextmanager
def dev_server(environment: dict[str, str]) -> Iterator[str]:
    """The server in a folder of its own, with this repository's graph; yields its URL."""
    folder = Path(tempfile.mkdtemp(prefix="everthread-clients-"))
    if CONTROL:
        shutil.copytree(Path(__file__).parent / "control", folder, dirs_exist_ok=True)
    else:
        config = json.loads((ROOT / "langgraph.json").read_text())
        (folder / "langgraph.json").write_text(json.dumps({**config, "dependencies": [str(ROOT)]}))
    try:
        with server(folder, environment) as url:
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def server(project: Path, environment: dict[str, str]) -> Iterator[str]:
    """`langgraph dev` in a folder, on a free port; yields its URL, and ends it as Ctrl-C would."""
    port = free_port()
    command = [str(BIN / "langgraph"), "dev", "--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(port)]
    log = project / f"server-{port}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=project, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, process, log)
        yield url
        assert "BlockingError" not in log.read_text()
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def in_terminal(environment: dict[str, str], name: str, *lines: str) -> None:
    """A conversation in the terminal: these lines said in the thread of that name."""
    done = subprocess.run(
        [str(BIN / "everthread"), "chat", "--thread", name], env=environment, input="\n".join(lines) + "\n",
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 90
    while time.monotonic() < end:
        if process.poll() is not None:
            pytest.fail(f"the server ended: {log.read_text()[-3000:]}")
        try:
            if httpx.get(f"{url}/ok", timeout=1).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    pytest.fail(f"the server did not start: {log.read_text()[-3000:]}")
