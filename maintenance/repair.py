"""What was found wrong with a thread is put right: rows are added, flags and places set, nothing is deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from ..runtime.chain_texts import chain_from_archive
from ..runtime.turn import Turn
from ..state.health_records import FindingKind
from ..state.messages import is_empty
from ..storage.inspection import Inspection, Kept, KeptSummary, Placed
from .checks import Seen, not_embedded, orders
from .older_states import Older, search
from .sequence import next_free, put_in_order
from .thread_state import ThreadState

_ARCHIVED: Final[frozenset[FindingKind]] = frozenset({"message not archived"})
_RESTORED: Final[frozenset[FindingKind]] = frozenset({"source missing", "message missing", "fact without source"})
_OF_CHAIN: Final[frozenset[FindingKind]] = frozenset(
    {"summary not archived", "lost from chain", "mark without summary"}
)


class Mending:
    """The repairs of one thread, each for one kind of finding. What each repair brings up, the next look finds.

    Args:
        state: of the thread, which nobody else uses meanwhile.
        seen: what was found in it.
    """

    def __init__(self, state: ThreadState, seen: Seen) -> None:
        self._state = state
        self._seen = seen
        self._resources = state.conversation.resources
        self._rows = Inspection(self._resources.database, state.user_id)

    async def mend(self, kinds: set[FindingKind]) -> set[FindingKind]:
        """Repair what was found of these kinds; returns those that were tried.

        What is missing comes first, and what rests on it waits for the next look.

        Raises:
            StorageError: the database fails; what was repaired before stays so.
        """
        if due := kinds & _ARCHIVED:
            await self._archive()
            return due
        if "order" in kinds:  # before what is missing, so that a place that is only mistaken is not given away
            await self._order()
            return {"order"}
        if due := kinds & _RESTORED:
            await self._restore()
            return due
        steps: tuple[tuple[Callable[[], Awaitable[None]], frozenset[FindingKind]], ...] = (
            (self._flag, frozenset({"active flag"})),
            (self._chunk, frozenset({"chunk id"})),
            (self._edit, frozenset({"message changed"})),
            (self._chain, _OF_CHAIN),
            (self._embed, frozenset({"not embedded"})),
        )
        for step, of in steps:
            if kinds & of:
                await step()
        return kinds

    async def _archive(self) -> None:
        said = list(self._seen.messages)
        ids = [str(message.id) for message in said]
        older = {
            id_: Older(message, tuple(ids[:place]), tuple(ids[place + 1 :]), None)
            for place, (id_, message) in enumerate(zip(ids, said, strict=True))
            if not is_empty(message) and id_ not in self._seen.archived
        }
        before = self._seen.above.keys() & older.keys()  # a summary has them: they were archived once
        placed = [place._replace(old=place.message.id in before) for place in self._placed(older, old=False)]
        await self._rows.add(self._state.thread_id, placed)

    async def _restore(self) -> None:
        known = {*self._seen.archived, *self._seen.rows.summaries}
        wanted = {id_ for summary in self._seen.summaries.values() for id_ in summary.source_ids}
        wanted |= {source for _, source in self._seen.rows.facts}
        found = await search(self._state, wanted - known, known, everything=True)
        await self._rows.add(self._state.thread_id, self._placed(found, old=True))

    async def _edit(self) -> None:
        changed = [message for message in self._seen.messages if message.id in self._seen.changed]
        await self._resources.of_user(self._state.user_id).branches.edit(self._state.thread_id, changed)

    def _placed(self, older: Mapping[str, Older], *, old: bool) -> list[Placed]:
        """The messages with the places that they had, as far as these are free: behind what stood before them."""
        places = {id_: kept.seq for id_, kept in self._seen.archived.items()}
        times = {id_: kept.created_at for id_, kept in self._seen.archived.items()}
        end = max(places.values(), default=0)
        placed: list[Placed] = []
        for id_, found in sorted(older.items(), key=lambda item: len(item[1].before)):
            low = max((places[before] for before in found.before if before in places), default=0)
            high = min((places[after] for after in found.after if after in places), default=None)
            seq = next_free(low, high, set(places.values())) or end + 1
            end, places[id_] = max(end, seq), seq
            neighbour = next((times[before] for before in reversed(found.before) if before in times), None)
            moment = found.seen_at if neighbour is None else neighbour
            placed.append(Placed(found.message, seq, moment if old else None, old))
        return placed

    async def _order(self) -> None:
        places = {id_: kept.seq for id_, kept in self._seen.archived.items()}
        moved: dict[str, int] = {}
        for ids in orders(self._seen):
            new = put_in_order({id_: places[id_] for id_ in ids}, places.values())
            places.update(new)
            moved.update(new)
        for id_, seq in places.items():
            if seq < 1:
                places[id_] = moved[id_] = max(places.values()) + 1
        await self._rows.move(self._state.thread_id, moved)

    async def _flag(self) -> None:
        above = self._seen.above
        standing: dict[bool, list[str]] = {True: [], False: []}
        rows: dict[str, Kept | KeptSummary] = {**self._seen.archived, **self._seen.rows.summaries}
        for id_, row in rows.items():
            if not row.has_left:
                standing[id_ not in above].append(id_)
        for active, ids in standing.items():
            await self._rows.flag(self._state.thread_id, ids, active=active)

    async def _chunk(self) -> None:
        messages, above = self._seen.archived, self._seen.above
        last = max((kept.chunk_id or 0 for kept in messages.values()), default=0)
        chunks: dict[int | None, list[str]] = defaultdict(list)
        of_summary: dict[str, int] = {}
        for kept in messages.values():
            if kept.has_left:
                continue
            if kept.id not in above:
                chunks[None] += [kept.id] if kept.chunk_id is not None else []
            elif kept.chunk_id is None:
                summary = above[kept.id][0]
                beside = [messages[id_].chunk_id for id_ in self._seen.summaries[summary].source_ids if id_ in messages]
                known = next((chunk for chunk in beside if chunk is not None), None)
                if known is None:
                    known = of_summary.setdefault(summary, last + 1)
                    last = max(last, known)
                chunks[known].append(kept.id)
        await self._rows.chunk(self._state.thread_id, {chunk: ids for chunk, ids in chunks.items() if ids})

    async def _chain(self) -> None:
        settings = self._resources.settings.model_copy(update={"user_id": self._state.user_id})
        turn = Turn(self._resources, settings, self._state.config)
        await self._state.write(await chain_from_archive(self._seen.messages, turn))

    async def _embed(self) -> None:
        await self._rows.queue(self._state.thread_id, not_embedded(self._seen))
        if self._resources.embedder.ready:  # else the next start does it
            user = self._resources.of_user(self._state.user_id)
            user.embed_later(self._resources.settings.timeouts.embedding)
