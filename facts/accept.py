"""Facts from a summarizer's structured output: only what its source messages say (a guard against invention)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, get_args

from ..state.fact_records import Fact, FactKind
from .extraction import Said, extract
from .language import language_in
from .words import asked_terms, content_terms, key

logger = logging.getLogger(__name__)

SHARED: Final = 0.6
"""The share of a fact's words that one of the user's messages must hold."""

_LONGEST: Final = 400
_CONFIDENCE: Final = 0.6
_KINDS: Final = frozenset(get_args(FactKind))
_ALIASES: Final[Mapping[str, FactKind]] = {
    "preferences": "preference", "biographical": "biography", "bio": "biography", "profile": "biography",
    "goals": "goal", "plan": "goal", "constraints": "constraint", "commitments": "commitment", "promise": "commitment",
}  # fmt: skip
_TALKED_OF: Final = frozenset({"user", "users"})


def accept(items: Iterable[Any], sources: Sequence[tuple[Said, str]]) -> list[Fact]:
    """The facts of a model's list that can be kept; the others are dropped, and counted in the log.

    Args:
        items: what the model gave, each `{"kind": ..., "text": ...}`; anything else is dropped.
        sources: the user's messages that were summarized, with where they were said. A fact belongs to the one that
            shares most words with it.
    """
    read = [(said, _terms(text)) for said, text in sources]
    facts: dict[str, Fact] = {}
    dropped = 0
    for item in items:
        fact = _accepted(item, read)
        if fact is None:
            dropped += 1
        else:
            facts.setdefault(fact.id, fact)
    if dropped:
        logger.info("%d facts of a summary were dropped: their words are not in its sources.", dropped)
    return list(facts.values())


def _accepted(item: Any, sources: Sequence[tuple[Said, frozenset[str]]]) -> Fact | None:
    if not isinstance(item, Mapping) or not isinstance(text := item.get("text"), str):
        return None
    text = " ".join(text.split())
    words = _terms(text) - _TALKED_OF
    if not words or len(text) > _LONGEST or not sources:
        return None
    said, held = max(sources, key=lambda source: len(words & source[1]))
    if len(words & held) < SHARED * len(words):
        return None
    # What the patterns make of it has an attribute, so that it can be contradicted.
    found = next((fact for fact in extract(text, said, origin="model") if key(fact.text) == key(text)), None)
    kind = _kind(item.get("kind"))
    if found is not None:
        return found.model_copy(update={"kind": kind or found.kind})
    language = language_in(text)
    return said.fact(
        text,
        kind=kind or "biography",
        negated=bool(language and language["negation"].search(language.normalized(text))),
        terms=content_terms(text, language),
        confidence=_CONFIDENCE,
        origin="model",
    )


def _kind(value: Any) -> FactKind | None:
    name = str(value).strip().lower()
    kind = _ALIASES.get(name, name)
    return kind if kind in _KINDS else None  # type: ignore[return-value]  # a member of the literal


def _terms(text: str) -> frozenset[str]:
    return frozenset(asked_terms(text, language_in(text)))
