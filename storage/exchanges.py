"""What belongs to a found message: its query and its reply, the tool calls between them, or the summary alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from ..state.call_lines import without_calls
from ..state.records import Fragment, Hit
from ..text.moments import moment
from .readable import readable
from .sources import fragment
from .user_rows import UserRows
from .values import Row

REACH: Final = 16
"""Messages up to this far away are looked at for the query or the reply."""

TOOL_REACH: Final = 64
"""Messages of one tool exchange, at most."""

_ARGUMENTS: Final = 200
"""Characters of the arguments of a tool call that are shown."""


Exchanges = dict[tuple[str, str], tuple[Fragment, ...]]
"""By thread and id of a hit, the fragments of its exchange in the order they were said."""


async def exchanges(rows: UserRows, hits: Sequence[Hit], *, extracts: bool = True) -> Exchanges:
    """What belongs to each hit.

    A user's message brings the next reply, a reply the query before it; tool messages between them are passed over.
    A hit on a tool call or a tool's result brings the query, all calls with their results, and the reply. A summary
    stands alone (seed `000`, "Context Pairing Logic").

    Args:
        rows: the user's.
        hits: what was found.
        extracts: whether summaries count that say word for word what messages say, which are found themselves.

    Raises:
        StorageError: the database fails.
    """
    near = await rows.fetch(
        "exchanges.exchanges",
        thread_ids=[hit.thread_id for hit in hits],
        ids=[hit.source_id for hit in hits],
        reach=REACH,
        tool_reach=TOOL_REACH,
        most=2 * TOOL_REACH + 1,
        extracts=extracts,
    )
    found: dict[tuple[str, str], list[Fragment]] = {}
    for key, one in readable(rows, "messages", near, lambda row: ((row["thread_id"], row["hit_id"]), _fragment(row))):
        found.setdefault(key, []).append(one)
    return {key: tuple(sorted(fragments, key=lambda fragment: fragment.seq)) for key, fragments in found.items()}


def _fragment(row: Row) -> Fragment:
    content = "\n".join(_with_calls(row["text"], row["calls"])) if row["calls"] else row["text"]
    return fragment({**row, "created_at": _in_own_zone(row["created_at"], row["written_at"])}, content)


def _in_own_zone(said_at: datetime, written: Any) -> datetime:
    """The time of a message in the zone in which it was written, which tells its day."""
    own = moment(written)
    try:
        return said_at if own is None else said_at.astimezone(own.tzinfo)
    except OverflowError:  # at the ends of the calendar
        return said_at


def _with_calls(text: str, calls: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The text of a message that calls tools, and its calls with their arguments."""
    if (said := without_calls(text)).strip():
        yield said
    for call in calls:
        arguments = ", ".join(f"{name}={value}" for name, value in (call.get("args") or {}).items())
        yield f"[calls {call.get('name')}({arguments[:_ARGUMENTS]})]"
