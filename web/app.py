"""`web_app`: the page as a Starlette app, alone behind a token or mounted in a server behind its authentication."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ..graph.conversation import Conversation
from ..state.errors import EverthreadError, InputError, ThreadOwnershipError
from . import facts, forget, plots, settings, transfer
from .guard import Headers, SameOrigin, Token, is_loopback
from .search import search
from .static import static, static_files
from .summaries import below, correct, make_again, summaries, summary
from .threads import message, thread, threads
from .turn import prompt, turn
from .visit import Handler, Site, Visit, base_of, templates

logger = logging.getLogger(__name__)

READING: Final[Mapping[str, Handler]] = {
    "threads": threads,
    "thread": thread,
    "message": message,
    "turn": turn,
    "prompt": prompt,
    "search": search,
    "summaries": summaries,
    "summary": summary,
    "below": below,
    "facts": facts.facts,
    "fact": facts.fact,
    "forget": forget.page,
    "plots": plots.plots,
    "transfer": transfer.transfer,
    "export": transfer.export,
    "settings": settings.settings,
}
"""What a browser may GET, by its path."""

_ALONE: Final = "alone.html"

WRITING: Final[Mapping[str, Handler]] = {
    "summary/again": make_again,
    "summary/correct": correct,
    "facts/add": facts.add,
    "facts/correct": facts.correct,
    "facts/confirm": facts.confirm,
    "facts/aside": facts.set_aside,
    "pins/add": facts.pin,
    "pins/remove": facts.unpin,
    "forget/now": forget.now,
    "import": transfer.begin,
}
"""What a browser may POST, by its path."""


def web_app(
    graph: Conversation,
    who: Callable[[Request], str],
    *,
    token: str | None = None,
    cookie: str = "everthread",
    host: Callable[[str], bool] = is_loopback,
) -> Starlette:
    """The page (blocking: what is shown without a user is read).

    Args:
        graph: the conversation, on open resources.
        who: the id of the user of a request.
        token: that of the printed link, where the page stands alone; None where a server knows who asks.
        cookie: the name of the cookie that takes the token's place.
        host: whether the page answers under a name that a request gives in its `Host` header.
    """
    site = Site(graph, who, is_own=token is not None)
    routes: list[BaseRoute] = [Route("/", _first)]
    routes += [Route(f"/{path}", _answered(handler, site), methods=["GET"]) for path, handler in READING.items()]
    routes += [Route(f"/{path}", _answered(handler, site), methods=["POST"]) for path, handler in WRITING.items()]
    routes.append(Route("/static/{name}", static))
    guards = [Middleware(Headers), Middleware(SameOrigin, host=host, refuse=_refused)]
    if token is not None:
        guards.append(Middleware(Token, token=token, cookie=cookie, opened=_opened, refuse=_refused))
    templates().get_template(_ALONE), static_files()
    return Starlette(routes=routes, middleware=guards)


async def _first(request: Request) -> Response:
    return RedirectResponse(f"{base_of(request)}/threads", 307)


def _answered(handler: Handler, site: Site) -> Callable[[Request], object]:
    """The endpoint of a handler: what went wrong becomes a page with the sentence that says so."""

    async def endpoint(request: Request) -> Response:
        visit = Visit(request, site)
        try:
            return await handler(visit)
        except EverthreadError as error:
            status = 404 if isinstance(error, InputError | ThreadOwnershipError) else 503
            return await visit.show("error.html", status=status, sentence=str(error))
        except HTTPException as error:
            sentence = f"What was sent cannot be read ({error.detail}): send the form of this page."
            return await visit.show("error.html", status=error.status_code, sentence=sentence)
        except Exception as error:
            logger.exception("The page %s failed.", request.url.path)
            sentence = f"The page failed with {type(error).__name__}: the log says more."
            return await visit.show("error.html", status=500, sentence=sentence)

    return endpoint


def _alone(request: Request, status: int, sentence: str, following: str = "") -> Response:
    text = templates().get_template(_ALONE).render(sentence=sentence, next=following, base=base_of(request))
    return HTMLResponse(text, status)


def _refused(request: Request, status: int, sentence: str) -> Response:
    return _alone(request, status, sentence)


def _opened(request: Request) -> Response:
    return _alone(request, 200, "The page is opening ...", f"{base_of(request)}/threads")
