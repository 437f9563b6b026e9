"""The work of the groups of a launch on the cores of a processor (CPU).

A core runs a group at a time, as a loop over its work-items. Its time is

    max(scalar s, vectors v, divisions d, loads l + chained c) + surprises (b + awaited l
    + computed c) + atomics a + barriers w + saved r + far f + contended t + shared u + g

Operations of single values, those of vectors and divisions have units of their own, which work at
the same time. In some loops a turn waits for loads and operations of the turn before it
(`probes.recurrences`). A branch that is predicted wrongly (`branches`) stops all, until the values
that it needs have been loaded and computed (`probes.awaited`). A barrier ends the loop over the
work-items: their private values are saved (`probes.liveness`). A line that another core has written
comes from its cache; operations on one such line wait for each other. `Core` has the seconds s, v,
d, l, c, b, a, w, r, f, t, u and g of each, from a profile of the device; this module counts. What a
load takes depends on how much was accessed since the last access to its line (`reuse`).

A launch of n groups takes less time on several cores, but those that sleep begin late: how many
take part depends on its work (`Core.cores`).
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyapsp.profiling.benchmarks.characterisation import Core
from pyapsp.profiling.probes.blocks import Block
from pyapsp.profiling.traces.reduction import AddressTrace
from pyapsp.profiling.traces.reuse import lines_between

__all__ = ["Work", "far_accesses", "is_regular", "makespan", "shared_accesses", "work_of"]

_Each = NDArray[np.float64]
_NOT_SCALAR = ("atomic", "local atomic", "barrier")
_LINE = 64  # bytes of a line of the caches of most processors


@dataclass(frozen=True)
class Work:
    """What the groups of a launch do; arrays have an element for each recorded group."""

    scalars: _Each  # operations of single values
    vectors: dict[str, _Each]  # elements of arithmetic of vectors, by class
    divisions: _Each  # of integers, by numbers that no compiler knows
    # Loads and operations that turns of loops wait for, one after the other
    # (`probes.recurrences`).
    carried: tuple[_Each, _Each]
    # Branches that are predicted wrongly; atomic operations; barriers of work-items, and the bytes
    # that are live across these.
    surprises: _Each
    atomics: _Each
    barriers: _Each
    saved: _Each
    state: float  # bytes of a group that are live across a barrier, at most
    # Loads that each of the branches that are predicted wrongly waits for, one after the other, by
    # the bytes that were accessed since the last access to their line: 0 if it is near.
    awaited: Mapping[float, float]
    # Operations that each of these branches waits for, by class.
    computed: Mapping[str, float]
    # Accesses of the launch, by these bytes, that are neither in the line of the access before it
    # at the same place of the program, nor in the next one.
    far: Mapping[float, float]
    # Accesses of the launch to lines that another group has accessed before, of which one has
    # written: those to another line than the last one at the same place of the program, and those
    # to the same one.
    shared: float
    contended: float
    groups: int  # groups of the launch

    def seconds(self, core: Core, units: int) -> dict[str, float]:
        """Return the seconds of each part, and those of the whole as ``cores``.

        Parameters
        ----------
        core : Core
        units : int
            Cores.
        """
        awaited = sum(core.load_seconds(size) * some for size, some in self.awaited.items())
        awaited += sum(core.chained_seconds(name) * some for name, some in self.computed.items())
        far = sum(core.far_seconds(size) * some for size, some in self.far.items())
        vectors = sum(
            (core.vectors.get(name, core.scalar) * some for name, some in self.vectors.items()),
            np.zeros_like(self.scalars),
        )
        loads, operations = self.carried
        carried = core.load_seconds(0) * loads + core.chained_seconds("int") * operations
        parts = {
            "arithmetic": np.maximum.reduce(
                [core.scalar * self.scalars, vectors, core.division * self.divisions, carried]
            ),
            "branches": (core.surprise + awaited) * self.surprises,
            "atomics": core.atomic * self.atomics,
            "barriers": core.barrier * self.barriers + core.saved_seconds(self.state) * self.saved,
            "caches": np.full_like(self.scalars, far / self.groups),
            "groups": np.full_like(self.scalars, core.group),
        }
        each = sum(parts.values(), np.zeros_like(self.scalars))
        every = self.groups / len(each)
        cores = core.together(float(each.sum()) * every, units)
        # the other group ran on any of the cores
        moved = core.shared * self.shared + core.transfer * self.contended
        sharing = moved / self.groups * (1 - 1 / cores)
        parts["sharing"] = np.full_like(self.scalars, sharing)
        each += sharing
        whole = max(makespan(each, units), each.sum() / cores) * every
        share = whole / (each.sum() or 1.0)
        return {"cores": whole, **{name: float(some.sum() * share) for name, some in parts.items()}}


def work_of(
    counts: NDArray[np.int64],
    blocks: Sequence[Block],
    in_group: int,
    groups: int,
    wrong: _Each,
    loads: Sequence[Mapping[float, float]],
    far: Mapping[float, float],
    shared: float,
    contended: float,
) -> Work:
    """Return the work of the groups of a launch.

    Parameters
    ----------
    counts : ndarray of shape (items, blocks)
        How often items executed blocks; those of a group are neighbours.
    blocks : sequence of Block
    in_group, groups : int
        Items of a group, and groups of the launch, of which some were recorded.
    wrong : ndarray of shape (blocks,)
        See `wrong_predictions`.
    loads : sequence of mappings
        Of each site, the parts of its loads by size, as `Work.awaited`.
    far, shared, contended
        As those of `Work`.
    """
    of_groups = counts.reshape(-1, in_group, len(blocks)).sum(1)

    def total(numbers: Sequence[int]) -> _Each:
        return np.asarray(of_groups @ np.array(numbers, float))

    classes = {name for each in blocks for name in each.vectors}
    surprises, awaited, computed = _surprises(of_groups, blocks, wrong, loads)
    return Work(
        total([_scalars(each) for each in blocks]),
        {
            name: total([each.vectors.get(name, 0) - each.minima.get(name, 0) for each in blocks])
            for name in sorted(classes - {"load", "store", "local load", "local store"})
        },
        total([each.divisions for each in blocks]),
        _carried(of_groups, blocks),
        surprises,
        total([each.operations.get("atomic", 0) for each in blocks])
        + total([each.operations.get("local atomic", 0) for each in blocks]),
        # a group of one item has no loop over its items that a barrier would cut in two
        total([each.operations.get("barrier", 0) for each in blocks]) * (in_group > 1),
        total([each.saved for each in blocks]) * (in_group > 1),
        in_group * max(map(_saved, blocks), default=0.0),
        awaited,
        computed,
        far,
        shared,
        contended,
        groups,
    )


def far_accesses(
    trace: AddressTrace, site: NDArray[np.int64], warps: int = 1
) -> tuple[NDArray[np.int64], _Each]:
    """Return the sites of the accesses to global memory that are far from the one before.

    A core runs the work-items of a group one after the other, and groups one after the other.

    Parameters
    ----------
    trace : AddressTrace
        In the order of the accesses of each group.
    site : ndarray of int64
        The place of the program of each access.
    warps : int
        Those of a group.

    Returns
    -------
    sites : ndarray of int64
    sizes : ndarray of float64
        The bytes that were accessed since the last access to the line of each; those of all lines
        if there was none.
    """
    order = np.flatnonzero(~trace.local)
    order = order[np.argsort(trace.warp[order] // warps, kind="stable")]
    site, group = site[order], trace.warp[order] // warps
    line = trace.address[order] // _LINE
    sizes = _LINE * lines_between(line)
    order = np.lexsort((site, group))
    step = np.diff(line[order], prepend=line[order][:1])
    first = np.logical_or.reduce([np.diff(each[order], prepend=-1) != 0 for each in (site, group)])
    far = order[first | (step < 0) | (step > 1)]
    return site[far], sizes[far]


def shared_accesses(
    trace: AddressTrace, site: NDArray[np.int64], kinds: NDArray[np.str_], warps: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the accesses that get a line of global memory from another group.

    The access to the line before is of another group, and one of the two writes. No core waits for
    its own stores.

    Parameters
    ----------
    trace : AddressTrace
        In the order of all accesses.
    site : ndarray of int64
        The place of the program of each access.
    kinds : ndarray of str
        What each access is, as `Site.kind`.
    warps : int
        Those of a group.

    Returns
    -------
    sites : ndarray of int64
    again : ndarray of bool
        Whether the last access at the same place was to the same line, for which this one waits.
    """
    outside = ~trace.local
    line, site = trace.address[outside] // _LINE, site[outside]
    order = np.argsort(site, kind="stable")
    again = np.zeros(len(line), bool)
    again[order[1:]] = (np.diff(site[order]) == 0) & (np.diff(line[order]) == 0)
    order = np.argsort(line, kind="stable")
    group, kind = trace.warp[outside][order] // warps, kinds[outside][order]
    written, waits = kind != "load", kind != "store"
    other = (np.diff(line[order]) == 0) & (np.diff(group) != 0) & (written[1:] | written[:-1])
    other &= waits[1:]
    found = order[1:][other]
    return site[found], again[found]


def makespan(seconds: _Each, units: int) -> float:
    """Return when the last core ends, if each takes the next group when it is free."""
    ends = [0.0] * units
    for each in seconds.tolist():
        heapq.heapreplace(ends, ends[0] + each)
    return max(ends)


def _saved(block: Block) -> float:
    """Return the bytes that are live across a barrier of a block."""
    return block.saved / max(block.operations.get("barrier", 0), 1)


def _scalars(block: Block) -> int:
    return sum(
        number - block.vectors.get(name, 0)
        for name, number in block.operations.items()
        if name not in _NOT_SCALAR
    )


def _carried(of_groups: NDArray[np.int64], blocks: Sequence[Block]) -> tuple[_Each, _Each]:
    """Return the loads and operations that turns of loops wait for, but for the first ones."""
    loads, operations = np.zeros(len(of_groups)), np.zeros(len(of_groups))
    for number, block in enumerate(blocks):
        if block.branch is not None and any(block.carried):
            turns = np.maximum(of_groups[:, number] - of_groups[:, block.branch.outer], 0)
            loads += block.carried[0] * turns
            operations += block.carried[1] * turns
    return loads, operations


def _surprises(
    of_groups: NDArray[np.int64],
    blocks: Sequence[Block],
    wrong: _Each,
    loads: Sequence[Mapping[float, float]],
) -> tuple[_Each, dict[float, float], dict[str, float]]:
    """Return how often branches are predicted wrongly, and for what each waits."""
    total = np.zeros(len(of_groups))
    awaited: defaultdict[float, float] = defaultdict(float)
    computed: defaultdict[str, float] = defaultdict(float)
    for number, block in enumerate(blocks):
        if block.branch is None or not wrong[number]:
            continue
        decisions = of_groups[:, block.branch.outer]
        if block.branch.loop:
            decisions = decisions + of_groups[:, number]
        mine = wrong[number] * decisions
        total += mine
        for each in block.branch.awaits:
            if isinstance(each, str):
                computed[each] += float(mine.sum())
                continue
            for size, some in loads[each].items():
                awaited[size] += float(mine.sum()) * some
    whole = total.sum() or 1.0
    return (
        total,
        {size: some / whole for size, some in awaited.items()},
        {name: some / whole for name, some in computed.items()},
    )


def is_regular(turns: NDArray[np.int64], entries: NDArray[np.int64]) -> bool:
    """Return whether a loop may have had the same number of turns each time."""
    some = entries > 0
    whole, rest = np.divmod(turns[some], entries[some])
    return not rest.any() and len(np.unique(whole)) <= 1
