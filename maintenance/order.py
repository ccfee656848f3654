"""Numbers of messages in their order: gaps, what is out of order, and new numbers for it. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise


def gaps(numbers: Collection[int]) -> list[str]:
    """The numbers from 1 to the largest that are not among these, as "5" or "7-9"."""
    around = pairwise(sorted({0, *(number for number in numbers if number > 0)}))
    missing = [(before + 1, after - 1) for before, after in around if after - before > 1]
    return [str(first) if first == last else f"{first}-{last}" for first, last in missing]


def out_of_order(numbers: Mapping[str, int]) -> dict[str, int | None]:
    """What has a larger number than something behind it, or none above 0: by its id, the least number behind it.

    Args:
        numbers: by id, in the order in which they should grow.
    """
    found: dict[str, int | None] = {}
    least: int | None = None
    for id_ in reversed(list(numbers)):
        if numbers[id_] < 1 or (least is not None and numbers[id_] > least):
            found[id_] = least
        else:
            least = numbers[id_]
    return found


def put_in_order(numbers: Mapping[str, int], taken: Collection[int]) -> dict[str, int]:
    """New numbers for what is out of order: free ones between the neighbours, else those of all, sorted.

    Args:
        numbers: by id, in the order in which they should grow.
        taken: all numbers that are in use.
    """
    wrong, used, new, last = out_of_order(numbers), set(taken), dict(numbers), 0
    for id_ in numbers:
        if id_ in wrong:
            free = next_free(last, wrong[id_], used)
            if free is None:
                valid = sorted(number for number in numbers.values() if number > 0)
                valid += range(max(used) + 1, max(used) + 1 + len(numbers) - len(valid))
                new = dict(zip(numbers, valid, strict=True))
                break
            new[id_] = free
            used.add(free)
        last = new[id_]
    return {id_: number for id_, number in new.items() if number != numbers[id_]}


def next_free(low: int, high: int | None, used: Collection[int]) -> int | None:
    """The first number above `low` and below `high` that is not used; None where there is none."""
    number = max(low, 0) + 1
    while number in used:
        number += 1
    return number if high is None or number < high else None
