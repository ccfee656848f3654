"""What may be sent again and is no part of a conversation: what was forgotten, and what a stranger sent.

A client sends the whole history again, the state of a graph around ours holds it still. It is known by hashes of id and
content, and left out of what a turn is given: neither archived, nor read for facts, nor told to a model.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage

from ..state.messages import is_empty
from ..state.records import EVERTHREAD_NAMESPACE
from ..storage.thread_copy import owner_of
from .user import User

if TYPE_CHECKING:
    from .resources import Resources


def _keys_of(messages: Iterable[BaseMessage]) -> list[str]:
    """What messages are known by where they are sent again: under their ids, and without."""
    return [key for message in messages for key in _keys(message.id, _said(message))]


def keys_of_row(row: Mapping[str, Any]) -> set[str]:
    """The same of a message as the archive has it, which is not made again for that."""
    kind, data = row["message"]["type"], row["message"]["data"]
    return _keys(data.get("id"), _as_said(kind, data["content"], data.get("tool_calls")))


async def leave_out(user: User, thread_id: str, messages: Iterable[BaseMessage]) -> None:
    """Note that messages of a thread are no part of it.

    Raises:
        StorageError: the storage fails.
    """
    if keys := _keys_of(messages):
        await user.rows.fetch("left_out.add", thread_id=thread_id, keys=keys)


async def note_refused(resources: Resources, thread_id: str, messages: Sequence[AnyMessage]) -> None:
    """Note what of these messages the owner of a thread has not said, when a turn with them is refused.

    Raises:
        StorageError: the storage fails.
    """
    owner = await owner_of(resources.database, thread_id)
    said = [message for message in messages if not isinstance(message, RemoveMessage) and not is_empty(message)]
    if owner is None or not said:
        return
    user = resources.upkeep_of(owner)
    known = await user.archive.known_ids(thread_id, [str(message.id) for message in said if message.id])
    archived = {str(message.id): message for message in said if message.id in known}
    changed = set(await user.archive.changed_ids(thread_id, list(archived.values())))
    foreign = [message for message in said if message.id not in known or message.id in changed]
    keys = [_key(message.id, message) for message in foreign]
    await user.rows.fetch("left_out.add", thread_id=thread_id, keys=keys)


async def without_left_out(
    user: User, thread_id: str, messages: Sequence[AnyMessage], *, asked: bool = False
) -> Sequence[AnyMessage]:
    """The messages without those that are no part of the thread; the same ones where there is none.

    What stands in the archive under the id of such a message takes its place.

    Args:
        user: whose thread.
        thread_id: which.
        messages: as a client or the state of a graph around ours gives them.
        asked: whether the last one is said now, also where it says what was forgotten.

    Raises:
        StorageError: the storage fails.
    """
    if not (messages[:-1] if asked else messages):
        return messages
    if not await user.rows.fetch("left_out.any", thread_id=thread_id):
        return messages
    keys = [_key(message.id, message) for message in messages]
    found = await user.rows.fetch("left_out.among", thread_id=thread_id, keys=keys)
    out: set[int] = set()
    seen: Counter[str] = Counter()
    for at, times in ((row["place"] - 1, row["times"]) for row in found):
        # Without an id, the first ones: what is said once more after it was forgotten comes later.
        seen[keys[at]] += 1
        if messages[at].id or seen[keys[at]] <= times:
            out.add(at)
    if asked or not messages[-1].id:
        out.discard(len(messages) - 1)
    if not out:
        return messages
    own: dict[str, Any] = await user.archive.whole_messages(thread_id, [str(messages[at].id) for at in out])
    return [
        cast("AnyMessage", own.get(str(message.id))) if at in out else message
        for at, message in enumerate(messages)
        if at not in out or message.id in own
    ]


def _key(id_: str | None, message: BaseMessage) -> str:
    return _hash(id_, _said(message))


def _keys(id_: str | None, said: str) -> set[str]:
    return {_hash(one, said) for one in (id_, None)}


def _hash(id_: str | None, said: str) -> str:
    """Of the id and what was said, as one list in JSON."""
    return str(uuid.uuid5(EVERTHREAD_NAMESPACE, f"[{json.dumps(id_ or '')}, {said[1:]}"))


def _said(message: BaseMessage) -> str:
    return _as_said(message.type, message.content, vars(message).get("tool_calls"))


def _as_said(kind: str, content: Any, calls: Any) -> str:
    return json.dumps([kind, content, calls or []], sort_keys=True, default=str)
