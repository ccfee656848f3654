"""What goes wrong with an HTTP API, as errors that say it in one sentence."""

from __future__ import annotations

from collections.abc import Mapping

from ..models.failures import retry_after
from ..state.errors import SearchError


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
