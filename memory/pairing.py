"""Pairing: what was found becomes memories, each hit with its counterpart.

A user's message brings the assistant's reply, a reply the query before it, a tool's result the whole exchange. A
summary stands alone; original messages that bear on the question may come with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Final

from ..state.records import Fragment, Hit, Memory
from ..text.passages import excerpt
from ..text.replies import is_canned
from ..text.terms import search_terms
from ..text.tokens import estimate_tokens

Source = tuple[str, str]
"""A thread, and the id of a message or summary in it."""

_TOOL_SHARE: Final = 0.5
"""The share of a fragment's tokens that a tool's result gets."""

SUMMARY_SHARE: Final = 2 / 3
"""Tokens of the original messages that recalled summaries bring, as a share of those of one message."""

_MEMORY_SHARE: Final = 3
"""A memory of many fragments has up to this many times the tokens of one."""

_MIN_TOKENS: Final = 40
"""Tokens of a fragment, however many there are."""

_WHOLE: Final = 80
"""Tokens up to which a source of a summary is shown whole or not at all."""


def paired(hits: Sequence[Hit], exchanges: Mapping[Source, tuple[Fragment, ...]]) -> list[Memory]:
    """One memory for each exchange that was hit, in the order of the hits.

    A hit in an exchange that is remembered already adds to that memory what it brings beside.

    Args:
        hits: what the search found, the best first.
        exchanges: by thread and source id of a hit, the fragments of its exchange in the order they were said.
    """
    memories: list[Memory] = []
    index_of: dict[Source, int] = {}
    for hit in hits:
        there = exchanges.get((hit.thread_id, hit.source_id), ())
        fragments = tuple(fragment for fragment in there if not is_canned(fragment.content))
        if not fragments:
            continue
        known = [at for f in fragments if (at := index_of.get((hit.thread_id, f.id))) is not None]
        if known:
            at = known[0]
            new = [f for f in fragments if index_of.get((hit.thread_id, f.id), at) == at]
            memories[at] = with_fragments(memories[at], merged(memories[at].fragments, new))
        else:
            at, new = len(memories), list(fragments)
            memories.append(_memory(hit, fragments))
        index_of.update(((hit.thread_id, fragment.id), at) for fragment in new)
    return memories


def candidates(memories: Sequence[Memory], chain: Collection[Source], count: int) -> list[Memory]:
    """The memories up to the last of `count` that are not wholly in the chain.

    Those in the chain are among them: the prompt may have no room for what they hold.
    """
    kept: list[Memory] = []
    for memory in memories:
        if count <= 0:
            break
        kept.append(memory)
        count -= not all((memory.thread_id, id_) in chain for id_ in memory.source_ids)
    return kept


def told(
    memories: Sequence[Memory], hits: Sequence[Hit], chain: Collection[Source], *, in_short: bool = False
) -> list[Memory]:
    """The memories as they are told: the first outside the chain whole, of others what was found.

    At equal tokens a message that ranks lower is worth more than the counterpart of one that was found, but for what
    the user said in few words before a reply. What was said on one day stands together, in the place of the most
    relevant. Summaries and calls of tools stay as they are.

    Args:
        memories: the most relevant first.
        hits: what they are made of.
        chain: what stands in the live chain.
        in_short: whether many are told in short: then each stands by itself, and none whole.
    """
    found = {(hit.thread_id, hit.source_id) for hit in hits}
    of_day: dict[tuple[str, date], int] = {}
    is_first, kept = True, list[Memory]()
    for memory in memories:
        plain = memory.source_type == "message" and all(f.role != "tool" for f in memory.fragments)
        day = memory.thread_id, memory.created_at.date()
        hit = [fragment for fragment in memory.fragments if (memory.thread_id, fragment.id) in found]
        if any(map(is_reply, hit)):
            hit = [fragment for fragment in memory.fragments if fragment in hit or _is_short_question(fragment)]
        if in_short and plain:
            kept.append(with_fragments(memory, hit))
        elif is_first or not plain:
            if plain:
                of_day.setdefault(day, len(kept))
            kept.append(memory)
        elif (at := of_day.setdefault(day, len(kept))) < len(kept):
            kept[at] = with_fragments(kept[at], merged(kept[at].fragments, hit))
        else:
            kept.append(with_fragments(memory, hit))
        is_first = is_first and all((memory.thread_id, id_) in chain for id_ in memory.source_ids)
    return kept


def is_reply(fragment: Fragment) -> bool:
    """Whether a message is an assistant's, and not that of a person with a name: advice more than what happened."""
    return fragment.role == "assistant" and not fragment.name


def _is_short_question(fragment: Fragment) -> bool:
    return fragment.role == "user" and not fragment.name and estimate_tokens(fragment.content) <= _WHOLE


def merged(first: Sequence[Fragment], second: Sequence[Fragment]) -> tuple[Fragment, ...]:
    """The fragments of two parts of one exchange, each once, in the order they were said."""
    return tuple(sorted({f.id: f for f in (*first, *second)}.values(), key=lambda fragment: fragment.seq))


def with_fragments(memory: Memory, fragments: Sequence[Fragment]) -> Memory:
    """The memory with these fragments in the place of its own; a summary goes on beginning where it did."""
    is_summary = memory.source_type == "summary"
    said = [fragment.created_at for fragment in fragments if fragment.created_at is not None and not is_summary]
    return memory.model_copy(
        update={
            "fragments": tuple(fragments),
            "source_ids": tuple(fragment.id for fragment in fragments),
            "created_at": min(said) if said else memory.created_at,
        }
    )


def spanning(memory: Memory, below: Sequence[Fragment], *, all_of_it: bool) -> Memory:
    """A summary with the days of which it tells, from the first to the last, in place of when it was made.

    What it says would else seem to be later than what has changed since.

    Args:
        memory: the summary, first among its fragments.
        below: the messages that it was made from, in the order they were said.
        all_of_it: whether these are all; else its beginning is not known, and it bears its last day alone.
    """
    said = [fragment.created_at for fragment in below if fragment.created_at is not None]
    if not said:
        return memory
    own = memory.fragments[0].model_copy(update={"created_at": max(said)})
    begun = min(said) if all_of_it else max(said)
    return memory.model_copy(update={"fragments": (own, *memory.fragments[1:]), "created_at": begun})


def fragment_tokens(memory: Memory, fragment: Fragment, limit: int) -> int:
    """Tokens that a fragment may take: less where a memory has many, so that it has room in the prompt as a whole.

    Args:
        memory: the fragment's memory.
        fragment: one message, or the summary.
        limit: tokens of a fragment of a memory with few of them.
    """
    limit = min(limit, _MEMORY_SHARE * limit // len(memory.fragments))
    return max(_MIN_TOKENS, int(limit * _TOOL_SHARE) if fragment.role == "tool" else limit)


def bearing_on(messages: Sequence[Fragment], question: str, limit: int) -> list[Fragment]:
    """Those messages, in the order they were said, that share most words with the question.

    Args:
        messages: candidates.
        question: any text.
        limit: tokens of all together, at most; a long message gets half of what is left.
    """
    wanted = set(search_terms(question))
    shared = {
        m.id: len(wanted.intersection(search_terms(m.content))) for m in messages if m.role in {"user", "assistant"}
    }
    chosen: dict[str, Fragment] = {}
    for message in sorted(messages, key=lambda m: (-shared.get(m.id, 0), m.seq)):
        if not shared.get(message.id):
            continue
        content = excerpt(message.content, question, max(limit // 2, _WHOLE))
        if (cost := estimate_tokens(content)) <= limit:
            limit -= cost
            chosen[message.id] = message.model_copy(update={"content": content})
    return [chosen[message.id] for message in messages if message.id in chosen]


def _memory(hit: Hit, fragments: Sequence[Fragment]) -> Memory:
    memory = Memory(
        fragments=tuple(fragments),
        source_type=hit.source_type,
        source_ids=(),
        thread_id=hit.thread_id,
        similarity=hit.similarity,
        score=hit.score,
        vector_rank=hit.vector_rank,
        keyword_rank=hit.keyword_rank,
        rank=hit.rank,
        created_at=hit.created_at,
    )
    return with_fragments(memory, fragments)
