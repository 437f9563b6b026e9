"""Reduce traces of a launch to the numbers of the criteria.

Three traces exist: when each warp ran and on which unit, how often each item executed each basic
block, and which addresses the items accessed. None depends on how the trace was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyapsp.profiling.criteria import Accesses, Activity, Span

__all__ = [
    "AddressTrace",
    "accesses",
    "activities",
    "by_warp",
    "divergence",
    "footprint",
    "overlapping",
    "union_length",
]

_Whole = NDArray[np.int64]


@dataclass(frozen=True)
class AddressTrace:
    """Accesses of items to memory; element k of each array is about access k.

    Attributes
    ----------
    warp : ndarray of int64
        The warp of the item, by a number in the launch.
    moment : ndarray of int64
        Accesses of a warp with the same number are one access of the warp: same place in the
        program, same iterations of the loops around it.
    address : ndarray of int64
        The first byte.
    size : ndarray of int64
        Bytes.
    local : ndarray of bool
        Whether it is local memory.
    """

    warp: _Whole
    moment: _Whole
    address: _Whole
    size: _Whole
    local: NDArray[np.bool_]

    def where(self, which: NDArray[np.bool_]) -> AddressTrace:
        """Return some of the accesses."""
        return AddressTrace(
            self.warp[which],
            self.moment[which],
            self.address[which],
            self.size[which],
            self.local[which],
        )


def union_length(start: NDArray[np.float64], end: NDArray[np.float64]) -> float:
    """Return the length of the union of intervals."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    before = np.maximum.accumulate(np.concatenate(([-np.inf], end)))[:-1]
    return float(np.maximum(end - np.maximum(start, before), 0).sum())


def activities(unit: _Whole, start: _Whole, end: _Whole) -> list[Activity]:
    """Return what each unit did, from the unit and the cycles of each warp.

    Clocks of different units are not compared: they may differ.
    """
    found = []
    for each in np.unique(unit):
        mine = unit == each
        first = start[mine].min()
        begin, finish = (start[mine] - first).astype(float), (end[mine] - first).astype(float)
        found.append(
            Activity(float((finish - begin).sum()), union_length(begin, finish), finish.max())
        )
    return found


def divergence(counts: _Whole, sizes: NDArray[np.float64], group: int, width: int) -> float:
    """Return the executed instructions over those that the warps had room for.

    Parameters
    ----------
    counts : ndarray of shape (items, blocks)
        How often each item executed each basic block; the items of a group are neighbours.
    sizes : ndarray of shape (blocks,)
        Instructions of a block.
    group, width : int
        Items of a group and of a warp. Lanes that the last warp of a group lacks are idle.

    Returns
    -------
    float
        The mean over warps. It is exact if the items of a warp meet again after each branch and
        each loop; a loop with another number of turns each time it is reached makes it larger.
    """
    whole = by_warp(counts, group, width)
    done = whole.sum(1) @ sizes
    room = width * (whole.max(1) @ sizes)
    return float(np.mean(done[room > 0] / room[room > 0])) if room.any() else 1.0


def by_warp(counts: _Whole, group: int, width: int) -> _Whole:
    """Return counts of items, of shape (items, blocks), as one of (warps, width, blocks)."""
    blocks = counts.shape[1]
    short = -group % width
    of_group = counts.reshape(-1, group, blocks)
    return np.pad(of_group, ((0, 0), (0, short), (0, 0))).reshape(-1, width, blocks)


def accesses(trace: AddressTrace, line: int, sector: int, banks: int, word: int = 4) -> Accesses:
    """Return what a trace touches.

    Parameters
    ----------
    trace : AddressTrace
    line, sector : int
        Bytes of a cache line, and of the part of a line that is read from the next level.
    banks, word : int
        Banks of local memory, and the bytes of a word in a bank.
    """
    outside, inside = trace.where(~trace.local), trace.where(trace.local)
    ideal, taken = _passes(inside, banks, word)
    return Accesses(
        useful=int(outside.size.sum()),
        lines=_touched(outside, line),
        sectors=_touched(outside, sector),
        line=line,
        sector=sector,
        ideal_local=ideal,
        local=taken,
    )


def footprint(trace: AddressTrace, size: int) -> int:
    """Return the bytes of the different pieces of global memory, of this size, that it touches."""
    outside = trace.where(~trace.local)
    pieces = _spread(outside, outside.address // size, (outside.address + outside.size - 1) // size)
    return size * len(np.unique(pieces[2]))


def overlapping(copies: Sequence[tuple[Span, float]], kernels: Sequence[Span]) -> float:
    """Return the bytes of copies that were copied while a kernel ran, by the share of the time."""
    merged = _merged(kernels)
    total = 0.0
    for copy, size in copies:
        shared = sum(max(min(copy.end, b) - max(copy.start, a), 0.0) for a, b in merged)
        total += size * shared / (copy.end - copy.start) if copy.end > copy.start else 0.0
    return total


def _merged(spans: Sequence[Span]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for each in sorted(spans, key=lambda span: span.start):
        if merged and each.start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], each.end)
        else:
            merged.append((each.start, each.end))
    return merged


def _touched(trace: AddressTrace, size: int) -> int:
    """Return how many pieces of memory of this size the accesses of warps touch."""
    first = trace.address // size
    warp, moment, piece = _spread(trace, first, (trace.address + trace.size - 1) // size)
    return len(_distinct(warp, moment, piece))


def _passes(trace: AddressTrace, banks: int, word: int) -> tuple[int, int]:
    """Return the passes over the banks that all accesses need, and those that they take.

    Items that access the same word share it. An access of a warp takes as many passes as the bank
    with most words of it.
    """
    first = trace.address // word
    last = (trace.address + trace.size - 1) // word
    words = _distinct(*_spread(trace, first, last))
    if not len(words):
        return 0, 0
    _, access = np.unique(words[:, :2], axis=0, return_inverse=True)
    access = access.reshape(-1)
    load = np.bincount(access * banks + words[:, 2] % banks).astype(np.int64)
    load = np.pad(load, (0, -len(load) % banks)).reshape(-1, banks)
    return int((-(-load.sum(1) // banks)).sum()), int(load.max(1).sum())


def _spread(trace: AddressTrace, first: _Whole, last: _Whole) -> tuple[_Whole, _Whole, _Whole]:
    """Repeat warp and moment of each access for all pieces from the first to the last."""
    many = last - first + 1
    before = np.repeat(np.cumsum(many) - many, many)
    piece = np.repeat(first, many) + np.arange(len(before)) - before
    return np.repeat(trace.warp, many), np.repeat(trace.moment, many), piece


def _distinct(*columns: _Whole) -> _Whole:
    """Return the distinct rows."""
    rows = np.stack(columns, axis=1)
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]).any(1)
    return rows[new]
