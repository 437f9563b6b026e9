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
    "misses",
    "overlapping",
    "union_length",
]

_Whole = NDArray[np.int64]


@dataclass(frozen=True)
class AddressTrace:
    """Accesses of items to memory; element k of each array is about access k."""

    warp: _Whole  # the warp of the item, by a number in the launch
    # Accesses of a warp with the same number are one access of the warp: same place in the program,
    # same iterations of the loops around it.
    moment: _Whole
    address: _Whole  # the first byte
    size: _Whole  # bytes
    local: NDArray[np.bool_]  # whether it is local memory

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


def accesses(
    trace: AddressTrace,
    line: int,
    sector: int,
    banks: int,
    word: int = 4,
    site: _Whole | None = None,
    sites: int = 1,
) -> list[Accesses]:
    """Return what the accesses of each site touch.

    Parameters
    ----------
    trace : AddressTrace
    line, sector : int
        Bytes of a cache line, and of the part of a line that is read from the next level.
    banks, word : int
        Banks of local memory, and the bytes of a word in a bank.
    site : ndarray of int64, optional
        The site of each access; those of a warp at a moment have the same. By default, all are of
        site 0.
    sites : int
        How many there are.
    """
    if site is None:
        site = np.zeros(len(trace.warp), np.int64)
    inside, outside = trace.local, ~trace.local
    useful = np.bincount(site[outside], trace.size[outside], sites)
    numbers = _number(trace.where(outside))
    of = _of_each(numbers, site[outside])
    lines, sectors = (
        np.bincount(of[_touched(trace.where(outside), numbers, size)[0]], minlength=sites)
        for size in (line, sector)
    )
    numbers = _number(trace.where(inside))
    of = _of_each(numbers, site[inside])
    passes = _passes(*_touched(trace.where(inside), numbers, word), banks)
    ideal, taken = (np.bincount(of, each, sites) for each in passes)
    columns = (useful, lines, sectors, ideal, taken)
    rows = np.stack(columns, axis=1).astype(np.int64).tolist()
    return [Accesses(a, b, c, line, sector, d, e) for a, b, c, d, e in rows]


def misses(trace: AddressTrace, line: int, site: _Whole, sites: int) -> NDArray[np.float64]:
    """Return how many of the accesses of warps to global memory miss the first cache, by site.

    An access misses if its line is new to the warp at this site: the cache holds all lines of the
    warps that run. The numbers are shares; that of a site without accesses is 0.
    """
    outside = trace.where(~trace.local)
    of_site = site[~trace.local]
    index, piece = _spread(outside, line)
    place = outside.warp * sites + of_site
    lines = _distinct(place[index], piece)[0] % sites
    numbers = _number(outside)
    accesses = np.bincount(_of_each(numbers, of_site), minlength=sites)
    new = np.bincount(lines, minlength=sites)
    return np.asarray(np.minimum(new / np.maximum(accesses, 1), 1.0))


def footprint(trace: AddressTrace, size: int) -> int:
    """Return the bytes of the different pieces of global memory, of this size, that it touches."""
    outside = trace.where(~trace.local)
    _, piece = _spread(outside, size)
    piece.sort()
    return size * len(_starts(piece))


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


def _touched(trace: AddressTrace, numbers: _Whole, size: int) -> tuple[_Whole, _Whole]:
    """Return the pieces of memory of this size that each access of a warp touches."""
    index, piece = _spread(trace, size)
    return _distinct(numbers[index], piece)


def _passes(number: _Whole, words: _Whole, banks: int) -> tuple[_Whole, _Whole]:
    """Return the passes over the banks that accesses of warps need, and those that they take.

    Items that access the same word share it. An access of a warp takes as many passes as the bank
    with most words of it.
    """
    bank = np.sort(number * banks + words % banks)
    first = _starts(bank)
    load = np.diff(first, append=len(bank))  # of each bank of each access
    begin = _starts(bank[first] // banks)
    if not len(begin):
        return begin, begin
    return -(-np.add.reduceat(load, begin) // banks), np.maximum.reduceat(load, begin)


def _spread(trace: AddressTrace, size: int) -> tuple[_Whole, _Whole]:
    """Return all pieces of memory of this size in which accesses are, and the accesses."""
    first, last = trace.address // size, (trace.address + trace.size - 1) // size
    many = last - first + 1
    index = np.repeat(np.arange(len(many)), many)
    return index, first[index] + np.arange(len(index)) - (np.cumsum(many) - many)[index]


def _number(trace: AddressTrace) -> _Whole:
    """Return the number of the access of a warp that each access of an item is a part of."""
    moments, moment = np.unique(trace.moment, return_inverse=True)
    inverse: _Whole = np.unique(trace.warp * len(moments) + moment, return_inverse=True)[1]
    return inverse


def _distinct(number: _Whole, piece: _Whole) -> tuple[_Whole, _Whole]:
    """Return the distinct pairs of two numbers, in their order."""
    if not len(number):
        return number, piece
    least, span = piece.min(), int(np.ptp(piece)) + 1
    if (int(number.max()) + 1) * span > np.iinfo(np.int64).max:
        pieces, piece = np.unique(piece, return_inverse=True)
        first, second = _distinct(number, piece)
        return first, pieces[second]
    pairs = np.sort(number * span + (piece - least))
    first, second = np.divmod(pairs[_starts(pairs)], span)
    return first, second + least


def _starts(numbers: _Whole) -> _Whole:
    """Return where equal numbers of a sorted array begin."""
    return np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])


def _of_each(numbers: _Whole, site: _Whole) -> _Whole:
    """Return the site of each access of a warp, from those of the accesses of its items."""
    of = np.zeros(numbers.max(initial=-1) + 1, np.int64)
    of[numbers] = site
    return of
