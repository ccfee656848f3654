"""What of an input was said already: a message sent again, an edited one, the whole history with or without ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from ..state.messages import content_hash, is_empty, message_text, role_of
from ..storage.archive import Archive

_FEWEST: Final = 2
"""Messages that must be the same from the start on before an input counts as the history sent again: an exchange."""


async def recognized(
    given: Sequence[AnyMessage], graph: Any, config: RunnableConfig, archive: Archive, thread_id: str
) -> list[AnyMessage] | None:
    """What of an input is new: messages, and removals of what an edit leaves behind.

    Where nothing is new, the list is empty: the reply that there is answers it. It is None where the last turn broke
    off, before or after its reply, and is to be resumed.

    Args:
        given: the messages of the input.
        graph: a `Conversation`, whose state is read.
        config: of the run; it may name an earlier checkpoint.
        archive: the user's.
        thread_id: which.

    Raises:
        StorageError: the state or the archive cannot be read.
    """
    if any(isinstance(message, RemoveMessage) for message in given) or (len(given) == 1 and not given[0].id):
        return list(given)
    snapshot: StateSnapshot = await graph.aget_state(config)
    said = cast("list[AnyMessage]", snapshot.values.get("messages") or [])
    new = list(given)
    if len(given) > 1 and not all(message.id for message in given):
        earlier = await archive.page(thread_id, before=_first_id(said), limit=len(given)) if said else []
        new = new_by_content(given, [*(cast("AnyMessage", row.message) for row in earlier), *said], said)
    if len(new) == len(given) and any(message.id for message in given):
        older = await archive.older_ids(thread_id, [str(m.id) for m in given if m.id], _first_id(said))
        new = by_id(given, said, older)
    if new or not said:
        return new
    # Where all tasks have written what they had to, and their step was not complete, `next` is empty.
    return None if snapshot.tasks else []


def by_id(given: Sequence[AnyMessage], said: Sequence[AnyMessage], older: set[str]) -> list[AnyMessage]:
    """The messages that are not among those said, by their ids, and those that are with another content.

    A last message of the user's with another content is an edit: what followed it is removed, and it is answered again.

    Args:
        given: the input.
        said: the messages of the state.
        older: ids of messages that are older than these.
    """
    known = {message.id: content_hash(message) for message in said}
    new = [m for m in given if not m.id or (m.id not in older and known.get(m.id) != content_hash(m))]
    if not new or new[-1].id not in known or not isinstance(new[-1], HumanMessage):
        return new
    index = next(at for at, message in enumerate(said) if message.id == new[-1].id)
    return [*(_removal(message) for message in said[index + 1 :]), *new]


def new_by_content(
    given: Sequence[AnyMessage], whole: Sequence[AnyMessage], said: Sequence[AnyMessage]
) -> list[AnyMessage]:
    """The messages after those that repeat the conversation from its start; all where they do not.

    What the conversation went on with is removed where the repetition goes on with something else.

    Args:
        given: the input; ids do not count.
        whole: what was said, from before the messages of the state on.
        said: the messages of the state.
    """
    repeated = _repeated(given, whole)
    if repeated is None:
        return list(given)
    matched, left = repeated
    new = list(given[matched:])
    there = {message.id for message in said}
    return [*(_removal(message) for message in left if message.id in there), *new] if new else []


def _repeated(given: Sequence[AnyMessage], whole: Sequence[AnyMessage]) -> tuple[int, Sequence[AnyMessage]] | None:
    """How many messages of the input repeat what was said, and what was said after these; None where it is no history.

    Only what people and the assistant said in words is compared: clients seldom send anything else.
    """
    spoken = [index for index, message in enumerate(whole) if _is_spoken(message)]
    # Where the archive has more than was asked for, the history may begin at a later message than the first.
    first = next((index for index, message in enumerate(given) if _is_spoken(message)), None)
    if first is None or not spoken:
        return None
    at, matched, count = 0, first, 0
    for index, message in enumerate(given):
        if not _is_spoken(message):
            continue
        if at >= len(spoken) or _words(message) != _words(whole[spoken[at]]):
            break
        at, matched, count = at + 1, index + 1, count + 1
    if count < _FEWEST:
        return None
    return matched, whole[spoken[at - 1] + 1 :]


def _is_spoken(message: AnyMessage) -> bool:
    return isinstance(message, (HumanMessage, AIMessage)) and not is_empty(message) and bool(message.text.strip())


def _words(message: AnyMessage) -> tuple[str, str]:
    return role_of(message), message_text(message).strip()


def _first_id(said: Sequence[AnyMessage]) -> str | None:
    return str(said[0].id) if said else None


def _removal(message: AnyMessage) -> AnyMessage:
    return cast("AnyMessage", RemoveMessage(id=str(message.id)))
