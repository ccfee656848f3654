"""What the summaries of a file say they were made from: it must be in the file, and lead down to what was said."""

from __future__ import annotations

from .transfer_lines import MessageLine, SummaryLine


class Sources:
    """Messages and summaries of a file, as they come."""

    def __init__(self) -> None:
        self._levels: dict[tuple[str, str], int] = {}
        self._named: list[tuple[int, str, int, tuple[str, ...]]] = []

    def add_message(self, line: MessageLine) -> None:
        """Take in a message."""
        self._levels[line.thread, line.id] = 0

    def add_summary(self, number: int, line: SummaryLine) -> None:
        """Take in a summary, which stands in line `number`."""
        self._levels.setdefault((line.thread, line.id), line.level)
        self._named.append((number, line.thread, line.level, tuple(line.source_ids)))

    def first_wrong(self) -> tuple[int, str] | None:
        """The line of the first summary with a source that is not there or not below it, and what was expected.

        Levels fall from a summary to its sources, so that none is made from itself.
        """
        for number, thread, level, ids in self._named:
            for id_ in ids:
                below = self._levels.get((thread, id_))
                if below is None:
                    return number, f"expected the sources of a summary in its thread, found no {id_!r}"
                if below >= level:
                    return number, f"expected sources of a level below {level}, found {id_!r} of level {below}"
        return None
