"""The environment of the command: `.env` is read, logging set up, and misspelt names reported."""

from __future__ import annotations

import difflib
import logging
import os
import sys
from pathlib import Path
from typing import Final

from ..settings.settings import Settings
from ..state.errors import SettingsError

_PREFIX: Final = "EVERTHREAD_"
_OTHERS: Final = ("EVERTHREAD_DEBUG", "EVERTHREAD_LOG_LEVEL", "EVERTHREAD_SERVER_GRACE")
"""Variables that are no settings."""


def read_environment() -> None:
    """Take in `.env` of the working directory, set up logging, and name the variables that nothing reads.

    Raises:
        SettingsError: there is no such level of logging.
    """
    if Path(".env").is_file():  # what is set already wins
        from dotenv import load_dotenv

        load_dotenv(".env")
    level = os.environ.get("EVERTHREAD_LOG_LEVEL", "").strip().upper() or "ERROR"
    if level not in logging.getLevelNamesMapping():
        raise SettingsError(
            f"EVERTHREAD_LOG_LEVEL cannot be {level.lower()!r}: expected debug, info, warning, error or critical."
        )
    logging.basicConfig(level=level, format="%(name)s: %(message)s")
    for sentence in _misspelt():
        print(f"everthread: {sentence}", file=sys.stderr)


def _misspelt() -> list[str]:
    """One sentence for each variable that is named like a setting and is none."""
    known = [*(f"{_PREFIX}{name.upper()}" for name in Settings.model_fields), *_OTHERS]
    sentences = []
    for name in sorted(os.environ):
        if name.startswith(_PREFIX) and name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else "`everthread settings` lists them."
            sentences.append(f"The variable {name} is no setting: {hint}")
    return sentences
