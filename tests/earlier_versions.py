"""Earlier versions of the program, out of the history of this repository, as processes beside today's."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parent.parent

OF_SCHEMA = {
    1: "8dde916", 2: "6c762a5", 3: "51a057d", 7: "a8ca3b3", 9: "a6d7207", 10: "683f7ac", 11: "370a225", 12: "83b718c",
    13: "e081181", 14: "73661e3", 15: "80dfd70", 16: "9aecec9", 18: "124f9d3", 19: "f4af31e", 20: "ec48d72",
    21: "cdc7fc6", 22: "26baf4d", 23: "eca7f2e", 24: "950a4ab", 25: "4b590d8", 26: "f96a3fa",
}  # fmt: skip
"""The commit that first had a Postgres schema of so many steps; those that are missing never stood alone."""

TALK = """
import asyncio, sys
from itertools import count
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from everthread import Settings, open_graph


async def main(thread, values):
    model = GenericFakeChatModel(messages=(AIMessage(f"Reply {n}.") for n in count(1)))
    settings = Settings(web_search="off", summary_model="extractive", **values)
    async with open_graph(settings, model=model, embeddings=DeterministicFakeEmbedding(size=8)) as graph:
        print("open", flush=True)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            said = {"messages": [("user", line.strip())]}
            state = await graph.ainvoke(said, {"configurable": {"thread_id": thread}}, context={"user_id": "ada"})
            if hasattr(graph, "asettled"):
                await graph.asettled()
            print(state["messages"][-1].content, flush=True)
"""


def checked_out(commit: str, folder: Path) -> Path:
    """The program as it was at a commit; the folder for PYTHONPATH.

    Raises:
        subprocess.CalledProcessError: this is no clone, or one without its history.
    """
    tar = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        archive.extractall(folder / "everthread", filter="data")
    shutil.rmtree(folder / "everthread" / "tests", ignore_errors=True)
    return folder


def talking(folder: Path, thread: str, **values: object) -> subprocess.Popen[str]:
    """A process of the program in a folder that says "open", and a reply to each line that it is given."""
    script = f"{TALK}\nasyncio.run(main({thread!r}, {values!r}))"
    return subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def say_to(process: subprocess.Popen[str], *lines: str) -> list[str]:
    """Say something to a process and wait for each reply."""
    assert process.stdin is not None
    assert process.stdout is not None
    replies = []
    for line in lines:
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        replies.append(process.stdout.readline().strip())
    return replies
