"""Fetching a page: http and https only, from public addresses only, within limits of size, time, type and redirects."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Final, NamedTuple
from urllib.parse import urljoin, urlsplit

import httpcore
import httpx

from ..state.errors import SearchError
from .addresses import Address, is_outside_name, is_public
from .connection import ForbiddenAddressError, GuardedBackend
from .decoding import decode
from .extraction import Page, read_page
from .http import connection_error, status_error, tls_context

_HEADERS: Final = {
    "Accept": "text/html,application/xhtml+xml,text/plain;q=0.8",
    "Accept-Encoding": "gzip, deflate",
    "User-Agent": "Mozilla/5.0 (compatible; everthread)",
}
_TYPES: Final = frozenset({"text/html", "application/xhtml+xml", "text/plain", ""})
_PIECE: Final = 16_384
"""Bytes that are unpacked at once."""
_MAX_RATIO: Final = 100
"""How many times larger than sent a page may become: text comes down to a tenth, a bomb to a thousandth."""


class Limits(NamedTuple):
    """What fetching keeps to.

    `size` is bytes, sent as well as unpacked: of a longer page, the start is read. `allows` and `ports` are there for
    tests, which fetch from a server on loopback.
    """

    size: int = 3_000_000
    redirects: int = 4
    ports: frozenset[int] | None = frozenset({80, 443})
    allows: Callable[[Address], bool] = is_public
    names: Callable[[str], bool] = is_outside_name


class PageReader:
    """Fetches pages and reads their main text. One for each search; an async context manager.

    Args:
        limits: what it keeps to.
        backend: the network; by default a guarded one.
    """

    def __init__(self, limits: Limits | None = None, backend: GuardedBackend | None = None) -> None:
        self._limits = limits or Limits()
        self._backend = backend or GuardedBackend(self._limits.allows)
        self._pool: httpcore.AsyncConnectionPool | None = None

    async def __aenter__(self) -> PageReader:
        self._pool = await asyncio.to_thread(self._new_pool)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._pool is not None:
            await self._pool.aclose()

    def _new_pool(self) -> httpcore.AsyncConnectionPool:
        import anyio._backends._asyncio  # noqa: F401  # loaded here, not by the first request on the event loop

        return httpcore.AsyncConnectionPool(tls_context(), network_backend=self._backend)

    async def read(self, url: str, timeout: float) -> Page:
        """The main text of a page; `timeout` in seconds, reading included.

        Raises:
            SearchError: it may not be fetched, cannot be, or holds no text; one sentence without the address.
        """
        try:
            async with asyncio.timeout(timeout):
                body, kind, charset = await self._fetch(url)
                page = await asyncio.to_thread(_read, body, kind, charset, url)
        except SearchError:
            raise
        except ForbiddenAddressError as error:
            raise SearchError("the page is not at a public address.", "refused") from error
        except Exception as error:
            raise connection_error("the page", error) from error
        if not page.text.strip():
            raise SearchError("the page holds no text.", "nothing")
        return page

    async def _fetch(self, url: str) -> tuple[bytes, str, str | None]:
        """Body, media type and charset of a page, through its redirects; each address is checked again."""
        if self._pool is None:
            raise RuntimeError("A PageReader is an async context manager: use it with `async with`.")
        for _ in range(self._limits.redirects + 1):
            async with self._pool.stream("GET", self._checked(url), headers=[*_HEADERS.items()]) as answer:
                headers = httpx.Headers(answer.headers)
                if answer.status in {301, 302, 303, 307, 308} and "location" in headers:
                    url = urljoin(url, headers["location"].strip())
                    continue
                if answer.status != 200:
                    raise status_error("the page", answer.status, headers)
                kind, charset = _content_type(headers.get("content-type", ""))
                if kind not in _TYPES:
                    raise SearchError("the page is neither HTML nor plain text.", "unreadable")
                return await self._body(answer.aiter_stream(), headers.get("content-encoding", "")), kind, charset
        raise SearchError(f"the page redirects more than {self._limits.redirects} times.", "refused")

    def _checked(self, url: str) -> httpcore.URL:
        """The address, if nothing about its looks speaks against it.

        Raises:
            SearchError: it is not of the web, names a user, another port, or an inner host.
        """
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
            host = parts.hostname or ""
            sent = httpx.URL(url)
        except (ValueError, httpx.InvalidURL):
            raise SearchError("the page's address cannot be read.", "refused") from None
        if parts.scheme not in {"http", "https"} or not host or parts.username is not None:
            raise SearchError("the page's address is not a plain http or https one.", "refused")
        if self._limits.ports is not None and port not in self._limits.ports:
            raise SearchError("the page is at another port than those of the web.", "refused")
        if not self._limits.names(host):
            raise ForbiddenAddressError
        return httpcore.URL(scheme=sent.raw_scheme, host=sent.raw_host, port=sent.port, target=sent.raw_path)

    async def _body(self, sent_body: AsyncIterable[bytes], packing: str) -> bytes:
        """The start of a body, unpacked piece by piece, so that no piece can become larger than the limit.

        Raises:
            SearchError: it is packed in another way than asked for, broken, or a bomb.
        """
        limit = self._limits.size
        packing = packing.strip().lower()
        if packing not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            raise SearchError("the page is packed in an unknown way.", "unreadable")
        body, sent = bytearray(), 0
        unpack = _identity if packing in {"", "identity"} else _Unpacker()
        async for piece in _pieces(sent_body):
            sent += len(piece)
            try:
                # Unpacking a small piece takes about a millisecond at most: its result is bounded.
                body += unpack(piece, limit - len(body))
            except zlib.error as error:
                raise SearchError("the page's packing is broken.", "unreadable") from error
            if len(body) > _MAX_RATIO * max(sent, 1000):
                raise SearchError("the page becomes too large when it is unpacked.", "refused")
            if len(body) >= limit or sent >= limit:
                break
        return bytes(body)


class _Unpacker:
    """Unpacks gzip, or deflate with or without its header."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._begun = False

    def __call__(self, piece: bytes, limit: int) -> bytes:
        if self._begun:
            return self._zlib.decompress(self._zlib.unconsumed_tail + piece, limit)
        self._begun = True
        try:
            return self._zlib.decompress(piece, limit)
        except zlib.error:
            self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._zlib.decompress(piece, limit)


def _identity(piece: bytes, limit: int) -> bytes:
    return piece[:limit]


async def _pieces(body: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    async for part in body:
        for at in range(0, len(part), _PIECE):
            yield part[at : at + _PIECE]


def _content_type(header: str) -> tuple[str, str | None]:
    kind = header.partition(";")[0].strip().lower()
    charset = re.search(r"charset\s*=\s*[\"']?([^\s\"';]+)", header, re.IGNORECASE)
    return kind, charset[1] if charset else None


def _read(body: bytes, kind: str, charset: str | None, url: str) -> Page:
    text = decode(body, charset)
    if kind == "text/plain" or (not kind and "<" not in text[:1000]):
        return Page(text)
    return read_page(text, url)
