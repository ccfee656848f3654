"""A GET request to a search engine's JSON API, with httpx: Google, SearXNG and Brave are asked in this way.

LangChain's wrappers of these three block, drop the HTTP status that tells a rate limit from a wrong key, and have no
deadline.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any, Final

import httpx

from ..state.errors import SearchError
from .http import connection_error, status_error, transport_to

_HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "gzip, deflate", "User-Agent": "everthread"}
_MAX_BYTES: Final = 4_000_000
"""Bytes of an answer that are read. Answers have some ten thousand."""


async def get_json(
    engine: str, url: str, params: Mapping[str, str | int], *, timeout: float, headers: dict[str, str] | None = None
) -> dict[str, Any]:
    """The JSON object that an API answers with; `timeout` in seconds. Redirects are not followed.

    Raises:
        SearchError: no answer in time, a refusal, or an answer that is no JSON object.
    """
    try:
        async with asyncio.timeout(timeout):
            transport = await asyncio.to_thread(transport_to, url)
            async with transport:
                request = httpx.Request("GET", url, params=dict(params), headers=_HEADERS | (headers or {}))
                body = await _body(engine, await transport.handle_async_request(request))
            value = await asyncio.to_thread(httpx.Response(200, content=body).json)
    except SearchError:
        raise
    except Exception as error:
        raise connection_error(engine, error) from error
    if not isinstance(value, dict):
        raise SearchError(f"{engine}'s answer cannot be read: it is no JSON object.", "unreadable")
    return value


def entries(engine: str, value: object) -> list[dict[str, Any]]:
    """The entries of a list of results; what is no object is passed over.

    Raises:
        SearchError: it is no list.
    """
    if not isinstance(value, list):
        raise SearchError(f"{engine}'s answer cannot be read: it holds no list of results.", "unreadable")
    return [entry for entry in value if isinstance(entry, dict)]


def variable(*names: str) -> str:
    """The first of these environment variables that is set; empty where none is."""
    return next((value for name in names if (value := os.environ.get(name, "").strip())), "")


def text_of(value: object) -> str:
    """A value if it is text, else nothing."""
    return value if isinstance(value, str) else ""


async def _body(engine: str, answer: httpx.Response) -> bytes:
    if answer.status_code != 200:
        raise status_error(engine, answer.status_code, answer.headers)
    body = bytearray()
    async for piece in answer.aiter_bytes(65_536):
        body += piece
        if len(body) > _MAX_BYTES:
            raise SearchError(f"{engine}'s answer is larger than {_MAX_BYTES:,} bytes.", "unreadable")
    return bytes(body)
