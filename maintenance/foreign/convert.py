"""`converted`: the export of another product as a file that `everthread import` reads."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import IO, Any, Final, NamedTuple

from langchain_core.messages import AIMessage, HumanMessage, message_to_dict

from ...facts.extraction import Occasion, extract
from ...facts.language import language_in
from ...facts.words import content_terms
from ...state.messages import clean_text
from ...state.records import EVERTHREAD_NAMESPACE
from ...state.threads import thread_id
from ...text.tokens import estimate_tokens
from ..transfer_format import header_line
from ..transfer_lines import Counts, FactLine, MessageLine, ThreadLine
from .read import copied, opened_export
from .said import ExportedConversation, digest

UNKNOWN: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""When a message was said whose export holds no time at all."""
_STEP: Final = timedelta(seconds=1)
"""Between a message and one after it that has no time."""
_NAME: Final = 200
_SURE: Final = 0.8
"""How sure a fact is that another product's model has written."""


class Converted(NamedTuple):
    """What an export holds, and the file it became.

    Attributes:
        file: the file; it is deleted when the context ends.
        product: whose export it was.
        conversations: those with at least one message.
        messages: visible messages, those that have left among them.
        facts: what was known about the user.
        left: messages of branches that were left.
        undated: messages of conversations without any time.
        since: the first moment that is named; None where there is none.
        until: the last.
    """

    file: Path
    product: str
    conversations: int
    messages: int
    facts: int
    left: int
    undated: int
    since: datetime | None
    until: datetime | None


@contextmanager
def converted(file: Path, user_id: str) -> Iterator[Converted]:
    """Convert an export (blocking). Memory grows with one conversation; for Gemini and SillyTavern with the file.

    The same export, or a later one of the same conversations, gives the same ids.

    Args:
        file: JSON, JSONL, or the ZIP as it was downloaded.
        user_id: whose the conversations become.

    Raises:
        InputError: the file cannot be read, or is no export that is known.
    """
    with (
        opened_export(file) as export,
        TemporaryFile() as threads,
        TemporaryFile() as messages,
        TemporaryFile() as facts,
    ):
        writer = _Writer(export.product, user_id, threads, messages, facts)
        for conversation in export.conversations:
            writer.add(conversation)
        with NamedTemporaryFile(suffix=".jsonl") as whole:
            counts = Counts(
                threads=len(writer.last_seq), messages=writer.found["messages"], facts=writer.found["facts"]
            )
            whole.write(header_line(user_id, counts).encode())
            copied(threads, whole)
            copied(messages, whole)
            copied(facts, whole)
            whole.flush()
            found = writer.found
            yield Converted(
                Path(whole.name), export.product, counts.threads, counts.messages, counts.facts, found["left"],
                found["undated"], writer.since, writer.until,
            )  # fmt: skip


class _Writer:
    """Writes the lines of threads, of messages and of facts, each into a file of its own."""

    def __init__(self, product: str, user_id: str, threads: IO[bytes], messages: IO[bytes], facts: IO[bytes]) -> None:
        self._product = product
        self._user_id = user_id
        self._threads = threads
        self._messages = messages
        self._facts = facts
        self.last_seq: dict[str, int] = {}
        self.found: Counter[str] = Counter()
        self.since: datetime | None = None
        self.until: datetime | None = None

    def add(self, conversation: ExportedConversation) -> None:
        if not conversation.said:
            return
        id_ = thread_id(f"{self._product}/{conversation.id}", self._user_id)
        times = [said.at for said in conversation.said if said.at is not None]
        if not times and conversation.at is None:
            self.found["undated"] += len(conversation.said)
        at = conversation.at or min(times, default=UNKNOWN)
        if id_ not in self.last_seq:
            name = clean_text(conversation.title).strip()[:_NAME] or f"{self._product} {at:%Y-%m-%d}"
            _write(self._threads, ThreadLine(kind="thread", id=id_, name=name, created_at=at))
        self._span([*times, *([conversation.at] if conversation.at else [])])
        self._add_messages(id_, conversation, at)

    def _add_messages(self, thread: str, conversation: ExportedConversation, begun: datetime) -> None:
        seq, before = self.last_seq.get(thread, 0), begun - _STEP
        for index, said in enumerate(conversation.said):
            seq, before = seq + 1, said.at or before + _STEP
            kind = HumanMessage if said.speaker == "user" else AIMessage
            key = f"{self._product}\x1f{conversation.id}\x1f{said.id or f'{index} {digest(said.text)}'}"
            id_ = str(uuid.uuid5(EVERTHREAD_NAMESPACE, key))
            message = kind(clean_text(said.text), id=id_)
            line = MessageLine(
                kind="message", thread=thread, id=id_, seq=seq, role=said.speaker, name=None, created_at=before,
                left_at=before if said.left else None, tokens=estimate_tokens(message.text),
                message=message_to_dict(message),
            )  # fmt: skip
            _write(self._messages, line)
            self.found["messages"] += 1
            self.found["left"] += said.left
            if said.is_fact:
                self._add_facts(message.text, Occasion(thread, id_, before))
        self.last_seq[thread] = seq

    def _add_facts(self, text: str, said: Occasion) -> None:
        whole = said.fact(
            text, kind="biography", terms=content_terms(text, language_in(text)), confidence=_SURE, origin="model"
        )
        for fact in extract(text, said, origin="model") or [whole]:
            values = fact.model_dump(mode="json", exclude={"kind", "thread_id"})
            _write(self._facts, FactLine(kind="fact", thread=fact.thread_id, sort=fact.kind, **values))
            self.found["facts"] += 1

    def _span(self, times: list[datetime]) -> None:
        if times:
            self.since = min([*times, *([self.since] if self.since else [])])
            self.until = max([*times, *([self.until] if self.until else [])])


def _write(file: IO[bytes], line: Any) -> None:
    file.write(json.dumps(line.model_dump(mode="json"), ensure_ascii=False).encode() + b"\n")
