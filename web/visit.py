"""`Visit`: one request to the page: whose memory it is about, what it asks, and how it is answered."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, date, datetime, time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ..doors.memory import ConversationMemory
from ..graph.conversation import Conversation
from ..state.errors import InputError
from ..text.count import counted
from ..text.shorten import one_line
from .static import static_files

if TYPE_CHECKING:
    from .transfer import Job

TEMPLATES: Final = Path(__file__).parent / "templates"

_TITLES: Final = {
    "threads": "Conversations",
    "search": "Search",
    "facts": "Facts and pins",
    "summaries": "Summaries",
    "forget": "Forget",
    "plots": "Figures",
    "transfer": "Export and import",
    "settings": "Settings",
}
"""The pages of the navigation, by their paths."""

DONE: Final = {
    "added": "It is known now.",
    "corrected": "It is corrected. What it said before is kept.",
    "confirmed": "It is confirmed.",
    "pinned": "It is pinned.",
    "unpinned": "It is no longer pinned. What was said stays.",
    "set-aside": "It is never used again. The messages that say it stay.",
    "made": "It has a new text. The one before is kept as a version.",
}
"""What a page says after something was done, by the word in its address."""


class Site:
    """What all requests share.

    Args:
        graph: the conversation; its resources may be shared with a server.
        who: the id of the user of a request.
        is_own: whether the page is the operator's own: then it shows their settings, and proves that what is forgotten
            is gone, which rewrites the tables of all.
    """

    def __init__(self, graph: Conversation, who: Callable[[Request], str], *, is_own: bool) -> None:
        self.graph = graph
        self.who = who
        self.is_own = is_own
        self.jobs: dict[str, Job] = {}


class Visit:
    """One request.

    Args:
        request: Starlette's.
        site: what all requests share.
    """

    def __init__(self, request: Request, site: Site) -> None:
        self.request = request
        self.site = site
        self.user_id = site.who(request)
        self.memory = ConversationMemory(site.graph.resources, self.user_id)
        self.user = site.graph.resources.of_user(self.user_id)
        self._form: dict[str, str] | None = None

    def asked(self, name: str) -> str:
        """A value of the address; empty where there is none."""
        return self.request.query_params.get(name, "")

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number of the address, from -most to most.

        Raises:
            InputError: it is none.
        """
        text = self.asked(name)
        if not text:
            return default
        if not text.lstrip("-").isdecimal() or len(text) > 9 or abs(int(text)) > most:
            raise InputError(f"{name!r} cannot be {text[:20]!r}: expected a whole number up to {most}.")
        return int(text)

    def moment(self, name: str, values: Mapping[str, str] | None = None, *, end: bool = False) -> datetime | None:
        """A day or a time, in UTC; None where there is none; of a day the beginning, or with `end` that of the next.

        Raises:
            InputError: it is none.
        """
        text = (self.request.query_params if values is None else values).get(name, "").strip()
        if not text:
            return None
        try:
            if len(text) == len("2026-01-31"):
                day = date.fromisoformat(text)
                return datetime.combine(date.fromordinal(day.toordinal() + end), time(), UTC)
            found = datetime.fromisoformat(text)
            return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            raise InputError(f"{text[:40]!r} is no day or time: expected it as 2026-01-31.") from None

    async def form(self) -> dict[str, str]:
        """The fields of the form that was sent, as text."""
        if self._form is None:
            given = await self.request.form(max_fields=100)
            self._form = {name: value for name, value in given.items() if isinstance(value, str)}
        return self._form

    async def needed(self, name: str) -> str:
        """A field of the form, which must be there.

        Raises:
            InputError: it is empty.
        """
        text = (await self.form()).get(name, "").strip()
        if not text:
            raise InputError(f"The field {name!r} is empty: expected a non-empty text.")
        return text

    async def thread(self, thread_id: str) -> str:
        """The id of a thread, if it is the user's.

        Raises:
            InputError: it is not, or there is none.
        """
        if not thread_id or not await self.user.archive.has_thread(thread_id):
            raise InputError("There is no such conversation.")
        return thread_id

    @property
    def is_part(self) -> bool:
        """Whether htmx asks, for a part of a page."""
        return self.request.headers.get("hx-request") == "true"

    async def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """The page, or part of one, that a template makes of these values."""
        shared = {
            "link": self.link,
            "titles": _TITLES,
            "here": self.request.url.path.removeprefix(self.base).strip("/"),
            "is_own": self.site.is_own,
            "user_id": self.user_id,
            "done": DONE.get(self.asked("done"), ""),
        }
        # In a thread, as what was said may be long.
        text = await asyncio.to_thread(_rendered, template, {**shared, **values})
        return HTMLResponse(text, status)

    @property
    def base(self) -> str:
        """The path under which the page is mounted."""
        return base_of(self.request)

    def link(self, path: str, **values: Any) -> str:
        """The address of a page of ours, with what it is asked; values that are None or empty are left out.

        One that is about a message in a conversation (`at`) leads to its place on the page.
        """
        query = urlencode({name: value for name, value in values.items() if value not in {None, ""}})
        place = "#at" if "at" in values else ""
        return f"{self.base}/{path}{'?' if query else ''}{query}{place}"

    def go(self, path: str, **values: Any) -> Response:
        """Lead on to another page, after something was done."""
        return RedirectResponse(self.link(path, **values), 303)


Handler = Callable[[Visit], Awaitable[Response]]
"""What answers a request."""


def new_job_id() -> str:
    """An id that nobody can guess."""
    return secrets.token_urlsafe(16)


def base_of(request: Request) -> str:
    """The path under which the page is mounted, without a slash at its end."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def _rendered(template: str, values: Mapping[str, Any]) -> str:
    return templates().get_template(template).render(values)


@cache
def templates() -> Environment:
    """The templates; each is read when it is first shown (blocking): all take a quarter of a second."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    found.globals["file_versions"] = {name: file.version for name, file in static_files().items()}
    found.filters |= {
        "when": lambda moment: f"{moment:%Y-%m-%d %H:%M}" if moment else "",
        "day": lambda moment: f"{moment:%Y-%m-%d}" if moment else "",
        "line": one_line,
        "count": lambda number: f"{number:,}",
        "counted": counted,
        "nth": _nth,
        "amount": _amount,
        "ms": _duration,
    }
    return found


def _duration(milliseconds: float) -> str:
    """A time as people write it."""
    return f"{milliseconds:,.0f} ms" if milliseconds < 10_000 else f"{milliseconds / 1000:,.1f} s"


def _nth(number: int) -> str:
    """A place as people write it."""
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def _amount(size: float) -> str:
    """A number of bytes as people write it."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
