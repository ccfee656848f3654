"""A network for HTTP that connects only to addresses a policy allows.

A name is resolved once, every address it has is checked, and the connection goes to a checked address itself: a name
server that answers otherwise a moment later (DNS rebinding) changes nothing. The name still goes into the TLS
handshake and the `Host` header, so certificates are checked as always.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable

import httpcore
from httpcore import SOCKET_OPTION

from .addresses import Address, is_public

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host; raises `OSError` where it has none."""


class ForbiddenAddressError(Exception):
    """A host is not, or not only, at addresses that may be connected to."""


async def _resolve(host: str, port: int) -> list[str]:
    """The addresses that the system's resolver knows for a host.

    Raises:
        OSError: there are none.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """The network of a connection pool.

    Args:
        allows: whether an address may be connected to.
        resolver: finds the addresses of a host.
        network: opens the connections.
    """

    def __init__(
        self,
        allows: Callable[[Address], bool] = is_public,
        resolver: Resolve = _resolve,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._allows = allows
        self._resolve = resolver
        self._network = network or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a checked address of the host.

        Raises:
            ForbiddenAddressError: one of its addresses may not be connected to; nothing was connected to.
            httpcore.ConnectError: it has no address, or none answers.
        """
        host = host.strip("[]")
        try:
            found = [str(ipaddress.ip_address(host))]
        except ValueError:
            try:
                found = await self._resolve(host, port)
            except (OSError, UnicodeError) as error:
                raise httpcore.ConnectError(f"no address ({type(error).__name__})") from error
        # A name with one inner address is refused as a whole: nobody needs it, and it is how rebinding begins.
        if not found or not all(self._allowed(address) for address in found):
            raise ForbiddenAddressError
        for index, address in enumerate(found, start=1):
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if index == len(found):
                    raise
        raise httpcore.ConnectError("no address")  # unreachable: there is at least one

    def _allowed(self, address: str) -> bool:
        try:
            return self._allows(ipaddress.ip_address(address))  # with its zone, if it has one
        except ValueError:
            return False
