"""Numbers of messages in their order: gaps, what is out of order, and places for what comes between. Pure functions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise


def gaps(numbers: Sequence[int]) -> list[str]:
    """The numbers from 1 to the largest that are not among these, as "5" or "7-9"."""
    there = sorted({number for number in numbers if number > 0})
    return [
        str(before + 1) if after - before == 2 else f"{before + 1}-{after - 1}"
        for before, after in pairwise([0, *there])
        if after - before > 1
    ]


def out_of_order(places: Mapping[str, int]) -> list[str]:
    """The fewest ids without which the places of the others grow from one to the next."""
    ids, numbers = list(places), list(places.values())
    ends: list[int] = []
    """Of the growing rows of each length, the least last number; and where it stands."""
    at: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(ends, number)
        before.append(at[length - 1] if length else -1)
        ends[length : length + 1] = [number]
        at[length : length + 1] = [place]
    kept: set[int] = set()
    place = at[-1] if at else -1
    while place >= 0:
        kept.add(place)
        place = before[place]
    return [id_ for place, id_ in enumerate(ids) if place not in kept]


def put_in_order(places: Mapping[str, int], taken: Collection[int]) -> dict[str, int]:
    """New places for what is out of order, so that all grow: a free one between its neighbours, or all change places.

    Args:
        places: by id, in the order that is right.
        taken: all numbers that are in use.
    """
    positive = {id_: number for id_, number in places.items() if number > 0}
    wrong = {*out_of_order(positive), *(places.keys() - positive.keys())}
    if not wrong:
        return {}
    used = set(taken)
    new = {id_: number for id_, number in places.items() if id_ not in wrong}
    ids = list(places)
    for n, id_ in enumerate(ids):
        if id_ in wrong:
            low = max((new[before] for before in ids[:n] if before in new), default=0)
            high = min((new[after] for after in ids[n + 1 :] if after in new), default=None)
            free = next_free(low, high, used)
            if free is None:
                in_order = sorted(positive.values())
                in_order += range(max(used) + 1, max(used) + 1 + len(places) - len(in_order))
                return {id_: number for id_, number in zip(ids, in_order, strict=True) if places[id_] != number}
            new[id_] = free
            used.add(free)
    return {id_: new[id_] for id_ in wrong}


def next_free(low: int, high: int | None, used: Collection[int]) -> int | None:
    """The first number above `low` and below `high` that is not used; None where there is none."""
    number = max(low, 0) + 1
    while number in used:
        number += 1
    return number if high is None or number < high else None
