"""Our own files for the browser: read once, each under an address that changes with it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

FOLDER: Final = Path(__file__).parent / "static"
_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain"}
_FOR_EVER: Final = {"Cache-Control": "public, max-age=31536000, immutable"}


class _StaticFile(NamedTuple):
    """A file as it is sent; `version` is the beginning of its hash."""

    content: bytes
    kind: str
    version: str


@cache
def static_files() -> Mapping[str, _StaticFile]:
    """The files by their names (blocking the first time)."""
    found = {file.name: (file.read_bytes(), kind) for file in FOLDER.iterdir() if (kind := _KINDS.get(file.suffix))}
    return {
        name: _StaticFile(content, kind, hashlib.sha256(content).hexdigest()[:12])
        for name, (content, kind) in found.items()
    }


async def static(request: Request) -> Response:
    """One of the files."""
    file = static_files().get(request.path_params["name"])
    if file is None:
        return PlainTextResponse("There is no such file.", 404)
    headers = _FOR_EVER if request.query_params.get("v") == file.version else {"Cache-Control": "no-cache"}
    return Response(file.content, media_type=file.kind, headers=headers)
