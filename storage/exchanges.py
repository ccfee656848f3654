"""What belongs to a found message: its query and its reply, the tool calls between them, or the summary alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from psycopg.rows import DictRow

from ..state.records import Fragment, Hit
from .user_rows import UserRows

REACH: Final = 16
"""Messages up to this far away are looked at for the query or the reply."""

TOOL_REACH: Final = 64
"""Messages of one tool exchange, at most."""

_ARGUMENTS: Final = 200
"""Characters of the arguments of a tool call that are shown."""

# The order has the few messages around a hit sought by their numbers: else the whole thread is read for each hit.
# A reply is what an assistant says without calling a tool. A hit on a call or on a result brings the whole exchange.
_EXCHANGES = r"""
SELECT hit.id AS hit_id, hit.thread_id, m.seq, m.id, m.role, m.name, m.text, m.created_at, m.calls
FROM unnest(%(thread_ids)s::text[], %(ids)s::text[]) AS hit(thread_id, id)
JOIN messages found ON found.user_id = %(user_id)s AND found.thread_id = hit.thread_id AND found.id = hit.id
CROSS JOIN LATERAL (
    SELECT found.role = 'tool' OR found.message #> '{data,tool_calls,0}' IS NOT NULL AS of_tools
) AS kind
LEFT JOIN LATERAL (
    SELECT seq FROM messages a WHERE a.user_id = %(user_id)s AND a.thread_id = hit.thread_id AND a.role = 'user'
       AND a.left_at IS NULL AND a.seq < found.seq
       AND a.seq >= found.seq - CASE WHEN kind.of_tools THEN %(tool_reach)s ELSE %(reach)s END
       AND found.role IN ('assistant', 'agent', 'tool')
    ORDER BY a.seq DESC LIMIT 1
) AS query ON true
LEFT JOIN LATERAL (
    SELECT seq FROM messages b WHERE b.user_id = %(user_id)s AND b.thread_id = hit.thread_id
       AND b.left_at IS NULL AND b.seq > found.seq
       AND b.seq <= found.seq + CASE WHEN kind.of_tools THEN %(tool_reach)s ELSE %(reach)s END
       AND (found.role = 'user' OR kind.of_tools)
       AND (b.role IN ('assistant', 'agent') AND b.text ~ '\S' AND b.message #> '{data,tool_calls,0}' IS NULL
            OR kind.of_tools AND b.role = 'user')
    ORDER BY b.seq LIMIT 1
) AS reply ON true
JOIN LATERAL (
    SELECT c.seq, c.id, c.role, c.name, c.text, c.created_at, c.message #> '{data,tool_calls}' AS calls
    FROM messages c WHERE c.user_id = %(user_id)s AND c.thread_id = hit.thread_id
       AND c.left_at IS NULL
       AND c.seq BETWEEN coalesce(query.seq, found.seq - CASE WHEN kind.of_tools THEN %(tool_reach)s ELSE 0 END)
                     AND coalesce(reply.seq, found.seq + CASE WHEN kind.of_tools THEN %(tool_reach)s ELSE 0 END)
       AND (c.seq IN (query.seq, found.seq)
            OR c.seq = reply.seq AND c.role <> 'user'
            OR kind.of_tools AND (c.role = 'tool' OR c.message #> '{data,tool_calls,0}' IS NOT NULL))
    ORDER BY c.seq LIMIT %(most)s
) AS m ON true
UNION ALL
SELECT s.id, s.thread_id, 0, s.id, 'assistant', 'summary', s.content, s.created_at, NULL
FROM unnest(%(thread_ids)s::text[], %(ids)s::text[]) AS hit(thread_id, id)
JOIN summaries s ON s.user_id = %(user_id)s AND s.thread_id = hit.thread_id AND s.id = hit.id
"""


async def exchanges(rows: UserRows, hits: Sequence[Hit]) -> dict[tuple[str, str], tuple[Fragment, ...]]:
    """By thread and id of each hit, the fragments of its exchange in the order they were said.

    A user's message brings the next reply, a reply the query before it; tool messages between them are passed over.
    A hit on a tool call or a tool's result brings the query, all calls with their results, and the reply. A summary
    stands alone (seed `000`, "Context Pairing Logic").

    Raises:
        StorageError: the database fails.
    """
    found: dict[tuple[str, str], list[Fragment]] = {}
    for row in await rows.fetch(
        _EXCHANGES,
        thread_ids=[hit.thread_id for hit in hits],
        ids=[hit.source_id for hit in hits],
        reach=REACH,
        tool_reach=TOOL_REACH,
        most=2 * TOOL_REACH + 1,
    ):
        found.setdefault((row["thread_id"], row["hit_id"]), []).append(_fragment(row))
    return {key: tuple(sorted(fragments, key=lambda fragment: fragment.seq)) for key, fragments in found.items()}


def _fragment(row: DictRow) -> Fragment:
    content = "\n".join(_with_calls(row["text"], row["calls"])) if row["calls"] else row["text"]
    return Fragment(content=content, **{name: row[name] for name in ("id", "role", "name", "seq", "created_at")})


def _with_calls(text: str, calls: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The text of a message that calls tools, and its calls with their arguments."""
    if text.strip() and not text.startswith("[calls "):
        yield text
    for call in calls:
        arguments = ", ".join(f"{name}={value}" for name, value in (call.get("args") or {}).items())
        yield f"[calls {call.get('name')}({arguments[:_ARGUMENTS]})]"
