"""`everthread web`: the page on which a person sees, corrects and deletes what is remembered."""

from __future__ import annotations

import asyncio
import secrets
import socket
from importlib.util import find_spec
from typing import Annotated, Final

import typer

from ..settings.settings import Settings
from ..state.errors import SettingsError
from .opening import loading, say

HOST: Final = "127.0.0.1"


def web(
    settings: Settings,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8766,
) -> None:
    """Serve the page until Ctrl-C.

    Raises:
        SettingsError: packages are missing, or the port is taken.
        StorageError: the storage cannot be started or reached.
    """
    if any(find_spec(name) is None for name in ("jinja2", "multipart", "starlette", "uvicorn")):
        raise SettingsError("`everthread web` needs packages that are missing: pip install 'everthread[web]'.")
    asyncio.run(_serve(settings, _listening(port)))


async def _serve(settings: Settings, listening: socket.socket) -> None:
    with loading():
        import uvicorn

        from ..graph.open import open_graph
        from ..web.app import web_app
    port, token = listening.getsockname()[1], secrets.token_urlsafe(32)
    async with open_graph(settings) as graph:
        app = await asyncio.to_thread(
            web_app, graph, lambda _: settings.user_id, token=token, cookie=f"everthread_{port}"
        )
        # Its log would hold the token, and what was searched for.
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off")
        say(f"The memory of {settings.user_id!r} is at http://{HOST}:{port}/?token={token}")
        say("The link opens once, in a browser of this machine. Ctrl-C ends it.")
        await uvicorn.Server(config).serve(sockets=[listening])


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise SettingsError(f"The port {port} cannot be used ({error.strerror}): choose another with --port.") from None
