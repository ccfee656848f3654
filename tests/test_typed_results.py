"""Results are typed: a misspelt key or attribute is an error to mypy and to pyright, and what is right is none."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent

CODE = """
from everthread import BuiltContext, MemoryRetriever, SummaryTree, TeamSpace, open_graph, open_memory


async def main() -> None:
    async with open_graph() as graph:
        state = await graph.ainvoke({"messages": [("user", "hi")]}, {"configurable": {"thread_id": "t"}}, context={})
        print(state["messages"][-1].content, state.get("structured_response"))
        print(state["recal"])  # wrong
        if "__interrupt__" in state:
            print(state["__interrupt__"][0].value)
        parts = await graph.ainvoke({"messages": []}, stream_mode="updates")
        print(parts["anything"])
    with open_graph() as graph:
        print(graph.invoke({"messages": []})["messages"])
        print(graph.invoke({"messages": []})["mesages"])  # wrong
    async with open_memory() as memory:
        for thread in await memory.athreads():
            print(thread["thread_id"], thread["last_at"])
            print(thread["thread"])  # wrong
        for found in await memory.arecall("a dog"):
            print(found.score, found.fragments[0].content)
            print(found.fragment)  # wrong
        print((await memory.afacts())[0].subjekt)  # wrong
        print((await memory.ahistory("t"))[0].mesage)  # wrong
        await memory.aremember("I have a dog.", thread_id="t")
        await memory.aremember([("user", "hi"), {"role": "assistant", "content": "hello"}], thread_id="t")
        await memory.aremember(7, thread_id="t")  # wrong
        tree: SummaryTree = await memory.atrace("t", "s")
        print(tree.summary.content, tree.summarie)  # wrong
        built: BuiltContext = await memory.abuild_context("a dog?", thread_id="t")
        print(built.tokens, built.tokenz)  # wrong
        print((await memory.aforget("t", messages=["m"])).mesages)  # wrong
        print((await memory.aexport("file")).messages, (await memory.aexplain("t")).recal)  # wrong
        print(MemoryRetriever(memory=memory).invoke("a dog")[0].page_content)
        await TeamSpace(memory, "crew").agive("bob", "read")
        await TeamSpace(memory, "crew").agive("bob", "admin")  # wrong
"""
WRONG = {number for number, line in enumerate(CODE.splitlines(), start=1) if line.endswith("# wrong")}


@pytest.fixture
def application(tmp_path: Path) -> Path:
    """A folder with a small application, and the package under the name that it is imported by."""
    (tmp_path / "application.py").write_text(CODE)
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "everthread").symlink_to(PACKAGE)
    return tmp_path


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_mypy_sees_what_is_misspelt(application: Path) -> None:
    cache = str(PACKAGE / ".mypy_cache" / "application")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "application.py"],
        cwd=application, env={**os.environ, "MYPYPATH": "packages"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = re.findall(r"^application\.py:(\d+): error", done.stdout, re.MULTILINE)
    assert set(map(int, found)) == WRONG, done.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_pyright_sees_what_is_misspelt(application: Path) -> None:
    config = {"typeCheckingMode": "standard", "extraPaths": ["packages"], "include": ["application.py"]}
    (application / "pyrightconfig.json").write_text(json.dumps(config))
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson", "-p", str(application)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = json.loads(done.stdout)["generalDiagnostics"]
    assert {one["range"]["start"]["line"] + 1 for one in found if one["severity"] == "error"} == WRONG, done.stdout
