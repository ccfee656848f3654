"""What strangers sent to a thread in a graph around ours: that graph's state keeps it, although the turn was refused.

So it is noted what was refused, and left out of what the owner's turns are given: it is no part of the conversation,
neither archived nor read for facts nor told to a model.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Final, cast

from langchain_core.messages import AnyMessage, RemoveMessage

from ..state.messages import content_hash, is_empty
from ..state.records import EVERTHREAD_NAMESPACE
from ..storage.thread_copy import owner_of
from .resources import Resources
from .user import User

_NO_ID: Final = ""


async def note_refused(resources: Resources, thread_id: str, messages: Sequence[AnyMessage]) -> None:
    """Note what of these messages the owner of a thread has not said, when a turn with them is refused.

    Raises:
        StorageError: the storage fails.
    """
    owner = await owner_of(resources.database, thread_id)
    said = [message for message in messages if not isinstance(message, RemoveMessage) and not is_empty(message)]
    if owner is None or not said:
        return
    user = resources.of_user(owner)
    known = await user.archive.known_ids(thread_id, [str(message.id) for message in said if message.id])
    archived = {str(message.id): message for message in said if message.id in known}
    changed = set(await user.archive.changed_ids(thread_id, list(archived.values())))
    foreign = [message for message in said if message.id not in known or message.id in changed]
    await user.rows.fetch("refused.add", thread_id=thread_id, keys=[_key(message) for message in foreign])


async def without_refused(user: User, thread_id: str, messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    """The messages without those that were refused; what a stranger put in the place of one is as it was said.

    Raises:
        StorageError: the storage fails.
    """
    if not await user.rows.fetch("refused.any", thread_id=thread_id):
        return messages
    keys = [_key(message) for message in messages]
    places = await user.rows.fetch("refused.among", thread_id=thread_id, keys=keys)
    refused = {messages[row["place"] - 1].id or row["place"] - 1 for row in places}
    if not messages[-1].id:  # the question of this turn, in a state that gives no ids: it may say the same
        refused.discard(len(messages) - 1)
    own = await user.archive.whole_messages(thread_id, [str(id_) for id_ in refused])
    found = [
        cast("AnyMessage", own[message.id]) if message.id in own and message.id in refused else message
        for at, message in enumerate(messages)
        if (message.id or at) not in refused or message.id in own
    ]
    return found


def _key(message: AnyMessage) -> str:
    said = json.dumps([message.id or _NO_ID, message.type, content_hash(message)], default=str)
    return str(uuid.uuid5(EVERTHREAD_NAMESPACE, said))
