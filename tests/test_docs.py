"""The docs say what the code does: generated parts are up to date, examples run, files are named."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from test_package import ROOMS

from everthread.cli.json_output import RECORDS, schema_text
from everthread.cli.reference import graph_picture, operator_table, run_table
from everthread.doors.evaluation import Evaluation
from everthread.settings.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
GENERATED = {
    ("README.md", "graph"): lambda: f"```mermaid\n{graph_picture()}\n```",
    ("docs/settings.md", "what a run may choose"): run_table,
    ("docs/settings.md", "what the operator sets"): operator_table,
}
PRINTED = {**RECORDS, "eval": list[Evaluation]}


@pytest.mark.parametrize(("file", "part"), GENERATED)
def test_generated_parts_of_the_docs_are_up_to_date(file: str, part: str, request: pytest.FixtureRequest) -> None:
    pattern = re.compile(rf"(<!-- generated: {part} -->\n).*?(<!-- end -->)", re.DOTALL)
    text = (ROOT / file).read_text()
    fresh, found = pattern.subn(lambda match: f"{match[1]}{GENERATED[file, part]()}\n{match[2]}", text)
    assert found == 1
    if request.config.getoption("--write-docs"):
        (ROOT / file).write_text(fresh)
    assert fresh == (ROOT / file).read_text(), "run `make docs`"


@pytest.mark.parametrize("command", PRINTED)
def test_the_schema_of_what_a_command_prints_is_in_the_docs(command: str, request: pytest.FixtureRequest) -> None:
    file = ROOT / "docs" / "schemas" / f"{command}.json"
    if request.config.getoption("--write-docs"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(schema_text(PRINTED[command]) + "\n")
    assert file.read_text() == schema_text(PRINTED[command]) + "\n", "run `make docs`"


def test_what_troubleshooting_quotes_is_what_errors_say() -> None:
    said = [text for room in ROOMS for file in (ROOT / room).rglob("*.py") for text in _texts_of(file)]
    quoted = re.findall(r'^\| "(.+?)" \|', (ROOT / "docs" / "troubleshooting.md").read_text(), re.MULTILINE)
    assert len(quoted) >= 10
    for quote in quoted:
        parts = [re.escape(part.strip(" .")) for part in re.split(r"\.\.\.|\d+", quote) if part.strip(" .")]
        assert any(re.search(".*".join(parts), text, re.DOTALL) for text in said), quote


def _texts_of(file: Path) -> list[str]:
    """The texts in a file of Python, with a blank for each value in them."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(part.value) if isinstance(part, ast.Constant) else " " for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found


@pytest.mark.slow
def test_the_python_example_of_the_readme_runs(default_environment: dict[str, str]) -> None:
    import subprocess
    import sys

    (example,) = re.findall(r"```python\n(import asyncio.*?)```", README.read_text(), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", example],
        env=default_environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "not a language model" in done.stdout


def test_every_variable_of_the_example_file_is_a_setting() -> None:
    names = re.findall(r"^#? ?EVERTHREAD_(\w+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)
    assert names
    assert {name.lower() for name in names} <= set(Settings.model_fields)


@pytest.mark.parametrize(
    "word",
    ["keyword_check", "slm_router", "web_search", "memory_retrieval", "pairing", "context_assembly", "llm_call",
     "remember", "summarize", "command"],
)  # fmt: skip
def test_every_node_has_its_file(word: str) -> None:
    assert f"async def {word}(" in (ROOT / "nodes" / f"{word}.py").read_text()


def test_files_are_short_and_named_for_what_they_hold() -> None:
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    assert not [file.name for file in files if re.search("util|helper|manager", file.name)]
    assert not [f"{file} has {n} lines" for file in files if (n := len(file.read_text().splitlines())) > 300]
