"""Who may see the page, and what a browser may do with it: middleware around the app.

What was said is hostile text: the policy of the page lets a browser run and load nothing but our own files. A page of
another site can neither read ours, for it lacks the cookie and the host, nor post to it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Of every answer."""

STATIC: Final = "/static/"
"""What anybody may have: files of ours, in which nothing was said."""

_COOKIE_SECONDS: Final = 30 * 86_400
_UNOPENED: Final = (
    "Open the link that `everthread web` has printed. It opens once: start the command again for a new one."
)
_READING: Final = frozenset({"GET", "HEAD"})

Refuse = Callable[[Request, int, str], Response]
"""Makes the page that says in one sentence why there is none."""


class Headers:
    """Middleware that adds `_HEADERS` to every answer, and keeps what was said out of caches.

    Args:
        app: what answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, with_headers)


class SameOrigin:
    """Middleware that refuses what another site's page sends: a browser says where a request comes from.

    `Sec-Fetch-Site` says it where the address is https or loopback; else `Origin` does, which is that of htmx's
    requests. Without either it is no browser that writes, and it is refused as well.

    Args:
        app: what answers.
        host: whether a host is ours; a page of another site that has its name point here (DNS rebinding) has another.
        refuse: makes the answer.
    """

    def __init__(self, app: ASGIApp, host: Callable[[str], bool], refuse: Refuse) -> None:
        self._app = app
        self._host = host
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return
        request = Request(scope)
        if not self._host(request.headers.get("host", "")):
            answer = self._refuse(request, 421, "This page does not answer under this name: use localhost.")
            await answer(scope, receive, send)
        elif request.method not in _READING and not _is_from_here(request):
            answer = self._refuse(request, 403, "This request came from another page: nothing was changed.")
            await answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _is_from_here(request: Request) -> bool:
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = urlsplit(request.headers.get("origin", ""))
    return bool(origin.netloc) and origin.netloc == request.headers.get("host")


def is_loopback(host: str) -> bool:
    """Whether the name in a `Host` header is that of this machine."""
    name = _name(host)
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def is_address(host: str) -> bool:
    """Whether the name in a `Host` header is this machine's or a number: no other site's name can point here so."""
    try:
        ip_address(_name(host))
    except ValueError:
        return is_loopback(host)
    return True


def _name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


class Token:
    """Middleware that lets in who has the link that was printed: its token once, a cookie from then on.

    Args:
        app: what answers.
        token: that of the link. It opens the page once, so that it is of no use in a browser's history.
        cookie: the name of the cookie.
        opened: the page that leads on: a redirect would not bring the cookie where the link stood on another site.
        refuse: makes the answer to all others.
    """

    def __init__(
        self, app: ASGIApp, token: str, cookie: str, opened: Callable[[Request], Response], refuse: Refuse
    ) -> None:
        self._app = app
        self._token: str | None = token
        self._session = secrets.token_urlsafe(32)
        self._cookie = cookie
        self._opened = opened
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, exchange the token, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if _same(request.cookies.get(self._cookie, ""), self._session) or request.url.path.startswith(STATIC):
            await self._app(scope, receive, send)
        elif self._token is not None and _same(request.query_params.get("token", ""), self._token):
            self._token = None
            answer = self._opened(request)
            answer.set_cookie(
                self._cookie, self._session, max_age=_COOKIE_SECONDS, httponly=True, samesite="strict", path="/"
            )
            await answer(scope, receive, send)
        else:
            await self._refuse(request, 401, _UNOPENED)(scope, receive, send)


def _same(given: str, expected: str) -> bool:
    return secrets.compare_digest(given.encode(), expected.encode())
