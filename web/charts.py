"""Pictures as numbers: where the bars and lines of an SVG stand. The templates draw them, without script or style."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

WIDTH: Final = 1000.0
"""Of a picture, in its own units; the page scales it."""

_HEIGHT: Final = 260.0


class Piece(NamedTuple):
    """A piece of a bar: where it begins, how wide it is, and what it stands for. `place` is that of its colour."""

    x: float
    width: float
    label: str
    value: float
    place: int


class Column(NamedTuple):
    """A column of a picture: its pieces from below, each from `x` up, and what it stands for."""

    x: float
    width: float
    label: str
    pieces: Sequence[tuple[float, float, int]]


class Columns(NamedTuple):
    """Columns with one scale.

    Attributes:
        columns: from left to right.
        series: names of the pieces, in the order of their places.
        top: the value at the top of the picture.
    """

    columns: Sequence[Column]
    series: Sequence[str]
    top: float


class Lines(NamedTuple):
    """Lines with one scale.

    Attributes:
        lines: their names, each with its pieces: points as SVG has them.
        top: the value at the top of the picture.
    """

    lines: Sequence[tuple[str, Sequence[str]]]
    top: float


def bar(parts: Sequence[tuple[str, float]], whole: float | None = None) -> list[Piece]:
    """One bar of several parts; `whole` is what its width stands for, by default their sum."""
    total = whole or sum(value for _, value in parts) or 1.0
    pieces: list[Piece] = []
    x = 0.0
    for place, (label, value) in enumerate(parts):
        width = WIDTH * value / total
        pieces.append(Piece(round(x, 1), round(width, 1), label, value, place))
        x += width
    return pieces


def columns(rows: Sequence[tuple[str, Sequence[float]]], series: Sequence[str], most: int = 120) -> Columns:
    """Stacked columns; of very many rows, neighbours become one with their mean.

    One in twenty may be higher than the picture: it is cut, so that a first turn that loads a model hides no other.
    """
    rows = _thinned(rows, most)
    heights = sorted(sum(values) for _, values in rows)
    top = _rounded_up(heights[len(heights) - 1 - len(heights) // 20] if heights else 0.0)
    step = WIDTH / max(1, len(rows))
    made: list[Column] = []
    for at, (label, values) in enumerate(rows):
        y, pieces = _HEIGHT, list[tuple[float, float, int]]()
        for place, value in enumerate(values):
            height = min(_HEIGHT * value / top, y)
            y -= height
            pieces.append((round(y, 1), round(height, 1), place))
        made.append(Column(round(at * step, 1), round(max(step * 0.82, step - 6), 1), label, pieces))
    return Columns(made, series, top)


def lines(series: Sequence[tuple[str, Sequence[float | None]]], top: float | None = None, most: int = 240) -> Lines:
    """Lines over the same steps; where a line has no value it is broken, and one value alone is a dot."""
    values = [value for _, line in series for value in line if value is not None]
    highest = top or _rounded_up(max(values, default=0.0))
    made: list[tuple[str, Sequence[str]]] = []
    for name, line in series:
        step, pieces = WIDTH / max(1, len(line) - 1), list[list[str]]([[]])
        for at in range(0, len(line), max(1, -(-len(line) // most))):
            if (value := line[at]) is not None:
                pieces[-1].append(f"{at * step:.1f},{_HEIGHT * (1 - value / highest):.1f}")
            elif pieces[-1]:
                pieces.append([])
        made.append((name, [" ".join(piece * 2 if len(piece) == 1 else piece) for piece in pieces if piece]))
    return Lines(made, highest)


def _rounded_up(value: float) -> float:
    """A round number that is not smaller: 1, 2 or 5 times a power of ten; 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 10.0 ** (len(str(int(value))) - 1) if value >= 1 else 0.1
    while power > value:
        power /= 10
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value)


def _thinned(rows: Sequence[tuple[str, Sequence[float]]], most: int) -> Sequence[tuple[str, Sequence[float]]]:
    every = -(-len(rows) // most)
    if every <= 1:
        return rows
    parts = [rows[at : at + every] for at in range(0, len(rows), every)]
    return [(f"{part[0][0]} to {part[-1][0]}", _means([values for _, values in part])) for part in parts]


def _means(rows: Sequence[Sequence[float]]) -> list[float]:
    return [sum(values) / len(rows) for values in zip(*rows, strict=True)]
