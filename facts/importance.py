"""The importance of a message by the table of seed `002` ("Scoring Breakdown"), which decides automatic pins."""

from __future__ import annotations

from typing import Final

from ..state.records import Role

_BASE: Final = 0.5
_LONG: Final = 200
_QUESTIONS: Final = ("what", "how", "why")


def importance(text: str, role: Role) -> float:
    """How important a message is, in [0, 1]: 0.5 and what the table adds for question, code, error, length, reply."""
    lower = text.lower()
    score = _BASE
    score += 0.2 if "?" in lower or lower.startswith(_QUESTIONS) else 0.0
    score += 0.15 if any(word in lower for word in ("```", "function", "class")) else 0.0
    score += 0.1 if any(word in lower for word in ("error", "problem", "issue")) else 0.0
    score += 0.1 if len(text) > _LONG else 0.0
    score += 0.05 if role == "assistant" else 0.0
    return min(round(score, 2), 1.0)
