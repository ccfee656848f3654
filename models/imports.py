"""Objects that a setting names by their import path, 'package.module:name'."""

from __future__ import annotations

import importlib
from typing import Any


def imported(path: str) -> Any:
    """The object at an import path (blocking).

    Raises:
        ImportError: there is no such module, or no such name in it.
    """
    module, _, name = path.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        if not hasattr(found, part):
            raise ImportError(f"module {module!r} has no {name!r}")
        found = getattr(found, part)
    return found
