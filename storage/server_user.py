"""Whom a LangGraph server knows, where one runs in this process: of a run, and of a request beside the runs."""

from __future__ import annotations

import sys
from typing import Any

from langchain_core.runnables import RunnableConfig


def server_request() -> Any:
    """What the server knows of the request or the run that asks; None where its own work runs, or there is none."""
    server = sys.modules.get("langgraph_api.utils")
    return None if server is None else server.get_auth_ctx()


def server_user(config: RunnableConfig | None = None) -> str | None:
    """Who asks, as the server's authentication says; None where it says nothing."""
    of_run = ((config or {}).get("configurable") or {}).get("langgraph_auth_user")
    user = of_run if of_run is not None else getattr(server_request(), "user", None)
    identity = getattr(user, "identity", None)
    return str(identity) if identity else None
