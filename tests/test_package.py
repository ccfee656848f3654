"""What is built and installed: every module, nothing else; the public API."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import everthread

ROOT = Path(__file__).resolve().parent.parent
API = ROOT / "docs" / "api.md"
ROOMS = (
    "text", "state", "settings", "prompts", "models", "storage", "memory", "search", "compression", "facts", "assembly",
    "runtime", "nodes", "graph", "maintenance", "doors", "web", "server", "cli",
)  # fmt: skip
"""The rooms: each imports only from those before it."""

INNER = (
    "maintenance.foreign",
    "search.router",
    "storage.embedded",
    "storage.json",
    "storage.postgres",
    "storage.sqlite",
)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_wheel_holds_every_module_and_nothing_else(tmp_path: Path) -> None:
    source = tmp_path / "any-name"
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in files:
        if (ROOT / name).is_file() and not name.startswith(".types"):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(source)],
        check=True, capture_output=True, timeout=850,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {"everthread/__init__.py", "everthread/py.typed"}
    for package in ROOMS:
        for pattern in (
            "*.py",
            "*.json",
            "*.jsonl",
            "*.sql",
            "*.npy",
            "*.npz",
            "*.LICENSE.txt",
            "*.onnx",
            "*.html",
            "static/*",
        ):
            expected |= {f"everthread/{file.relative_to(ROOT)}" for file in (ROOT / package).rglob(pattern)}
    assert held == expected


def test_every_folder_with_code_is_listed_as_a_package() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    assert set(listed) == {"everthread", *(f"everthread.{name}" for name in (*ROOMS, *INNER))}
    assert [file.name for file in ROOT.glob("*.py")] == ["__init__.py"]


def test_the_public_api_can_be_imported_by_name() -> None:
    for name in everthread.__all__:
        assert getattr(everthread, name) is not None
    assert {"open_graph", "build_graph", "Settings", "PROFILES", "Summary", "Memory"} <= set(everthread.__all__)
    assert not {"graph", "state"} & set(everthread.__all__)
    assert everthread.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_what_only_names_the_graph_waits_for_no_langgraph() -> None:
    code = "import sys; from everthread import open_graph; print(*{'langgraph', 'langchain_core'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_each_exported_name_is_documented() -> None:
    listed = re.findall(
        r"^::: everthread\.(\S+)\n(?:    options:\n      members: \[(.*)\])?", API.read_text(), re.MULTILINE
    )
    documented = {target: set(members.split(", ")) if members else set[str]() for target, members in listed}
    missing = [
        name
        for name, home in everthread._HOME_OF.items()
        if not any(
            f"{module}.{name}" in documented or (module in documented and name in (documented[module] or {name}))
            for module in (home, getattr(getattr(everthread, name), "__module__", "").removeprefix("everthread."))
        )
    ]
    assert missing == []


def test_imports_point_one_way() -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {imported}"
        for index, room in enumerate(ROOMS)
        for file in (ROOT / room).rglob("*.py")
        for imported in imports_of(file)
        if imported in ROOMS[index + 1 :]
    ]
    assert wrong == []


def imports_of(file: Path) -> set[str]:
    """The rooms that a module imports from, its own among them."""
    package = file.relative_to(ROOT).parent.parts
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            target = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            found.add(target[0])
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("everthread."):
            found.add(str(node.module).split(".")[1])
    return found


def test_each_node_of_the_graph_has_a_file_of_its_own_under_120_lines() -> None:
    drawn = set(everthread.build_graph().nodes)
    files = {file.stem: file for file in (ROOT / "nodes").glob("*.py") if file.stem != "__init__"}
    assert set(files) == drawn
    assert {name for name, file in files.items() if len(file.read_text(encoding="utf-8").splitlines()) >= 120} == set()


def test_a_deployed_project_installs_what_postgres_web_search_and_the_page_need() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    needed = [".", *extras["postgres"], *extras["search"], extras["web"][0]]  # the server has what else the page needs
    assert json.loads((ROOT / "langgraph.json").read_text())["dependencies"] == needed
