"""A worker of `bench.load` that is a LangGraph server, `langgraph dev`, with its clients."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from langgraph_sdk import get_client
from load import MODEL_SECONDS, Load, Worker, resident

from everthread import OverloadError


class ServedWorker(Worker):
    """One LangGraph server with its clients, which are in this process."""

    async def run(self) -> dict[str, Any]:
        """Take turns until the time is over; processor and memory are the server's."""
        with serving(self._folder, self._load) as (url, pid):
            client = get_client(url=url, timeout=httpx.Timeout(600.0, connect=60.0))
            await self._turn(client, f"first of {self._names[0]}", 0)
            self._taken = 0
            before, cpu = resident(pid), processor_seconds(pid)
            await self._converse_all(client)
            return self._figures(processor_seconds(pid) - cpu, resident(pid), resident(pid) - before)

    async def _ask(self, client: Any, name: str, text: str) -> None:
        state = await client.runs.wait(
            str(uuid.uuid5(uuid.NAMESPACE_OID, name)),
            "everthread",
            input={"messages": [{"role": "user", "content": text}]},
            context={"user_id": f"user of {name}"},
            if_not_exists="create",
        )
        if "messages" not in state:
            refused = re.search(r"OverloadError.*?(\d+) s", str(state))
            raise OverloadError("refused", float(refused[1])) if refused else RuntimeError(str(state)[:200])


@contextmanager
def serving(folder: Path, load: Load) -> Iterator[tuple[str, int]]:
    """`langgraph dev` with the graph of this bench, on the storage of the folder: its URL and its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    project = Path(tempfile.mkdtemp(prefix="everthread-load-"))
    config = json.loads((Path(__file__).parent.parent / "langgraph.json").read_text())
    graphs = {"everthread": {"path": "bench.load_graph:graph"}}
    (project / "langgraph.json").write_text(json.dumps({**config, "graphs": graphs, "dependencies": [str(project)]}))
    (project / ".env").touch()
    own = {
        "EVERTHREAD_DATA_DIR": str(folder),
        "EVERTHREAD_DATABASE_URL": load.storage,
        "EVERTHREAD_WEB_SEARCH": "off",
        "EVERTHREAD_SUMMARY_MODEL": "extractive",
        "EVERTHREAD_TURNS": load.turns,
        MODEL_SECONDS: str(load.model_seconds),
        "LANGSMITH_TRACING": "false",
        "PYTHONPATH": f"{Path(__file__).parents[1]}:{os.environ.get('PYTHONPATH', '')}",
    }
    command = [str(Path(sys.executable).parent / "langgraph"), "dev", "--no-browser", "--no-reload"]
    command += ["--port", str(port), "--n-jobs-per-worker", "200", "--server-log-level", "ERROR"]
    with (project / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=project, env={**os.environ, **own}, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{url}/ok", timeout=1).status_code == 200:
                    break
            if server.poll() is not None:
                break
            time.sleep(0.2)
        else:
            raise RuntimeError("the server did not start")
        if server.poll() is not None:
            raise RuntimeError((project / "log").read_text()[-2000:])
        yield url, server.pid
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
        shutil.rmtree(project, ignore_errors=True)


def processor_seconds(pid: int) -> float:
    """Processor seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
