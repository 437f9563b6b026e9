"""The work of the groups of a launch on the cores of a processor (CPU).

A core runs a group at a time, as a loop over its work-items. Its time is

    max(scalar s, vectors v) + surprises b + atomics a + barriers w + saved r + far f + shared t + g

Operations of single values and of vectors have units of their own, which work at the same time. A
branch that is predicted wrongly stops both. A barrier ends the loop over the work-items: their
private values are saved (`liveness`). A line that another core has written comes from its cache.
`Core` has the seconds s, v, b, a, w, r, f, t and g of each, from a profile of the device; this
module counts.

A branch counts as a surprise as often as it goes its rarer way in a group: no predictor that knows
only how often it goes each way does better (A. Fog, Optimization manuals 3: microarchitecture,
chapter 3). A loop goes its rarer way when it ends. It is no surprise if it always has the
same number of turns.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyapsp.profiling.blocks import Block
from pyapsp.profiling.characterisation import Core
from pyapsp.profiling.traces import AddressTrace

__all__ = ["Work", "far_accesses", "is_regular", "makespan", "shared_accesses", "work_of"]

_Each = NDArray[np.float64]
_NOT_SCALAR = ("atomic", "local atomic", "barrier")
_LINE = 64  # bytes of a line of the caches of most processors


@dataclass(frozen=True)
class Work:
    """What the groups of a launch do; arrays have an element for each recorded group."""

    scalars: _Each  # operations of single values
    vectors: dict[str, _Each]  # elements of arithmetic of vectors, by class
    # Branches that are predicted wrongly; atomic operations; barriers of work-items, and the bytes
    # that are live across these.
    surprises: _Each
    atomics: _Each
    barriers: _Each
    saved: _Each
    state: float  # bytes of a group that are live across a barrier, at most
    # Accesses of the launch that are neither in the line of the access before it at the same place
    # of the program, nor in the next one.
    far: float
    # Accesses of the launch to lines that another group has accessed before, of which one has
    # written.
    shared: float
    groups: int  # groups of the launch

    def seconds(self, core: Core, footprint: float, units: int) -> dict[str, float]:
        """Return the seconds of each part, and those of the whole as ``cores``.

        Parameters
        ----------
        core : Core
        footprint : float
            Bytes that are accessed.
        units : int
            Cores.
        """
        vectors = sum(
            (core.vectors.get(name, core.scalar) * some for name, some in self.vectors.items()),
            np.zeros_like(self.scalars),
        )
        parts = {
            "arithmetic": np.maximum(core.scalar * self.scalars, vectors),
            "branches": core.surprise * self.surprises,
            "atomics": core.atomic * self.atomics,
            "barriers": core.barrier * self.barriers + core.saved_seconds(self.state) * self.saved,
            "caches": np.full_like(
                self.scalars, core.far_seconds(footprint) * self.far / self.groups
            ),
            # the other group ran on any of the cores
            "sharing": np.full_like(
                self.scalars, core.transfer * self.shared / self.groups * (1 - 1 / units)
            ),
            "groups": np.full_like(self.scalars, core.group),
        }
        each = sum(parts.values(), np.zeros_like(self.scalars))
        every = self.groups / len(each)
        whole = makespan(each, units) * every
        share = whole / (each.sum() or 1.0)
        return {"cores": whole, **{name: float(some.sum() * share) for name, some in parts.items()}}


def work_of(
    counts: NDArray[np.int64],
    blocks: Sequence[Block],
    in_group: int,
    groups: int,
    far: float,
    shared: float,
) -> Work:
    """Return the work of the groups of a launch.

    Parameters
    ----------
    counts : ndarray of shape (items, blocks)
        How often items executed blocks; those of a group are neighbours.
    blocks : sequence of Block
    in_group, groups : int
        Items of a group, and groups of the launch, of which some were recorded.
    far, shared : float
        As those of `Work`.
    """
    of_groups = counts.reshape(-1, in_group, len(blocks)).sum(1)

    def total(numbers: Sequence[int]) -> _Each:
        return np.asarray(of_groups @ np.array(numbers, float))

    classes = {name for each in blocks for name in each.vectors}
    return Work(
        total([_scalars(each) for each in blocks]),
        {
            name: total([each.vectors.get(name, 0) for each in blocks])
            for name in sorted(classes - {"load", "store", "local load", "local store"})
        },
        _surprises(counts, of_groups, blocks),
        total([each.operations.get("atomic", 0) for each in blocks])
        + total([each.operations.get("local atomic", 0) for each in blocks]),
        # a group of one item has no loop over its items that a barrier would cut in two
        total([each.operations.get("barrier", 0) for each in blocks]) * (in_group > 1),
        total([each.saved for each in blocks]) * (in_group > 1),
        in_group * max(map(_saved, blocks), default=0.0),
        far,
        shared,
        groups,
    )


def far_accesses(trace: AddressTrace, site: NDArray[np.int64], warps: int = 1) -> NDArray[np.int64]:
    """Return the sites of the accesses to global memory that are far from the one before.

    A core runs the work-items of a group one after the other.

    Parameters
    ----------
    trace : AddressTrace
        In the order of the accesses of each warp.
    site : ndarray of int64
        The place of the program of each access.
    warps : int
        Those of a group.
    """
    outside = ~trace.local
    place = site[outside], trace.warp[outside] // warps
    line = trace.address[outside] // _LINE
    order = np.lexsort(place)
    step = np.diff(line[order], prepend=line[order][:1])
    first = np.logical_or.reduce([np.diff(each[order], prepend=-1) != 0 for each in place])
    return np.asarray(site[outside][order][first | (step < 0) | (step > 1)])


def shared_accesses(
    trace: AddressTrace, site: NDArray[np.int64], writes: NDArray[np.bool_], warps: int = 1
) -> NDArray[np.int64]:
    """Return the sites of the accesses that get a line of global memory from another group.

    The access to the line before is of another group, and one of the two writes.

    Parameters
    ----------
    trace : AddressTrace
        In the order of all accesses.
    site : ndarray of int64
        The place of the program of each access.
    writes : ndarray of bool
        Whether it is a store or an atomic operation.
    warps : int
        Those of a group.
    """
    outside = ~trace.local
    line = trace.address[outside] // _LINE
    order = np.argsort(line, kind="stable")
    group, written = trace.warp[outside][order] // warps, writes[outside][order]
    other = (np.diff(line[order]) == 0) & (np.diff(group) != 0) & (written[1:] | written[:-1])
    return np.asarray(site[outside][order][1:][other])


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


def _surprises(
    counts: NDArray[np.int64], of_groups: NDArray[np.int64], blocks: Sequence[Block]
) -> _Each:
    total = np.zeros(len(of_groups))
    for number, block in enumerate(blocks):
        if block.branch is None:
            continue
        outer = block.branch.outer
        runs, chances = of_groups[:, number], of_groups[:, outer]
        if not block.branch.loop:
            total += np.minimum(runs, np.maximum(chances - runs, 0))
        elif not is_regular(counts[:, number], counts[:, outer]):
            total += np.minimum(runs, chances)
    return total


def is_regular(turns: NDArray[np.int64], entries: NDArray[np.int64]) -> bool:
    """Return whether a loop may have had the same number of turns each time."""
    some = entries > 0
    whole, rest = np.divmod(turns[some], entries[some])
    return not rest.any() and len(np.unique(whole)) <= 1
