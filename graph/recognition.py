"""What of an input was said already: a message sent again, an edited one, the whole history with or without ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig

from ..runtime.resources import Resources
from ..state.messages import content_hash, is_empty, message_text, role_of
from ..state.tool_calls import ends_with_reply
from ..storage.archive import Archive
from ..storage.thread_copy import owner_of

if TYPE_CHECKING:
    from langgraph.types import StateSnapshot

_FEWEST: Final = 2
"""Messages that must be the same before an input counts as the history sent again: an exchange."""

ANSWERING: Final = "llm_call"
"""The node in whose name a reply is written, so that the end of its turn is what follows."""

_MOST_OF_A_TURN: Final = 200
"""Messages of a turn that broke off that are looked for in the archive."""


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
    if len(given) > 1 and not _are_named(given, said):
        earlier = await archive.page(thread_id, before=_first_id(said), limit=len(given)) if said else []
        new = new_by_content(given, [*(cast("AnyMessage", row.message) for row in earlier), *said], said)
    if len(new) == len(given) and any(message.id for message in given):
        older = await archive.older_ids(thread_id, [str(m.id) for m in given if m.id], _first_id(said))
        new = _by_id(given, said, older)
    if new or not said or not snapshot.tasks:
        return new
    if ended := await _ended(archive, thread_id, said[-1]):  # what follows its reply is done once more
        await graph.aupdate_state(config, {"messages": ended}, as_node=ANSWERING)
    return None


async def _ended(archive: Archive, thread_id: str, last: AnyMessage) -> list[AnyMessage]:
    """What a turn said after its question, where it is archived and the end of the turn was never stored."""
    page = await archive.page(thread_id, limit=_MOST_OF_A_TURN)
    ids = [row.id for row in page]
    after = page[ids.index(last.id) + 1 :] if last.id in ids else []
    said = [cast("AnyMessage", row.message) for row in after]
    return said if ends_with_reply(said) and not any(isinstance(message, HumanMessage) for message in said) else []


def _are_named(given: Sequence[AnyMessage], said: Sequence[AnyMessage]) -> bool:
    """Whether the ids of an input are those of the conversation: some clients give replies ids of their own."""
    known = {message.id for message in said}
    return all(message.id and (message.id in known or not isinstance(message, AIMessage)) for message in given)


async def note_branch(resources: Resources, snapshot: StateSnapshot) -> None:
    """Note that what was said after a state has left the conversation.

    Raises:
        StorageError: the archive cannot be written.
    """
    thread_id, messages = snapshot.config["configurable"]["thread_id"], snapshot.values.get("messages") or []
    if (owner := await owner_of(resources.database, thread_id)) is not None:
        await resources.upkeep_of(owner).branches.settle(thread_id, [str(message.id) for message in messages])


def new_in(given: Sequence[AnyMessage], said: Sequence[AnyMessage]) -> list[AnyMessage]:
    """What of an input is new where nothing but the messages of the state is at hand."""
    if len(given) > 1 and not _are_named(given, said):
        return new_by_content(given, said, said)
    return _by_id(given, said, set())


def _by_id(given: Sequence[AnyMessage], said: Sequence[AnyMessage], older: set[str]) -> list[AnyMessage]:
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

    It repeats the conversation from its start on; or it is the end of it, as clients send that keep the newest only.
    Only what people and the assistant said in words is compared: clients seldom send anything else.
    """
    spoken = [index for index, message in enumerate(whole) if _is_spoken(message)]
    words = [_words(whole[index]) for index in spoken]
    places = [index for index, message in enumerate(given) if _is_spoken(message)]
    sent = [_words(given[index]) for index in places]
    count = next((at for at, (one, other) in enumerate(zip(sent, words, strict=False)) if one != other), None)
    from_start = min(len(sent), len(words)) if count is None else count
    to_end = next((n for n in range(min(len(sent), len(words)), _FEWEST - 1, -1) if sent[:n] == words[-n:]), 0)
    if max(from_start, to_end) < _FEWEST:
        return None
    if to_end >= from_start or (to_end and from_start == len(sent)):  # rather twice than not at all
        return places[to_end - 1] + 1, ()
    return places[from_start - 1] + 1, whole[spoken[from_start - 1] + 1 :]


def _is_spoken(message: AnyMessage) -> bool:
    return isinstance(message, (HumanMessage, AIMessage)) and not is_empty(message) and bool(message.text.strip())


def _words(message: AnyMessage) -> tuple[str, str]:
    return role_of(message), message_text(message).strip()


def _first_id(said: Sequence[AnyMessage]) -> str | None:
    return str(said[0].id) if said else None


def _removal(message: AnyMessage) -> AnyMessage:
    return cast("AnyMessage", RemoveMessage(id=str(message.id)))
