"""What the docs show works: Python runs, commands are commands, JSON is JSON, and the site builds."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from everthread import open_graph
from everthread.cli import main
from everthread.models.offline import OfflineChatModel

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")])
_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of a page in a language, in their order."""
    return [text for name, text in _BLOCK.findall(page.read_text()) if name == language]


def with_blocks(language: str) -> list[Any]:
    """The pages that have any."""
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES if blocks(page, language)]


def test_a_block_that_fails_is_seen() -> None:
    with pytest.raises(ZeroDivisionError):
        run_blocks(["x = 0", "await __import__('asyncio').sleep(0)", "1 / x"], {})


@pytest.mark.slow
@pytest.mark.parametrize("page", with_blocks("python"))
def test_the_python_of_a_page_runs(
    page: Path, default_environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From top to bottom, with a `model`, a `graph` and a `thread_id`; on a server where it talks to one."""
    code = blocks(page, "python")
    own = {"EVERTHREAD_DATABASE_URL": "sqlite", "EVERTHREAD_DATA_DIR": str(tmp_path), "EVERTHREAD_MODEL": "offline"}
    for name, value in {**default_environment, **own}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    if "get_client" in "".join(code):
        from clients.dev_server import dev_server

        with dev_server({**default_environment, **own}) as url:
            run_blocks([block.replace("http://localhost:2024", url) for block in code], {})
    else:
        with open_graph() as graph:
            graph.invoke({"messages": [("user", "Hello.")]}, {"configurable": {"thread_id": "t1", "user_id": "ada"}})
            names = {"model": OfflineChatModel(), "graph": graph, "thread_id": "t1", "__name__": "a_page_of_the_docs"}
            run_blocks(code, names)


def run_blocks(code: list[str], names: dict[str, Any]) -> None:
    with asyncio.Runner() as runner:
        for block in code:
            running = eval(compile(block, "<docs>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
            if inspect.iscoroutine(running):
                runner.run(running)


@pytest.mark.parametrize("page", with_blocks("sh"))
def test_the_commands_of_a_page_are_commands(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in "\n".join(blocks(page, "sh")).replace("\\\n", " ").split("\n"):
        words = re.sub(r"\s#.*|^#.*", "", line).split()
        while words and re.match(r"[A-Z_]+=|echo|\||\"", words[0]) and words[0] != "everthread":
            words.pop(0)
        if words[:1] == ["make"]:
            assert words[1] in targets, line
        if words[:1] == ["everthread"]:
            given = {word.split("=")[0] for word in words if word.startswith("--")}
            assert given <= options_of(words[1]), line


def options_of(name: str) -> set[str]:
    group: Any = typer.main.get_command(main.app)
    command = main._loaded(name) if name in main.COMMANDS else group.commands[name]
    return {"--help", *(option for parameter in command.params for option in parameter.opts)}


@pytest.mark.parametrize("page", with_blocks("json"))
def test_the_json_of_a_page_is_json(page: Path) -> None:
    for block in blocks(page, "json"):
        for line in block.splitlines():
            assert json.loads(line)


def test_what_is_set_by_a_variable_is_a_setting() -> None:
    from everthread.settings.settings import Settings

    others = {"DEBUG", "LOG_LEVEL", "SERVER_GRACE", "NAMESPACE"}
    known = {name.upper() for name in Settings.model_fields} | others
    files = [*PAGES, *(file for file in ROOT.glob("*/**/*.py") if not {".venv", "tests", "build"} & set(file.parts))]
    wrong = {
        f"{file.relative_to(ROOT)}: EVERTHREAD_{name}"
        for file in files
        for name in re.findall(r"EVERTHREAD_([A-Z_]+)", file.read_text(errors="replace"))
        if name not in known
    }
    assert wrong == set()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, capture_output=True, text=True, timeout=850, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "api.html").read_text()
    assert "open_memory" in page
    assert "arecall" in page


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Examples warn on purpose; the tests that run after them in this process hear every warning again."""
    logger = logging.getLogger("everthread")
    before = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(before)
