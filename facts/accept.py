"""Facts from a summarizer's structured output: only what its source messages say (a guard against invention)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Final

from ..compression.drafts import FactDraft
from ..state.fact_records import Fact, Pin
from ..text.words import is_question
from .extraction import Occasion, extract
from .language import Language, language_in
from .marked import MARKED_SCORE
from .words import asked_terms, content_terms, key

logger = logging.getLogger(__name__)

SHARED: Final = 0.6
"""The share of a fact's words that one of the user's messages must hold."""

_LONGEST: Final = 400
_CONFIDENCE: Final = 0.6
_TALKED_OF: Final = frozenset({"user", "users"})


def accept(drafts: Iterable[FactDraft], sources: Sequence[tuple[Occasion, str]]) -> list[Fact]:
    """The facts of a model's list that can be kept; the others are dropped, and counted in the log.

    Args:
        drafts: what the model gave.
        sources: the user's messages that were summarized, with where they were said. A fact belongs to the one that
            shares most words with it.
    """
    read = [(said, _terms(text)) for said, text in sources]
    facts: dict[str, Fact] = {}
    dropped = 0
    for draft in (draft for draft in drafts if draft.kind != "pin"):
        fact = _accepted(draft, read)
        if fact is None:
            dropped += 1
        else:
            facts.setdefault(fact.id, fact)
    if dropped:
        logger.info("%d facts of a summary were dropped: their words are not in its sources.", dropped)
    return list(facts.values())


def accept_pins(drafts: Iterable[FactDraft], sources: Sequence[tuple[Occasion, str]]) -> list[Pin]:
    """What a model's list wants kept in sight beside facts: as far as one of the user's messages says it.

    Arguments as for `accept`.
    """
    read = [(said, _terms(text)) for said, text in sources]
    pins: dict[str, Pin] = {}
    for draft in drafts:
        words = _terms(draft.text) - _TALKED_OF
        if draft.kind != "pin" or not words or len(draft.text) > _LONGEST or not read:
            continue
        said, held = max(read, key=lambda source: len(words & source[1]))
        if len(words & held) >= SHARED * len(words):
            id_ = Pin.id_for(said.source_id, key(draft.text))
            pins[id_] = Pin(
                id=id_, text=draft.text, kind="automatic", score=MARKED_SCORE, thread_id=said.thread_id,
                source_id=said.source_id, created_at=said.said_at,
            )  # fmt: skip
    return list(pins.values())


def _accepted(draft: FactDraft, sources: Sequence[tuple[Occasion, frozenset[str]]]) -> Fact | None:
    text = draft.text
    words = _terms(text) - _TALKED_OF
    if not words or len(text) > _LONGEST or not sources:
        return None
    said, held = max(sources, key=lambda source: len(words & source[1]))
    if len(words & held) < SHARED * len(words):
        return None
    # What the patterns make of it has an attribute, so that it can be contradicted.
    found = next((fact for fact in extract(text, said, origin="model") if key(fact.text) == key(text)), None)
    if found is not None:
        return found.model_copy(update={"kind": draft.kind})
    language = language_in(text)
    if language is not None and _is_of_the_moment(draft, language):
        return None
    return said.fact(
        text,
        kind=draft.kind,
        negated=bool(language and language["negation"].search(language.normalized(text))),
        terms=content_terms(text, language),
        confidence=_CONFIDENCE,
        origin="model",
    )


def _is_of_the_moment(draft: FactDraft, language: Language) -> bool:
    """Whether a fact in a model's words fails the checks that those of the patterns pass."""
    plain = language.normalized(draft.text)
    if any(language[name].search(plain) for name in ("unreal", "dangling", "addressed")) or is_question(draft.text):
        return True
    return draft.kind != "commitment" and language["momentary"].search(plain) is not None


def _terms(text: str) -> frozenset[str]:
    return frozenset(asked_terms(text, language_in(text)))
