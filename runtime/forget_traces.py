"""`Traces`: what tells that a value quotes what is forgotten, and the value without it: plain data, pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Final

from langchain_core.messages import BaseMessage

from ..facts.said import texts_in
from ..state.messages import message_text
from ..state.records import Record
from ..state.report_records import EXCERPT
from ..storage.archive_rows import ROLES
from ..text.sentences import sentences
from ..text.shorten import one_line
from ..text.terms import terms

_LEAST: Final = 16
"""Characters of a sentence that is looked for word for word: a shorter one, as "Yes, please.", is anybody's."""

_WORD: Final = 4
"""Characters of a word that tells what was searched for."""

MOST_QUOTES: Final = 200
"""Sentences that are looked for in what others said, at most: the longest."""

_GONE: Final = object()
Ids = frozenset[str]


@dataclass(frozen=True)
class Traces:
    """What is forgotten.

    Attributes:
        threads: whole threads.
        ids: by thread, ids of messages, and of summaries that stood for these alone.
        rewritten: ids of summaries whose earlier texts held it.
        texts: what was said.
        quotes: sentences of the user's that are looked for word for word.
        is_by_age: whether it goes because of its age alone: what repeats it later has an age of its own.
    """

    threads: Ids = frozenset()
    ids: Mapping[str, Ids] = field(default_factory=dict)
    rewritten: Ids = frozenset()
    texts: Sequence[str] = ()
    quotes: Sequence[str] = ()
    is_by_age: bool = False

    @cached_property
    def questions(self) -> list[str]:
        """How a report of a turn begins that was asked so."""
        return list(dict.fromkeys(one_line(text.strip(), EXCERPT) for text in self.texts))

    @cached_property
    def words(self) -> list[str]:
        """The words that a search for it may have asked for; of very much, those of its beginning."""
        if self.is_by_age:
            return []
        found = {term for text in self.texts[:MOST_QUOTES] for term in terms(text) if len(term) >= _WORD}
        return sorted(found)[:MOST_QUOTES]

    def removed_from(self, value: Any, thread_id: str) -> Any:
        """A value of a checkpoint or report of this thread without what is forgotten; itself where it holds nothing.

        Args:
            value: plain data, messages, or records.
            thread_id: where it stands.
        """
        kept = _Scrub(self, thread_id).of(value)
        return None if kept is _GONE else kept


class _Scrub:
    """One pass over a value."""

    def __init__(self, traces: Traces, thread_id: str) -> None:
        self._traces = traces
        self._ids = traces.ids.get(thread_id, frozenset())
        self._quotes = traces.quotes
        self._texts = frozenset(traces.texts)

    def of(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._of_text(value)
        if isinstance(value, BaseMessage):
            return self._of_message(value)
        if isinstance(value, dict):
            return self._of_dict(value)
        if isinstance(value, list | tuple):
            kept = [new for old in value if (new := self.of(old)) is not _GONE]
            same = len(kept) == len(value) and all(new is old for new, old in zip(kept, value, strict=True))
            return value if same else type(value)(kept) if type(value) in {list, tuple} else kept
        if isinstance(value, Record):  # as earlier versions kept them; readers take plain data as well
            plain = value.model_dump(mode="json")
            kept = self.of(plain)
            return value if kept is plain else kept
        return value

    def _of_text(self, text: str) -> Any:
        if text in self._ids:
            return _GONE
        if len(text) < _LEAST or len(text.split(None, 1)) < 2:  # an id: there are many, and none holds a sentence
            return text
        for quote in self._quotes:
            if quote in text:
                text = text.replace(quote, "")
        return text

    def _of_message(self, message: BaseMessage) -> Any:
        if message.id is None:
            return _GONE if message_text(message) in self._texts else message
        return _GONE if message.id in self._ids or message.id in self._traces.rewritten else message

    def _of_dict(self, value: dict[Any, Any]) -> Any:
        if self._is_forgotten(value):
            return _GONE
        kept: dict[Any, Any] = {}
        for name, old in value.items():
            if isinstance(name, str) and name in self._ids:
                continue
            new = self.of(old)
            kept[name] = ("" if isinstance(old, str) else None) if new is _GONE else new
        if kept.keys() == value.keys() and all(kept[name] is value[name] for name in value):
            return value
        if "links" in kept and "known" in kept and not kept.get("last"):
            kept["last"] = next(reversed(kept["known"]), None)
        return kept

    def _is_forgotten(self, value: Mapping[Any, Any]) -> bool:
        id_, sources = value.get("id"), value.get("source_ids")
        if isinstance(id_, str) and (id_ in self._ids or (id_ in self._traces.rewritten and "content" in value)):
            return True
        if "excerpt" not in value or not isinstance(sources, list | tuple):
            return False
        thread_id = value.get("thread_id")
        return thread_id in self._traces.threads or not _ids_of(self._traces, thread_id).isdisjoint(sources)


def _ids_of(traces: Traces, thread_id: Any) -> Ids:
    """Ids of a thread that a memory of it may name, summaries with an earlier text among them."""
    return traces.ids.get(thread_id, frozenset()) | traces.rewritten


def may_be_users(role: str) -> bool:
    """Whether the user said it: that of a damaged role may be theirs."""
    return role == "user" or role not in ROLES


def quotable(texts: Iterable[str]) -> list[str]:
    """The sentences of texts, and the texts, that only who repeats them says word for word; the longest."""
    found = {sentence for text in texts for sentence in (*sentences(text), text.strip())}
    telling = (quote for quote in found if len(quote) >= _LEAST and len(quote.split()) > 1)
    return sorted(telling, key=len, reverse=True)[:MOST_QUOTES]


def says_one_of(quotes: Sequence[str], row: Mapping[str, Any]) -> bool:
    """Whether a reply holds one of these texts, also as an argument of a call or as the reasoning before it."""
    return any(quote in text for text in chain([row["text"]], texts_in(row["message"])) for quote in quotes)


def joined(*parts: Iterable[tuple[str, str]]) -> dict[str, Ids]:
    """Ids by thread, from pairs of thread and id."""
    found: dict[str, set[str]] = {}
    for pairs in parts:
        for thread_id, id_ in pairs:
            found.setdefault(thread_id, set()).add(id_)
    return {thread_id: frozenset(ids) for thread_id, ids in found.items()}
