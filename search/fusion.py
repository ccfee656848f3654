"""Fusion of what several engines found: by rank, since their scores do not compare, and each page once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..state.search_records import SearchResult
from .cleaning import url_key

_SMOOTHING: Final = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""


def fused(rankings: Sequence[Sequence[SearchResult]], limit: int) -> list[SearchResult]:
    """At most `limit` pages by the sum of 1 / (60 + rank) over the rankings, best first; ties keep the order given.

    A page that several found has the longest of its contents and all their names, joined by +.
    """
    scores: dict[str, float] = {}
    pages: dict[str, SearchResult] = {}
    for ranking in rankings:
        seen: set[str] = set()
        for rank, result in enumerate(ranking, start=1):
            key = url_key(result.url)
            if key in seen:
                continue
            seen.add(key)
            known = pages.get(key)
            pages[key] = _joined(known, result) if known else result
            scores[key] = scores.get(key, 0.0) + 1 / (_SMOOTHING + rank)
    order = sorted(pages, key=lambda key: -scores[key])
    return [pages[key] for key in order[:limit]]


def _joined(one: SearchResult, other: SearchResult) -> SearchResult:
    return one.model_copy(
        update={
            "content": max(one.content, other.content, key=len),
            "published": one.published or other.published,
            "engine": f"{one.engine}+{other.engine}",
        }
    )
