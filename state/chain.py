"""The chain: what the model is shown of a conversation, as ids of messages and summaries in their order.

`Chain` is the channel: plain data, without texts. `ChainView` is the same with texts, made for one step: what
compression and assembly work on. A summary in it is a `SummaryMessage`, which never enters the state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NotRequired, overload

from langchain_core.messages import AnyMessage, BaseMessage, SystemMessage
from typing_extensions import TypedDict  # pydantic asks for it below Python 3.12, to tell the schemas

from .messages import content_text, is_empty, role_of
from .records import Summary
from .tool_calls import results_in_place

NOTHING_KEPT: Final[frozenset[str]] = frozenset()
NOTHING_MOVED: Final[Mapping[str, str]] = MappingProxyType({})


class Link(TypedDict):
    """One message or summary of the chain."""

    id: str
    level: NotRequired[int]
    """Of a summary: 1, 2, ...; 0 is the master summary. A message has none."""

    source_ids: NotRequired[list[str]]
    """Of a summary: the messages or summaries that it was made from."""

    kept: NotRequired[bool]
    """Of a message: a summary has it, and it stays beside that while it is recent."""


class Chain(TypedDict):
    """The chain of a thread."""

    links: list[Link]

    known: dict[str, int]
    """By id, the `content_hash` of those `messages` that were taken in: they are in the chain, below a summary, or are
    no part of it."""

    last: str | None
    """The newest message that this branch of the conversation has in the archive."""

    ends: NotRequired[list[str]]
    """What stood last when turns ended after which summaries are still to be made, the oldest first: see
    `compression.ends`."""


class SummaryMessage(SystemMessage):
    """A summary in a `ChainView`, where it stands for its sources."""

    record: Summary

    @classmethod
    def of(cls, summary: Summary) -> SummaryMessage:
        """The message for a summary."""
        return cls(content=summary.content, id=summary.id, name="summary", record=summary)


def is_summary(message: BaseMessage) -> bool:
    """Whether this message of a view is a summary that stands for others."""
    return type(message) is SummaryMessage  # asked thousands of times a turn, where pydantic's isinstance is slow


def is_instruction(message: BaseMessage) -> bool:
    """Whether a message is the caller's own system message."""
    return role_of(message) == "system" and not is_summary(message)


def summary_of(message: BaseMessage) -> Summary:
    """The record behind a summary of a view, with the text that it has there.

    Raises:
        TypeError: the message is no summary.
    """
    if not isinstance(message, SummaryMessage):
        raise TypeError(f"A {type(message).__name__} is no summary: expected a SummaryMessage.")
    text = content_text(message.content)
    return message.record if text == message.record.content else message.record.model_copy(update={"content": text})


class ChainView(Sequence[AnyMessage]):
    """Messages and summaries in the order of the chain.

    Args:
        messages: with their texts.
        kept: ids of messages that a summary has already.
    """

    def __init__(self, messages: Iterable[AnyMessage] = (), kept: Collection[str] = NOTHING_KEPT) -> None:
        self._messages = tuple(messages)
        self.kept = frozenset(kept)

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[AnyMessage]:
        return iter(self._messages)

    @overload
    def __getitem__(self, at: int) -> AnyMessage: ...
    @overload
    def __getitem__(self, at: slice) -> ChainView: ...
    def __getitem__(self, at: int | slice) -> AnyMessage | ChainView:
        return ChainView(self._messages[at], self.kept) if isinstance(at, slice) else self._messages[at]

    def is_kept(self, message: BaseMessage) -> bool:
        """Whether a message is in a summary already, and only stays because it is recent."""
        return message.id in self.kept


def empty_chain() -> Chain:
    """The chain of a thread in which nothing was said."""
    return Chain(links=[], known={}, last=None)


def summary_link(summary: Summary) -> Link:
    """The link of a summary."""
    return Link(id=summary.id, level=summary.level, source_ids=list(summary.source_ids))


def summary_ids(chain: Chain) -> list[str]:
    """Ids of the summaries that stand in the chain."""
    return [link["id"] for link in chain["links"] if "level" in link]


def message_ids(chain: Chain) -> list[str]:
    """Ids of the messages that stand in the chain."""
    return [link["id"] for link in chain["links"] if "level" not in link]


def taken_in(chain: Chain, messages: Sequence[AnyMessage]) -> Chain:
    """The chain with what is new among the messages at its end, and without what was removed from them.

    What is older than the messages of the state, and what a summary has, stays. `known` is unchanged: a message counts
    as known when it is archived.

    Args:
        chain: as it was after the turn before.
        messages: the `messages` of the state.
    """
    removed = set(removed_ids(chain, messages))
    standing = {link["id"] for link in chain["links"]}
    settled = standing | chain["known"].keys()
    links = [link for link in chain["links"] if "level" in link or link["id"] not in removed]
    links += [Link(id=str(message.id)) for message in messages if message.id not in settled and not is_empty(message)]
    return relinked(chain, links)


def removed_ids(chain: Chain, messages: Sequence[AnyMessage]) -> list[str]:
    """Ids of messages that were taken in and have been removed from the state since."""
    there = {str(message.id) for message in messages}
    return [id_ for id_ in chain["known"] if id_ not in there]


def view_of(chain: Chain, messages: Mapping[str, AnyMessage], summaries: Mapping[str, Summary]) -> ChainView:
    """The chain with texts; each result of a tool behind its call, wherever it came.

    Args:
        chain: with all that was taken in.
        messages: by id. One that is not there is left out: it was removed, or it is too old to be shown.
        summaries: by id. One that is not there has no text.
    """
    shown: list[AnyMessage] = []
    for link in chain["links"]:
        if "level" in link:
            shown.append(SummaryMessage.of(summaries.get(link["id"]) or _unread(link)))
        elif (message := messages.get(link["id"])) is not None and not is_empty(message):
            shown.append(message)
    kept = {link["id"] for link in chain["links"] if link.get("kept")}
    return ChainView(results_in_place(shown), kept)


def without(chain: Chain, ids: Collection[str]) -> Chain:
    """The chain without these messages."""
    return relinked(chain, [link for link in chain["links"] if link["id"] not in ids])


def relinked(chain: Chain, links: list[Link], at: Mapping[str, str] = NOTHING_MOVED) -> Chain:
    """The chain with other links. An end that is not among them is where the one before it stands.

    Args:
        chain: as it was.
        links: those that take the place of its own.
        at: by the id of a link that is gone, what stands in its place.
    """
    if "ends" not in chain:
        return {**chain, "links": links}
    there, before = {link["id"] for link in links}, ""
    ends: dict[str, str] = dict.fromkeys(chain["ends"], "")
    for link in chain["links"]:
        before = link["id"] if link["id"] in there else at.get(link["id"], before)
        if link["id"] in ends:
            ends[link["id"]] = before
    return {**chain, "links": links, "ends": list(dict.fromkeys(filter(None, ends.values())))}


def _unread(link: Link) -> Summary:
    """A summary whose text could not be read."""
    return Summary(id=link["id"], content="", level=link["level"], source_ids=tuple(link["source_ids"]))
