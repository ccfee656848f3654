"""`counted`: a number with the word for what it counts, for people to read."""

from __future__ import annotations


def counted(number: int, name: str) -> str:
    """As "1 summary", "0 summaries", "1,200 messages"; the plural of the name is a regular one."""
    many = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return f"{number:,} {name if number == 1 else many}"
