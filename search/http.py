"""What all requests of ours share: how certificates are checked, and proxies.

httpx's client logs the whole address of each request at INFO, and engines take the query in the address; so requests
go to httpx's transports directly.
"""

from __future__ import annotations

import ssl
import urllib.request
from functools import cache
from urllib.parse import urlsplit

import httpx


@cache
def tls_context() -> ssl.SSLContext:
    """How certificates are checked. Blocking at its first use: it reads them from disk, which takes 0.2 s."""
    return httpx.create_ssl_context()


def transport_to(url: str) -> httpx.AsyncHTTPTransport:
    """A transport to this address, through the proxy that the environment names for it. Blocking at its first use."""
    import anyio._backends._asyncio  # noqa: F401  # loaded here, not by the first request on the event loop

    parts = urlsplit(url)
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not parts.hostname or urllib.request.proxy_bypass(parts.hostname):
        proxy = None
    return httpx.AsyncHTTPTransport(verify=tls_context(), proxy=proxy)
