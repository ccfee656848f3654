"""For mkdocs: the package under its name, as the repository's root, which may be called anything, is the package."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

_TAKEN = re.compile(r'^--8<-- "(.+)"$', re.MULTILINE)


def on_config(config: Any) -> Any:
    """Link the rooms into `build/source/everthread`, where mkdocs.yml has mkdocstrings look for the package."""
    source = ROOT / "build" / "source" / "everthread"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    for room in {name.split(".")[1] for name in packages if "." in name}:
        (source / room).symlink_to(ROOT / room)
    (source / "__init__.py").symlink_to(ROOT / "__init__.py")
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put in what a page takes from a file at the root, with its links as they are from here."""
    return _TAKEN.sub(lambda match: (ROOT / match[1]).read_text().replace("](docs/", "]("), markdown)
