"""Summaries: the pyramid over a conversation, what each was made from, its versions, and its text by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ..maintenance.regenerate import correct_summary, regenerate
from ..state.errors import InputError
from ..state.records import MASTER_LEVEL, Summary
from ..storage.overview import Outlined, Overview
from .charts import WIDTH
from .threads import named_threads, thread_name
from .visit import Visit

_STANDING: Final = 60
"""Summaries that stand and are listed, the newest."""

BLOCKS: Final = 240
"""Summaries of a level that are drawn one by one; of more, one band is drawn."""

SOURCES: Final = 100
"""Sources of a summary that are shown."""

_WORDS: Final = 4_000

Span = tuple[int, int]
"""The numbers of the first and the last message under a summary."""


class _Block(NamedTuple):
    """A summary in the picture; `id` is empty for a band of many."""

    x: float
    width: float
    id: str
    label: str
    stands: bool


async def summaries(visit: Visit) -> Response:
    """The pyramid of a conversation and the summaries that stand; without a conversation, the list of them."""
    if not visit.asked("thread"):
        return await visit.show("summaries.html", threads=await named_threads(visit))
    thread = await visit.thread(visit.asked("thread"))
    outline, places = await Overview(visit.user.rows).outline(thread)
    spans = _spans_of(outline, places)
    replaced = {id_ for made in outline for id_ in made.source_ids}
    under = visit.asked("under")
    drawn = _under(outline, under) if under else outline
    standing = [made.id for made in outline if made.id not in replaced][-_STANDING:]
    texts = await visit.user.summaries.some(thread, standing)
    return await visit.show(
        "pyramid.html",
        thread=thread,
        name=await thread_name(visit, thread),
        rows=_rows_of(drawn, spans, replaced),
        number=len(outline),
        standing=[texts[id_] for id_ in standing if id_ in texts],
        under=under,
        versions=sum(made.version > 1 for made in outline),
    )


def _spans_of(outline: Sequence[Outlined], places: Mapping[str, int]) -> dict[str, Span]:
    """By summary, where in the conversation it stands; of one of which no message is there, nothing.

    Args:
        outline: the oldest first, so that a summary comes after its sources.
        places: the numbers of the messages by their ids.
    """
    spans: dict[str, Span] = {}
    for made in outline:
        below = [spans[id_] for id_ in made.source_ids if id_ in spans]
        below += [(places[id_], places[id_]) for id_ in made.source_ids if id_ in places]
        if below:
            spans[made.id] = min(first for first, _ in below), max(last for _, last in below)
    return spans


def _rows_of(
    outline: Sequence[Outlined], spans: Mapping[str, Span], replaced: set[str]
) -> list[tuple[str, Sequence[_Block]]]:
    """The rows of the picture, the highest level first, with their names."""
    drawn = [made for made in outline if made.id in spans]
    if not drawn:
        return []
    first, last = min(spans[made.id][0] for made in drawn), max(spans[made.id][1] for made in drawn)
    scale = WIDTH / (last - first + 1)
    levels: dict[int, list[Outlined]] = {}
    for made in drawn:
        levels.setdefault(made.level, []).append(made)
    rows: list[tuple[str, Sequence[_Block]]] = []
    for level in sorted(levels, key=lambda level: (level != MASTER_LEVEL, -level)):
        name = "master" if level == MASTER_LEVEL else f"level {level}"
        of_level = levels[level]
        if len(of_level) > BLOCKS:
            rows.append((name, [_Block(0, WIDTH, "", f"{len(of_level):,} summaries of {name}", False)]))
            continue
        rows.append((name, [_block(made, spans[made.id], first, scale, replaced) for made in of_level]))
    rows.append(("messages", [_Block(0, WIDTH, "", f"messages {first} to {last}", False)]))
    return rows


def _block(made: Outlined, span: Span, first: int, scale: float, replaced: set[str]) -> _Block:
    x, width = (span[0] - first) * scale, (span[1] - span[0] + 1) * scale
    label = f"messages {span[0]} to {span[1]}"
    return _Block(round(x, 2), round(width, 2), made.id, label, made.id not in replaced)


def _under(outline: Sequence[Outlined], id_: str) -> list[Outlined]:
    """A summary and all below it."""
    by_id = {made.id: made for made in outline}
    found, waiting = dict[str, None](), [id_]
    while waiting:
        if (made := by_id.get(waiting.pop())) and made.id not in found:
            found[made.id] = None
            waiting += made.source_ids
    return [made for made in outline if made.id in found]


async def summary(visit: Visit) -> Response:
    """One summary: its text, what it was made from, what was made from it, and its versions side by side."""
    thread, made = await _asked(visit)
    versions = await visit.user.summaries.versions(thread, made.id)
    following = [*(version.content for version in versions), made.content][1:]
    return await visit.show(
        "summary.html",
        thread=thread,
        name=await thread_name(visit, thread),
        summary=made,
        above=await visit.user.summaries.above(thread, made.id),
        versions=[
            (version, *_differences(version.content, after))
            for version, after in reversed(list(zip(versions, following, strict=True)))
        ],
        **await _below(visit, thread, made),
    )


async def below(visit: Visit) -> Response:
    """What a summary was made from, as a part of a page."""
    thread, made = await _asked(visit)
    return await visit.show("below.html", thread=thread, **await _below(visit, thread, made))


async def make_again(visit: Visit) -> Response:
    """Make a summary again from its sources."""
    thread, id_, above = await visit.needed("thread"), await visit.needed("id"), "above" in await visit.form()
    done = await regenerate(visit.site.graph, visit.user_id, id_, thread_id=thread, above=above)
    if not any(one.replaced for one in done):
        reason = done[0].reason or "it came out the same"
        raise InputError(f"The summary stays as it is: {reason}.")
    return visit.go("summary", thread=thread, id=id_, done="made")


async def correct(visit: Visit) -> Response:
    """Give a summary the text that the user wrote."""
    thread, id_, text = await visit.needed("thread"), await visit.needed("id"), await visit.needed("text")
    await correct_summary(visit.site.graph, visit.user_id, id_, text, thread_id=thread)
    return visit.go("summary", thread=thread, id=id_, done="corrected")


async def _asked(visit: Visit) -> tuple[str, Summary]:
    thread, id_ = await visit.thread(visit.asked("thread")), visit.asked("id")
    found = await visit.user.summaries.some(thread, [id_])
    if id_ not in found:
        raise InputError("There is no such summary: it was forgotten, or its messages have left the conversation.")
    return thread, found[id_]


async def _below(visit: Visit, thread: str, made: Summary) -> dict[str, Any]:
    """The sources that are shown, in their order, each a summary or a message; and how many are not."""
    ids = made.source_ids[:SOURCES]
    found = await visit.user.archive.below(thread, ids)
    return {
        "sources": [(id_, found[id_]) for id_ in ids if id_ in found],
        "missing": sum(id_ not in found for id_ in ids),
        "more": len(made.source_ids) - len(ids),
    }


Marked = list[tuple[str, bool]]
"""Parts of a text, each with whether the other text lacks it."""


def _differences(old: str, new: str) -> tuple[Marked, Marked]:
    """Two texts in parts: those that only one of them has are marked. Very long ones are not compared."""
    before, after = old.split(" "), new.split(" ")
    if len(before) + len(after) > _WORDS:
        return [(old, False)], [(new, False)]
    one, other = Marked(), Marked()
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if i < j:
            one.append((" ".join(before[i:j]) + " ", kind != "equal"))
        if k < m:
            other.append((" ".join(after[k:m]) + " ", kind != "equal"))
    return one, other
