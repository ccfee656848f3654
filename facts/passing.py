"""What is said of the moment, or to the reader, or cannot be understood alone: none of it is a fact."""

from __future__ import annotations

from .clauses import Clause
from .language import Language


def is_passing(clause: Clause, rest: str, language: Language) -> bool:
    """Whether a clause tells nothing that lasts and stands alone, whatever its predicate is.

    Args:
        clause: as it was said.
        rest: its normalized text from the predicate on, or from the thing that is the user's.
        language: that of the clause.
    """
    plain = clause.plain
    if language["addressed"].search(plain) or language["dangling"].search(plain):
        return True
    if language["subordinate"].match(plain) or language["fleeting"].search(rest):
        return True
    if clause.joined and "joined" in language.lists and not language["joined"].match(rest):
        return True
    if language["life"].search(rest):
        return False
    if language["momentary"].search(plain):
        return not language.predicates["commitment"].search(rest)
    return any(language["past"].match(rest, at) for at in adverbs(rest, language))


def adverbs(rest: str, language: Language) -> list[int]:
    """Where the predicate may begin: at the start, and after each adverb there."""
    starts = [0]
    while match := language["adverbs"].match(rest, starts[-1]):
        at = len(rest) - len(rest[match.end() :].lstrip())
        if at >= len(rest) or at == starts[-1]:
            break
        starts.append(at)
    return starts
