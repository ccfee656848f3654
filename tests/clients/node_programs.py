"""Programs in Node: what they need is installed in a cache folder outside the repository; they are told what to do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from clients.chat import Shown

SOURCES: Final = Path(__file__).parent / "node"
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "everthread-clients"


def npm(folder: Path, *arguments: str) -> None:
    """npm in a folder; the test is skipped where that fails."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    done = subprocess.run(
        ["npm", *arguments, "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder, capture_output=True, text=True,
        timeout=900, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"npm {arguments[0]} in {folder} failed: {done.stderr[-500:]}")


def installed() -> Path:
    """The folder with our programs and their packages; packages are installed again when package.json has changed."""
    folder = CACHE / "node"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = (SOURCES / "package.json").read_text()
    mark = folder / ".installed"
    for source in SOURCES.iterdir():
        shutil.copy(source, folder / source.name)
    if not mark.exists() or mark.read_text() != wanted:
        npm(folder, "install")
        mark.write_text(wanted)
    return folder


class NodeProgram:
    """A running program.

    Args:
        process: it reads commands and writes answers, each JSON on a line.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, command: str, **arguments: Any) -> Any:
        """Tell it what to do; gives what it answers."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            pytest.fail(f"the program ended with {self._process.wait(10)}")
        answer = json.loads(line)
        if "error" in answer:
            pytest.fail(f"{command}: {answer['error']}", pytrace=False)
        return answer["value"]


@contextmanager
def node_program(name: str, *arguments: str) -> Iterator[NodeProgram]:
    """A program of ours, while it runs."""
    folder = installed()
    process = subprocess.Popen(
        ["node", name, *arguments], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield NodeProgram(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


class NodeChat:
    """A chat client in Node.

    Args:
        tell: the program.
    """

    def __init__(self, tell: NodeProgram) -> None:
        self.tell = tell
        self.open(None)

    def open(self, thread_id: str | None) -> None:
        self.tell("open", threadId=thread_id)

    def reload(self) -> None:
        self.tell("reload")

    def choose(self, thread_id: str, title: str) -> None:
        self.tell("choose", threadId=thread_id, titles=[title, thread_id])

    def say(self, text: str) -> None:
        self.tell("say", text=text)

    def say_and_cancel(self, text: str) -> None:
        self.tell("sayAndCancel", text=text, words=5)

    def edit(self, question: str, to: str) -> None:
        self.tell("edit", question=question, to=to)

    def regenerate(self) -> None:
        self.tell("regenerate")

    def shown(self) -> list[Shown]:
        return [Shown(role, text) for role, text in self.tell("shown")]

    def branch(self, text: str) -> tuple[int, int] | None:
        found = self.tell("branch", text=text)
        return (found[0], found[1]) if found else None

    def thread_id(self) -> str:
        return str(self.tell("threadId"))
