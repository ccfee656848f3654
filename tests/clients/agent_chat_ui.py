"""Agent Chat UI, built from the template in the npm package `create-agent-chat-app`, and a browser to show it in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest
from clients.node_programs import CACHE, installed, npm

LEFT_OUT: Final = ("@langchain/langgraph-api", "@langchain/langgraph-cli", "prettier", "recharts", "esbuild",
                   "esbuild-plugin-tailwindcss", "@tailwindcss/postcss")  # fmt: skip
"""Packages of the template that the page does not use."""

NEWER: Final = {"@langchain/core": "1.4.0", "@langchain/langgraph": "^1.2.9", "@langchain/langgraph-sdk": "1.15.0"}
"""Packages in the versions that the UI has by now."""

BUILDERS: Final = ("@vitejs/plugin-react", "vite", "tailwindcss", "tailwind-scrollbar")

EDITS: Final = (
    (
        "providers/Stream.tsx", "threadId: threadId ?? null,",
        "threadId: threadId ?? null,\n    fetchStateHistory: true,",
    ),
    (
        "components/thread/index.tsx", 'streamMode: ["values"],',
        'streamMode: ["values"],\n        streamSubgraphs: true,\n        streamResumable: true,',
    ),
    (
        "components/thread/messages/human.tsx", 'streamMode: ["values"],',
        'streamMode: ["values"],\n        streamSubgraphs: true,\n        streamResumable: true,',
    ),
    ("components/thread/index.tsx", "content: input,", 'content: [{ type: "text", text: input }],'),
)  # fmt: skip
"""What the UI asks the server for by now, where the template is older: file in src, text, and what it becomes."""

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")


def built_ui() -> str:
    """The folder of the built page; it is built once."""
    source = installed() / "node_modules" / "create-agent-chat-app" / "templates" / "vite"
    folder = CACHE / "agent-chat-ui"
    recipe = json.dumps([NEWER, EDITS, LEFT_OUT, (source.parents[1] / "package.json").read_text()])
    mark = folder / ".built"
    if not mark.exists() or mark.read_text() != recipe:
        shutil.rmtree(folder / "src", ignore_errors=True)
        shutil.copytree(source, folder, dirs_exist_ok=True)
        _brought_up_to_date(folder)
        npm(folder, "install", "--legacy-peer-deps")
        build = ["node", "node_modules/vite/bin/vite.js", "build", "--logLevel", "error"]
        subprocess.run(build, cwd=folder, check=True, timeout=600)
        mark.write_text(recipe)
    return str(folder / "dist")


def browser() -> str:
    """The path of Chromium; installed with apt where it is missing and that is allowed."""
    found = _found()
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        command = "apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium"
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["sh", "-c", command], env=environment, capture_output=True, timeout=900, check=False)
        found = _found()
    if found is None:
        pytest.skip("Chromium is not installed, and apt could not install it")
    return found


def _found() -> str | None:
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def _brought_up_to_date(folder: Path) -> None:
    package = json.loads((folder / "package.json").read_text())
    kept = {name: version for name, version in package["dependencies"].items() if name not in LEFT_OUT}
    package["dependencies"] = {**kept, **NEWER}
    package["devDependencies"] = {name: package["devDependencies"][name] for name in BUILDERS}
    (folder / "package.json").write_text(json.dumps(package))
    for name, text, new in EDITS:
        file = folder / "src" / name
        before = file.read_text()
        assert text in before, f"the template has changed: {name}"
        file.write_text(before.replace(text, new))
