"""`owners_only`: on a LangGraph server with authentication, what a user has made is that user's alone.

everthread lets nobody take a turn in another's thread, nor write into its memory. What the server itself answers with
(states, histories, lists of threads, runs) is its own to filter: this is the filter.
"""

from __future__ import annotations

from typing import Any, Final

from langgraph_sdk import Auth

from ..state.threads import may_have

_TAKEN: Final = "The thread id is that of a name of another user: choose another one."


def owners_only(auth: Auth) -> None:
    """Register the filter: one line after `@auth.authenticate`.

    Threads, runs, crons and assistants are their makers'; assistants of the server itself are everybody's to use. The
    store of the server is divided by user. Nobody can create a thread under the id of another user's name.

    Args:
        auth: that of the server. Handlers of your own for a single resource go before.
    """

    @auth.on
    async def own(ctx: Auth.types.AuthContext, value: Any) -> Any:
        user_id = str(ctx.user.identity)
        if ctx.resource == "store":
            namespace = tuple(value.get("namespace") or ())
            value["namespace"] = namespace if namespace[:1] == (user_id,) else (user_id, *namespace)
            return None
        if ctx.action in {"create", "create_run"} and not may_have(str(value.get("thread_id") or ""), user_id):
            raise Auth.exceptions.HTTPException(status_code=403, detail=_TAKEN)
        owner = {"owner": user_id}
        if ctx.action in {"create", "create_run", "update"}:
            metadata = value.get("metadata")
            value["metadata"] = metadata = {} if metadata is None else metadata
            metadata.pop("created_by", None)
            metadata.update(owner)
        if ctx.resource == "assistants" and ctx.action in {"read", "search"}:
            return {"$or": [owner, {"created_by": "system"}]}
        return owner
