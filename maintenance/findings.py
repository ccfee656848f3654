"""What a check of a thread finds: `Finding`, and all of one thread's in a `Checkup`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..state.records import Record

FindingKind = Literal[
    "damaged row", "message not archived", "summary not archived", "source missing", "message missing",
    "fact without source", "order", "message changed", "lost from chain", "mark without summary", "not embedded",
    "call without result", "result without call",
]  # fmt: skip


class Finding(Record):
    """One kind of fault of a thread, and all that it was found in."""

    kind: FindingKind
    ids: tuple[str, ...] = Field(description="Messages, summaries, facts or pins; of calls, the ids of the calls.")
    problem: str = Field(description="What is wrong, and where.")
    action: str = Field(description="What a repair does, or what is to be done first.")
    repairable: bool = True
    harmless: bool = Field(False, description="Whether nothing needs to be done about it.")


class Checkup(Record):
    """What a check of one thread found, and what of it is left."""

    thread_id: str
    name: str | None = None
    messages: int = Field(ge=0, description="Messages in the archive.")
    summaries: int = Field(ge=0, description="Summaries in the archive.")
    findings: tuple[Finding, ...] = ()
    left: tuple[Finding, ...] = Field((), description="What is found after the repair; without one, all that was.")

    @property
    def healthy(self) -> bool:
        """Whether nothing is left that needs repair."""
        return all(finding.harmless for finding in self.left)
