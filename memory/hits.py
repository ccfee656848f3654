"""Hits: the best of what both arms found, with what is known of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from ..models.similarity import similarities
from ..state.records import Hit
from .breadth import LEAST, Bounds, relevances
from .candidates import Candidates
from .fusion import Flags, Numbers
from .user_memory import Indices, UserMemory

FEWEST: Final = 15
"""Hits that are returned however little relevant they are, so that it can be seen what came near."""


def ranked(memory: UserMemory, candidates: Candidates, recalled: Indices, limit: int, least: Bounds) -> Iterator[Hit]:
    """The best of the candidates that are recalled, as hits, with their ranks in each arm and overall."""
    by_words = _ranks(recalled, candidates.lexical, candidates.lexical[recalled] > 0)
    by_meaning = _ranks(recalled, candidates.cosines, ~np.isnan(candidates.cosines[recalled]))
    known = len(candidates.rows)
    rarest = np.inf if least.is_wide else candidates.rarest
    relevant = relevances(candidates.scores, candidates.asks, candidates.times, rarest)
    relevant[candidates.leads] = np.maximum(relevant[candidates.leads], LEAST["one"].relevance)
    relevant *= candidates.sure >= least.certainty

    def source(n: int) -> tuple[str, str]:
        return memory.ids[candidates.rows[n]] if n < known else candidates.summaries[n - known][:2]

    order = sorted(recalled.tolist(), key=lambda n: (-candidates.scores[n], source(n)[1]))
    for rank, n in enumerate(order[:limit], start=1):
        if rank > FEWEST and relevant[n] < least.relevance:
            continue
        thread_id, id_ = source(n)
        row = int(candidates.rows[n]) if n < known else None
        yield Hit(
            source_type="message" if n < known else "summary",
            source_id=id_,
            thread_id=thread_id,
            role=memory.roles[row] if row is not None else candidates.summaries[n - known].role,
            similarity=similarity_of(float(candidates.cosines[n])),
            score=round(float(candidates.scores[n]), 3),
            relevance=round(float(relevant[n]), 4),
            keyword_rank=by_words.get(n),
            vector_rank=by_meaning.get(n),
            rank=rank,
            created_at=memory.said_at(row) if row is not None else candidates.summaries[n - known].created_at,
        )


def _ranks(recalled: Indices, values: Numbers, found: Flags) -> dict[int, int]:
    """The rank of each candidate that an arm found, by its value."""
    among = recalled[found]
    return {n: rank for rank, n in enumerate(among[np.argsort(-values[among], kind="stable")].tolist(), start=1)}


def similarity_of(cosine: float) -> float | None:
    """As `models.similarity` has it; None where the cosine is not known."""
    return None if np.isnan(cosine) else float(similarities(np.array(cosine)))
