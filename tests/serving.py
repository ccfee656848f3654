"""A server of a test, in a thread of its own while it runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from typing import TypeVar

Server = TypeVar("Server", bound=HTTPServer)


@contextmanager
def serving(server: Server, *, poll_interval: float = 0.05) -> Iterator[Server]:
    """The server, while it runs; `poll_interval` is in seconds, and what its end may take."""
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": poll_interval}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
