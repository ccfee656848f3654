"""Pairing: a found message brings its counterpart (seed `000`, "Context Pairing Logic").

A user's message brings the assistant's reply, a reply brings the query before it, a tool's result the whole exchange. A
summary stands alone; original messages that bear on the question come with it, as far as `memory_tokens` allows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ..runtime.events import tell
from ..runtime.seen import seen_ids
from ..runtime.turn import Turn
from ..state.conversation import ConversationState, Update
from ..state.errors import EmbeddingError, StorageError
from ..state.messages import newest_question
from ..state.records import Fragment, Hit, Memory, Recall
from ..text.excerpt import excerpt
from ..text.terms import search_terms
from ..text.tokens import estimate_tokens

logger = logging.getLogger(__name__)

_TOOL_SHARE: Final = 0.5
"""The share of a fragment's tokens that a tool's result gets."""

_SUMMARY_SHARE: Final = 2 / 3
"""Tokens of the original messages that recalled summaries bring, as a share of those of one message."""

_MEMORY_SHARE: Final = 3
"""A memory of many fragments has at most so many times the tokens of one."""

_WHOLE: Final = 80
"""Tokens up to which a source of a summary is told whole or not at all."""

_SOURCES: Final = 200
"""Messages under a summary that are looked at: what a summary of a whole life holds can be found by itself."""

_LEAST: Final = 40
"""Tokens of a fragment, however many there are."""


async def pairing(state: ConversationState, turn: Turn) -> Update:
    """Make memories of the hits, the most similar first; two hits in one exchange make one memory."""
    recall = state.get("recall", Recall())
    if not recall.hits:
        tell("remembered", memories=0)
        return {}
    question = newest_question(state["messages"])
    live = await seen_ids(state, turn)
    try:
        exchanges = await turn.resources.archive.exchanges(turn.user_id, recall.hits)
        memories = paired(recall.hits, exchanges, here=turn.thread_id, live=live)[: turn.settings.max_memories]
        memories = await _expanded(memories, question, live, turn)
        memories = await _shortened(memories, question, turn)
    except StorageError as error:
        logger.warning("Memories were not paired: %s", error)
        return {"recall": recall.model_copy(update={"error": str(error)})}
    tell("remembered", memories=len(memories))
    return {"recall": recall.model_copy(update={"memories": tuple(memories)})}


def paired(
    hits: Sequence[Hit], exchanges: Mapping[tuple[str, str], tuple[Fragment, ...]], *, here: str, live: Collection[str]
) -> list[Memory]:
    """One memory for each exchange that was hit, in the order of the hits.

    A hit in an exchange that is remembered already adds to that memory what it brings beside.

    Args:
        hits: what the search found, the best first.
        exchanges: by thread and source id of a hit, the fragments of its exchange in the order they were said.
        here: the thread of this turn.
        live: ids of this thread that the prompt shows; their fragments are left out, for the model sees them anyway.
    """
    memories: list[Memory] = []
    place_of: dict[tuple[str, str], int] = {}
    for hit in hits:
        fragments = [
            fragment
            for fragment in exchanges.get((hit.thread_id, hit.source_id), ())
            if not (hit.thread_id == here and fragment.id in live)
        ]
        if not fragments:
            continue
        known = [place for f in fragments if (place := place_of.get((hit.thread_id, f.id))) is not None]
        if known:
            place = known[0]
            new = [f for f in fragments if place_of.get((hit.thread_id, f.id), place) == place]
            memories[place] = _with_fragments(memories[place], merged(memories[place].fragments, new))
        else:
            place, new = len(memories), fragments
            memories.append(_memory(hit, tuple(fragments)))
        place_of.update(((hit.thread_id, fragment.id), place) for fragment in new)
    return memories


def merged(first: Sequence[Fragment], second: Sequence[Fragment]) -> tuple[Fragment, ...]:
    """The fragments of two parts of one exchange, each once, in the order they were said."""
    return tuple(sorted({f.id: f for f in (*first, *second)}.values(), key=lambda fragment: fragment.seq))


def _memory(hit: Hit, fragments: tuple[Fragment, ...]) -> Memory:
    memory = Memory(
        fragments=fragments,
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
    return _with_fragments(memory, fragments)


def _with_fragments(memory: Memory, fragments: tuple[Fragment, ...]) -> Memory:
    said = [fragment.created_at for fragment in fragments if fragment.created_at is not None]
    return memory.model_copy(
        update={
            "fragments": fragments,
            "source_ids": tuple(fragment.id for fragment in fragments),
            "created_at": min(said) if said else memory.created_at,
        }
    )


async def _expanded(memories: list[Memory], question: str, live: set[str], turn: Turn) -> list[Memory]:
    """The memories; summaries among them bring original messages that share words with the question."""
    left = int(turn.settings.memory_tokens * _SUMMARY_SHARE)
    told = {(memory.thread_id, id_) for memory in memories for id_ in memory.source_ids}
    told |= {(turn.thread_id, id_) for id_ in live}
    expanded = []
    for memory in memories:
        if memory.source_type == "summary" and left > 0:
            below = await turn.resources.archive.newest_sources(
                turn.user_id, memory.thread_id, memory.source_ids[0], limit=_SOURCES
            )
            raw = [message for message in below if (memory.thread_id, message.id) not in told]
            chosen = await asyncio.to_thread(bearing_on, raw, question, left)
            left -= sum(estimate_tokens(fragment.content) for fragment in chosen)
            told |= {(memory.thread_id, fragment.id) for fragment in chosen}
            memory = _with_fragments(memory, (*memory.fragments, *chosen))  # noqa: PLW2901
        expanded.append(memory)
    return expanded


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


async def _shortened(memories: list[Memory], question: str, turn: Turn) -> list[Memory]:
    """The memories with long messages cut to the passages that bear on the question."""
    limit = turn.settings.memory_tokens
    long = [(m.thread_id, f.id) for m in memories for f in m.fragments if len(f.content) > _share(limit, m, f)]
    if not long:
        return memories
    try:
        timeout = turn.settings.timeouts.embedding
        passages = await turn.resources.vectors.passages(turn.user_id, question, long, timeout=timeout)
    except EmbeddingError:
        passages = {}
    return await asyncio.to_thread(_cut_all, memories, question, limit, passages)


def _cut_all(
    memories: Sequence[Memory], question: str, limit: int, passages: Mapping[tuple[str, str], str]
) -> list[Memory]:
    def cut(memory: Memory, fragment: Fragment) -> Fragment:
        passage = passages.get((memory.thread_id, fragment.id), "")
        content = excerpt(fragment.content, question, _share(limit, memory, fragment), passage=passage)
        return fragment.model_copy(update={"content": content})

    return [m.model_copy(update={"fragments": tuple(cut(m, fragment) for fragment in m.fragments)}) for m in memories]


def _share(limit: int, memory: Memory, fragment: Fragment) -> int:
    """Tokens for a fragment: less where a memory has many, so that it has room in the context as a whole."""
    limit = min(limit, _MEMORY_SHARE * limit // len(memory.fragments))
    return max(_LEAST, int(limit * _TOOL_SHARE) if fragment.role == "tool" else limit)
