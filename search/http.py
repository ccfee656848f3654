"""What all requests of ours share: how certificates are checked, proxies, and what goes wrong, in one sentence each.

httpx's client logs the whole address of each request at INFO, and engines take the query in the address; so requests
go to httpx's transports directly.
"""

from __future__ import annotations

import ssl
import urllib.request
from collections.abc import Mapping
from functools import cache
from urllib.parse import urlsplit

import httpx

from ..models.failures import retry_after
from ..state.errors import SearchError


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


def status_error(engine: str, status: int, headers: Mapping[str, str]) -> SearchError:
    """What an HTTP status other than 200 means."""
    wait = retry_after(headers)
    if status in {202, 429} or (status == 503 and wait is not None):
        return SearchError(f"{engine} refuses for now: its rate limit is reached (HTTP {status}).", "rate limit", wait)
    if status in {401, 403, 407}:
        return SearchError(f"{engine} refuses: check its key and what it may do (HTTP {status}).", "refused")
    if status >= 500:
        return SearchError(f"{engine} answered with HTTP {status}.", "server", wait)
    return SearchError(f"{engine} answered with HTTP {status}.", "refused" if status >= 400 else "unreadable")


def connection_error(engine: str, error: BaseException) -> SearchError:
    """What an exception of an HTTP client means; its own text may quote the query, so it is not passed on."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"TimeoutError", "TimeoutException", "Timeout"}:
        return SearchError(f"{engine} did not answer in time.", "timeout")
    if names & {"ConnectError", "ProxyError", "ConnectionError"}:
        return SearchError(f"{engine} cannot be reached.", "unreachable")
    if names & {"RemoteProtocolError", "ReadError", "WriteError", "ProtocolError"}:
        return SearchError(f"{engine} broke off its answer.", "unreachable")
    if isinstance(error, ValueError):
        return SearchError(f"{engine}'s answer cannot be read: it is no valid JSON.", "unreadable")
    return SearchError(f"{engine} failed ({type(error).__name__}).")
