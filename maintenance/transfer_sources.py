"""What the summaries of a file say they were made from: it must be in the file, and lead down to what was said."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from .transfer_lines import MessageLine, SummaryLine

_Key = tuple[str, str]
"""A thread, and the id of a message or summary in it."""


class Sources:
    """Messages and summaries of a file, as they come."""

    def __init__(self) -> None:
        self._messages: set[_Key] = set()
        self._sources: dict[_Key, list[_Key]] = {}
        self._numbers: dict[_Key, int] = {}

    def add_message(self, line: MessageLine) -> None:
        """Take in a message."""
        self._messages.add((line.thread, line.id))

    def add_summary(self, number: int, line: SummaryLine) -> None:
        """Take in a summary, which stands in line `number`."""
        key = (line.thread, line.id)
        self._sources.setdefault(key, []).extend((line.thread, id_) for id_ in line.source_ids)
        self._numbers[key] = number

    def first_wrong(self) -> tuple[int, str] | None:
        """The line of the first summary with a source that is not there, or made from itself; and what was expected."""
        for key, sources in self._sources.items():
            for source in sources:
                if source not in self._messages and source not in self._sources:
                    return self._numbers[
                        key
                    ], f"expected the sources of a summary in its thread, found no {source[1]!r}"
        try:
            TopologicalSorter(self._sources).prepare()
        except CycleError as error:
            return min(self._numbers[key] for key in error.args[1]), "expected a summary that is not made from itself"
        return None
