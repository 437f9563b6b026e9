"""Reduce traces of a launch to the numbers of the criteria.

Three traces are reduced here: when each warp ran and on which unit, how often each item executed
each basic block, and which addresses the items accessed. None depends on how the trace was
recorded. The order in which blocks were executed is reduced in `branches`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pyapsp.profiling.traces.criteria import Accesses, Activity, Span

__all__ = [
    "AddressTrace",
    "accesses",
    "activities",
    "by_warp",
    "divergence",
    "footprint",
    "further_lines",
    "misses",
    "overlapping",
    "repeated",
    "uneven",
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

    @cached_property
    def numbers(self) -> _Whole:
        """The number of the access of a warp that each access of an item is a part of."""
        moments, moment = np.unique(self.moment, return_inverse=True)
        inverse: _Whole = np.unique(self.warp * len(moments) + moment, return_inverse=True)[1]
        return inverse

    def where(self, which: NDArray[np.bool_] | _Whole) -> AddressTrace:
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
    numbers = _renumbered(trace.numbers[outside])
    of = _of_each(numbers, site[outside])
    lines, sectors = (
        np.bincount(of[_touched(trace.where(outside), numbers, size)[0]], minlength=sites)
        for size in (line, sector)
    )
    numbers = _renumbered(trace.numbers[inside])
    of = _of_each(numbers, site[inside])
    passes = _passes(*_touched(trace.where(inside), numbers, word), banks)
    ideal, taken = (np.bincount(of, each, sites) for each in passes)
    columns = (useful, lines, sectors, ideal, taken)
    rows = np.stack(columns, axis=1).astype(np.int64).tolist()
    return [Accesses(a, b, c, line, sector, d, e) for a, b, c, d, e in rows]


def misses(trace: AddressTrace, sector: int, site: _Whole, sites: int) -> NDArray[np.float64]:
    """Return how many of the accesses of warps to global memory miss the first cache, by site.

    An access misses if a sector of it is new to the warp at this site: the cache holds all sectors
    that the warps that run have read, and reads none that nobody asked for. The numbers are shares;
    that of a site without accesses is 0.
    """
    numbers, outside = trace.numbers, np.flatnonzero(~trace.local)
    index, piece = _spread(trace.where(outside), sector)
    index = outside[index]
    missed = np.zeros(numbers.max(initial=-1) + 1, bool)
    missed[numbers[index[_first((trace.warp * sites + site)[index], piece)]]] = True
    of = _of_each(numbers, site)
    new, accesses = np.bincount(of, missed, sites), np.bincount(of, minlength=sites)
    return np.asarray(new / np.maximum(accesses, 1))


def repeated(
    trace: AddressTrace, item: _Whole, site: _Whole, sites: int, width: int
) -> NDArray[np.float64]:
    """Return how often warps access memory at a site, over the most that an item of each does.

    It is more than 1 where items of a warp do so at different moments, for instance in different
    turns of a loop. A site without accesses has 1.

    Parameters
    ----------
    trace : AddressTrace
    item, site : ndarray of int64
        The item and the site of each access; those of a warp at a moment have the same site.
    sites : int
        How many there are.
    width : int
        Items of a warp.
    """
    of = _of_each(trace.numbers, site)
    place = np.sort((trace.warp * sites + site) * width + item % width)
    first = _starts(place)
    each = np.diff(first, append=len(place))  # of an item of a warp at a site
    begin = _starts(place[first] // width)
    most = np.maximum.reduceat(each, begin) if len(begin) else begin
    of_items = np.bincount(place[first[begin]] // width % sites, most, sites)
    done = np.bincount(of, minlength=sites)
    return np.asarray(np.where(done > 0, done / np.maximum(of_items, 1), 1.0))


def uneven(
    trace: AddressTrace, phase: _Whole, site: _Whole, weights: NDArray[np.float64], warps: int
) -> float:
    """Return the time of groups that wait in each phase for their slowest warp, by that of warps.

    Parameters
    ----------
    trace : AddressTrace
    phase, site : ndarray of int64
        The phase, between two barriers, and the site of each access.
    weights : ndarray
        The time of an access of a warp at a site.
    warps : int
        Those of a group.

    Returns
    -------
    float
        At least 1. The time of warps is that of the one of each group that takes longest.
    """
    numbers = trace.numbers
    first = np.zeros(numbers.max(initial=-1) + 1, np.int64)
    first[numbers] = np.arange(len(numbers))
    warp, span = trace.warp[first], int(phase.max(initial=0)) + 1
    time = weights[site[first]]
    places, place = np.unique(warp * span + phase[first], return_inverse=True)
    groups, group = np.unique(places // span // warps * span + places % span, return_inverse=True)
    slowest = np.zeros(len(groups))
    np.maximum.at(slowest, group, np.bincount(place, time))
    of_warps = np.bincount(warp, time, (warp.max(initial=-1) // warps + 1) * warps)
    longest = of_warps.reshape(-1, warps).max(1).sum()
    return float(slowest.sum() / longest) if longest else 1.0


def further_lines(trace: AddressTrace, line: int, site: _Whole, sites: int) -> NDArray[np.float64]:
    """Return the mean number of lines beyond the first one that an access of a warp touches."""
    numbers = trace.numbers
    of = _of_each(numbers, site)
    touched = np.bincount(of[_touched(trace, numbers, line)[0]], minlength=sites)
    accesses = np.bincount(of, minlength=sites)
    return np.asarray(np.maximum(touched - accesses, 0) / np.maximum(accesses, 1))


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


def _renumbered(numbers: _Whole) -> _Whole:
    """Return numbers without gaps, in the same order."""
    present = np.zeros(numbers.max(initial=-1) + 1, bool)
    present[numbers] = True
    return (np.cumsum(present) - 1)[numbers]


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


def _first(number: _Whole, piece: _Whole) -> _Whole:
    """Return where each pair of two numbers is first."""
    if not len(number):
        return number
    least, span = piece.min(), int(np.ptp(piece)) + 1
    if (int(number.max()) + 1) * span > np.iinfo(np.int64).max:
        return _first(number, np.unique(piece, return_inverse=True)[1])
    return np.unique(number * span + (piece - least), return_index=True)[1]


def _starts(numbers: _Whole) -> _Whole:
    """Return where equal numbers of a sorted array begin."""
    return np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])


def _of_each(numbers: _Whole, site: _Whole) -> _Whole:
    """Return the site of each access of a warp, from those of the accesses of its items."""
    of = np.zeros(numbers.max(initial=-1) + 1, np.int64)
    of[numbers] = site
    return of
