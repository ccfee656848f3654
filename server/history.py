"""GET /everthread/threads/{thread_id}/history: what was said in a thread, in pages, the newest first."""

from __future__ import annotations

from typing import Any, Final

from langchain_core.messages import message_to_dict
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..runtime.run_settings import NO_IDENTITY, is_authenticated
from ..state.errors import EverthreadError, SettingsError
from ..storage.archive import Archive, ArchivedMessage
from ..storage.served import shared_database
from ..storage.user_rows import UserRows

_DEFAULT_LIMIT: Final = 50
MOST: Final = 500
"""Messages of one page, at most."""


async def history(request: Request) -> Response:
    """A page of what was said.

    ---
    responses:
      '200':
        description: |
          {"messages": [...], "before": ID or null}. Each message has "id", "role", "name", "text", "created_at" (ISO)
          and "message", the LangChain message as a dictionary. What to ask for next is "before": ?before=ID&limit=50.
    """
    try:
        limit = int(request.query_params.get("limit", _DEFAULT_LIMIT))
    except ValueError:
        limit = 0
    if not 1 <= limit <= MOST:
        return _refused(422, f"The limit {request.query_params['limit']!r} cannot be used: expected 1 to {MOST}.")
    thread_id = request.path_params["thread_id"]
    try:
        archive = Archive(UserRows(shared_database(), user_of(request)))
        if not await archive.has_thread(thread_id):
            return _refused(404, f"There is no thread {thread_id!r}.")
        before = request.query_params.get("before")
        page = await archive.page(thread_id, before=before, limit=limit + 1)
    except EverthreadError as error:
        return _refused(503, str(error))
    older, shown = page[:-limit], page[-limit:]
    return JSONResponse({"messages": [_told(message) for message in shown], "before": shown[0].id if older else None})


def user_of(request: Request) -> str:
    """Whose thread is asked for: the user whom the server knows; without authentication, `user_id` of the query.

    Once the server knows a user, signed in or not, what a client claims does not count.

    Raises:
        SettingsError: the server's authentication let somebody in and does not say who it is.
    """
    user = request.scope.get("user")
    if identity := getattr(user, "identity", "") or "":
        return str(identity)
    if is_authenticated():
        raise SettingsError(NO_IDENTITY)
    return request.query_params.get("user_id") or shared_database().settings.user_id


def _told(message: ArchivedMessage) -> dict[str, Any]:
    return {
        "id": message.id,
        "role": message.role,
        "name": message.name,
        "text": message.text,
        "created_at": message.created_at.isoformat(),
        "message": message_to_dict(message.message)["data"],
    }


def _refused(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"detail": sentence}, status_code=status)
