"""The word lists of languages: JSON files in the folder `data`, each read once in a process."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from .fold import fold

FOLDER: Final = Path(__file__).with_name("data")


def load(name: str) -> Any:
    """The content of one file (a blocking read).

    Args:
        name: its path in the folder, without `.json`: "stop_words", "facts/de".

    Raises:
        OSError: it cannot be read.
    """
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@cache
def phrases(name: str, group: str) -> tuple[str, ...]:
    """The phrases of a group of a file in all languages together, folded, the longest first (a blocking read)."""
    folded = {fold(phrase) for of_language in load(name)[group].values() for phrase in of_language}
    return tuple(sorted(folded, key=lambda phrase: (-len(phrase), phrase)))


def load_folder(name: str) -> dict[str, Any]:
    """The content of each file of a folder by its name, which is the code of a language (a blocking read).

    Raises:
        FileNotFoundError: there is none.
    """
    files = sorted((FOLDER / name).glob("*.json"))
    if not files:
        raise FileNotFoundError(f"There are no word lists in {FOLDER / name}: reinstall everthread.")
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}
