"""How long everthread takes to start, part by part: `python -m bench.start [--runs 5] [--json FILE]`.

Each part runs in a process of its own, on a data folder that was used before; the median of the runs. Wall clock and
processor milliseconds: on a busy machine only the latter mean something. The run before them, which is not
counted, leaves the bytecode of all modules, as an installation has it, whatever PYTHONDONTWRITEBYTECODE says.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import resource
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

BIN: Final = Path(sys.executable).parent
ROOT: Final = Path(__file__).resolve().parents[1]

Figure = tuple[float, float]
"""Milliseconds of wall clock and of processor."""

HELLO: Final = """from typing import TypedDict
from langgraph.graph import END, START, StateGraph
class State(TypedDict):
    text: str
builder = StateGraph(State)
builder.add_node('hello', lambda state: {'text': 'hello'})
builder.add_edge(START, 'hello')
builder.add_edge('hello', END)
graph = builder.compile()
"""

PARTS: Final = {
    "python": "pass",
    "import everthread": "import everthread",
    "LangGraph imported": "import langgraph.graph",
    "LangGraph's hello world: a graph of one node, run once": f"{HELLO}graph.invoke({{'text': ''}})",
    "import open_graph": "from everthread import open_graph",
    "open_graph on SQLite": "from everthread import Settings, open_graph\n"
    "with open_graph(Settings(database_url='sqlite')): pass",
    "open_graph on the embedded Postgres": "from everthread import open_graph\nwith open_graph(): pass",
    "embedding model, one question": "from everthread.models.embedding_models import load_embeddings\n"
    "from everthread.models.bundled_weights import BUNDLED_MODEL\nload_embeddings(BUNDLED_MODEL).embed_query('hello')",
}
CHAT: Final = "chat: one line of a pipe answered, offline model"
PROMPT: Final = "chat in a terminal: the prompt stands"
AT_ONCE: Final = "and the first message, sent at once, is answered"
LATER: Final = "and sent three seconds later"
SERVERS: Final = {"langgraph dev, hello world: ready": "hello", "langgraph dev, everthread: ready": "ours"}


def main() -> None:
    """Time every part and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--server", action="store_true", help="time langgraph dev alone, beside its hello world")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        figures = of_servers(folder, options.runs) if options.server else of_parts(folder, options.runs)
    print("| | ms | of them processor |\n|---|---|---|")
    for name, (wall, processor) in figures.items():
        print(f"| {name} | {wall:,.0f} | {processor:,.0f} |")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


def of_parts(folder: Path, runs: int) -> dict[str, Figure]:
    """What a person at a terminal waits for."""
    commands = {name: [sys.executable, "-c", code] for name, code in PARTS.items()}
    commands[CHAT] = [str(BIN / "everthread"), "chat"]
    figures = {name: timed(command, folder, runs) for name, command in commands.items()}
    chats = [typed(commands[CHAT], folder, wait) for _ in range(runs) for wait in (0, 3)]
    figures[PROMPT] = middle(prompt for prompt, _ in chats)
    figures[AT_ONCE], figures[LATER] = middle(r for _, r in chats[::2]), middle(r for _, r in chats[1::2])
    return figures


def of_servers(folder: Path, runs: int) -> dict[str, Figure]:
    """The LangGraph server with a graph of one node, and with ours, by turns; the first run of each is not counted."""
    (folder / "hello.py").write_text(HELLO)
    ours = json.loads((ROOT / "langgraph.json").read_text())
    configs = {"hello": {"graphs": {"hello": "./hello.py:graph"}}, "ours": {**ours, "env": {}}}
    for name, config in configs.items():
        (folder / f"{name}.json").write_text(json.dumps({**config, "dependencies": ["."]}))
    found = [{name: served(folder, config) for name, config in SERVERS.items()} for _ in range(runs + 1)]
    return {name: middle(one[name] for one in found[1:]) for name in SERVERS}


def served(folder: Path, config: str) -> Figure:
    """Until the LangGraph server of a configuration in the folder answers that it is well."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(BIN / "langgraph"), "dev", "--no-browser", "--no-reload", "--port", str(port)]
    environment = {**for_tests(folder), "LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "true"}
    started = time.perf_counter()
    with subprocess.Popen(
        [*command, "--config", str(folder / f"{config}.json")],
        cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        while True:
            with suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ok", timeout=5).close()
                break
            if server.poll() is not None:
                raise SystemExit(f"langgraph dev ended with {server.returncode}")
            time.sleep(0.02)
        ready = 1000 * (time.perf_counter() - started), processor_of(server.pid)
        server.terminate()
    return ready


def timed(command: list[str], folder: Path, runs: int) -> Figure:
    """Wall clock and processor milliseconds of a command, medians; one run before them is not counted."""
    environment = for_tests(folder)
    wall, processor = [], []
    for _ in range(runs + 1):
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, env=environment, input="hello\n", text=True, capture_output=True, check=True)
        wall.append(1000 * (time.perf_counter() - started))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor.append(1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return median(wall[1:]), median(processor[1:])


def typed(command: list[str], folder: Path, seconds: float) -> tuple[Figure, Figure]:
    """A chat in a terminal: until its prompt stands, and from a message, sent so much later, to its answer."""
    started = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command[0], command, {**for_tests(folder), "TERM": "xterm", "COLUMNS": "80"})
    watch(terminal, ">")
    prompt = 1000 * (time.perf_counter() - started), processor_of(pid)
    watch(terminal, None, seconds)
    sent, before = time.perf_counter(), processor_of(pid)
    os.write(terminal, b"hello\r")
    watch(terminal, "I am not")
    reply = 1000 * (time.perf_counter() - sent), processor_of(pid) - before
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)
    return prompt, reply


def watch(terminal: int, text: str | None, seconds: float = 60) -> None:
    """Read what a terminal shows until this text comes, or for so long; where the cursor is, it is told."""
    shown, deadline = "", time.monotonic() + seconds
    while time.monotonic() < deadline and (text is None or text not in shown):
        if select.select([terminal], [], [], 0.05)[0]:
            new = os.read(terminal, 4096).decode(errors="replace")
            shown += new
            if "\x1b[6n" in new:
                os.write(terminal, b"\x1b[1;1R")
    if text is not None and text not in shown:
        raise SystemExit(f"The chat did not show {text!r} in {seconds:g} s.")


def processor_of(pid: int) -> float:
    """Milliseconds that a process has computed so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def middle(figures: Iterable[Figure]) -> Figure:
    """The medians of wall clock and processor."""
    wall, processor = zip(*figures, strict=True)
    return median(wall), median(processor)


def for_tests(folder: Path) -> dict[str, str]:
    """The environment, with data in this folder and no model."""
    ours = {"DATA_DIR": str(folder), "DATABASE_URL": "postgres", "MODEL": "offline"}
    environment = os.environ | {f"EVERTHREAD_{name}": value for name, value in ours.items()}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


if __name__ == "__main__":
    main()
