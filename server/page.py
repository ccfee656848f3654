"""The page under a LangGraph server: on its storage, behind its authentication."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Final
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..graph.build import ConversationGraph
from ..runtime.resources import Resources
from ..storage.open import checkpointer_of
from .history import user_of

PATH: Final = "/everthread/web"
_COOKIE: Final = "everthread_user"
_MISSING: Final = "The page needs packages that are missing: pip install 'everthread[web]'."


def page(resources: Resources, *, is_authenticated: bool) -> BaseRoute:
    """The page of the users of these resources (blocking).

    With authentication each sees what is theirs. Without, `user_id` of the address says whose memory it is, and stays
    so; and the page answers under a number or as localhost only, since a name may be any site's.
    """
    if find_spec("jinja2") is None:
        return Route(f"{PATH}/{{rest:path}}", _missing)
    from ..web.app import web_app
    from ..web.guard import is_address

    graph = ConversationGraph(resources).compile(checkpointer=checkpointer_of(resources.database), name="everthread")
    host: Callable[[str], bool] = (lambda _: True) if is_authenticated else is_address
    app = web_app(graph, user_of if is_authenticated else _named, host=host)
    return Mount(PATH, app if is_authenticated else _Named(app))


async def _missing(_: Request) -> Response:
    return PlainTextResponse(_MISSING, 501)


def _named(request: Request) -> str:
    """The user whom the address names, or named before."""
    return request.query_params.get("user_id") or unquote(request.cookies.get(_COOKIE, "")) or user_of(request)


class _Named:
    """Middleware that keeps the user whom an address names, in a cookie."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = Request(scope).query_params.get("user_id") if scope["type"] == "http" else None

        async def with_cookie(message: Message) -> None:
            if named and message["type"] == "http.response.start":
                answer = Response()
                answer.set_cookie(_COOKIE, quote(named), httponly=True, samesite="strict", path=PATH)
                message["headers"] = [*message["headers"], *(h for h in answer.raw_headers if h[0] == b"set-cookie")]
            await send(message)

        await self._app(scope, receive, with_cookie)
