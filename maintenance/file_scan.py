"""Looking for bytes in files, in a process of its own.

Not in this one: where a file that SQLite has open is opened and closed beside it, the locks on it are lost.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

_PROGRAM: Final = """
import base64, json, mmap, os, sys
asked = json.load(sys.stdin)
needles = [base64.b64decode(needle) for needle in asked["needles"]]
found, unread, size = {}, [], 0
for path in asked["paths"]:
    try:
        with open(path, "rb") as file:
            length = os.fstat(file.fileno()).st_size
            if not length:
                continue
            size += length
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                number = sum(content.find(needle) >= 0 for needle in needles)
    except FileNotFoundError:
        continue
    except (OSError, ValueError):
        unread.append(path)
        continue
    if number:
        found[path] = number
json.dump({"found": found, "unread": unread, "bytes": size}, sys.stdout)
"""


class Scan(NamedTuple):
    """How many of the texts each file holds, which could not be read, and how many bytes were read."""

    found: dict[Path, int]
    unread: list[Path]
    bytes: int


async def scan_files(paths: Iterable[Path], texts: Sequence[str]) -> Scan:
    """Look for texts in files: as UTF-8, and as JSON writes them."""
    needles = [base64.b64encode(form).decode() for text in texts for form in forms(text)]
    asked = {"paths": [str(path) for path in paths], "needles": needles}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", _PROGRAM, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    answer, _ = await process.communicate(json.dumps(asked).encode())
    read: dict[str, Any] = json.loads(answer)
    found = {Path(path): number for path, number in read["found"].items()}
    return Scan(found, [Path(path) for path in read["unread"]], read["bytes"])


def forms(text: str) -> list[bytes]:
    """The bytes that a text may stand as."""
    written = {text, *(json.dumps(text, ensure_ascii=ascii_)[1:-1] for ascii_ in (True, False))}
    return [form.encode("utf-8", "surrogatepass") for form in sorted(written)]
