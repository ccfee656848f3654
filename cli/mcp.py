"""`everthread mcp`: the user's memory as an MCP server."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer

from ..settings.settings import Settings
from ..state.errors import SettingsError
from .opening import loading

_GUARDED: Final = ("127.0.0.1", "localhost", "::1")
"""Where the server answers under its own names only, so that no other site's page reaches it (DNS rebinding)."""


def mcp(
    settings: Settings,
    *,
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP instead of stdin and stdout.")] = False,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; the path is /mcp.")] = 8765,
    tokens: Annotated[
        Path | None, typer.Option(help="A file with a bearer token and the id of its user on each line.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Leave out what writes and deletes.")] = False,
) -> None:
    """Serve the memory until the client leaves, or Ctrl-C.

    Raises:
        SettingsError: the package is missing, the tokens cannot be read, or strangers would share one memory.
        StorageError: the storage cannot be started or reached.
    """
    if find_spec("mcp") is None:
        raise SettingsError("`everthread mcp` needs packages that are missing: pip install 'everthread[mcp]'.")
    users = None if tokens is None else read_tokens(tokens)
    if http and users is None and host not in _GUARDED:
        raise SettingsError(
            f"Everybody who reaches {host} would read and write one memory: give --tokens, or listen on 127.0.0.1."
        )
    with loading():
        from ..doors.mcp import memory_server
        from ..doors.open import open_memory

    async def serve() -> None:
        async with open_memory(settings) as memory:
            server = memory_server(memory, read_only=read_only, tokens=users)
            if http:
                # Each request stands alone, so that any number of processes may serve behind one address.
                await server.run_streamable_http_async(host=host, port=port, stateless_http=True, json_response=True)
            else:
                await server.run_stdio_async()

    asyncio.run(serve())


def read_tokens(path: Path) -> dict[str, str]:
    """The users by their tokens: a line each, the token first; empty lines and those that begin with # say nothing.

    Raises:
        SettingsError: the file cannot be read, a line is not of two words, or a token is short or there twice.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"The tokens in {path} cannot be read ({type(error).__name__}).") from error
    users: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        token, _, user = line.strip().partition(" ")
        if len(token) < 16 or not user.strip() or token in users:
            raise SettingsError(
                f"Line {number} of {path} is wrong: expected a token of at least 16 characters that is not there "
                "already, a space, and the id of its user."
            )
        users[token] = user.strip()
    return users
