"""A batch that ends where the topic changes, instead of by count alone (seed `001`, "Selective summarization").

The topic changes where what was said before and after has the fewest words in common; seen from the texts alone, so
that the same messages become the same summaries. Pure functions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Final

from langchain_core.messages import AnyMessage, HumanMessage

from ..state.chain import ChainView, is_summary
from ..state.messages import message_text
from ..text.shorten import middle_out
from ..text.terms import terms
from .chain import Batch, cut_before

_LEAST_SHARE: Final = 3
"""A batch keeps one message in so many, at least."""

_AROUND: Final = 4
"""Messages on each side that are compared: the best of 2 to 8 in `bench.topics`."""

_CHARS: Final = 2_000
"""Characters of a message that are looked at."""


def to_change_of_topic(batch: Batch, chain: ChainView) -> Batch:
    """The batch up to the message of the user before which the topic changes most; the rest is due later.

    Args:
        batch: what is due by count; one of summaries alone stays as it is.
        chain: where it was found.
    """
    sources = batch.sources
    first = next((at for at in range(len(sources), 0, -1) if is_summary(sources[at - 1])), 0)
    said, newest = sources[first:], str(sources[-1].id)
    following = [m for m in chain[[m.id for m in chain].index(newest) + 1 :] if not is_summary(m)]
    least = max(1, math.ceil(len(said) / _LEAST_SHARE))
    starts = [
        at
        for at in range(least, len(said) + 1)
        if isinstance((said[at] if at < len(said) else next(iter(following), None)), HumanMessage)
        and cut_before(said, at) == at
    ]
    if not starts:
        return batch
    words = [_words(message) for message in (*said, *islice(following, _AROUND))]
    at = min(starts, key=lambda at: (_alike(words[max(0, at - _AROUND) : at], words[at : at + _AROUND]), -at))
    kept = sources[: first + at]
    return batch._replace(sources=kept, kept_ids=batch.kept_ids & {str(message.id) for message in kept})


def _words(message: AnyMessage) -> Counter[str]:
    return Counter(terms(middle_out(message_text(message), _CHARS)))


def _alike(before: Sequence[Counter[str]], after: Sequence[Counter[str]]) -> float:
    """The cosine of the words of both."""
    one, other = sum(before, Counter[str]()), sum(after, Counter[str]())
    size = math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
    return sum(n * other[word] for word, n in one.items()) / size if size else 0.0
