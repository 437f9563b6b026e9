"""How often the warps of a launch wait, and how long that takes.

A warp goes through its blocks one after the other. Only other warps have their work done while it
waits: S. Hong, H. Kim, An analytical model for a GPU architecture with memory-level and
thread-level parallelism awareness, ISCA 2009, doi:10.1145/1555754.1555775.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyapsp.profiling.probes.blocks import Block, Site
from pyapsp.profiling.traces import criteria, reduction
from pyapsp.profiling.traces.criteria import Launch, Units
from pyapsp.profiling.traces.record import AddressLog, BlockCounts
from pyapsp.profiling.traces.work import is_regular

__all__ = ["Waits", "waits_of"]

_Each = NDArray[np.float64]
_OF_MEMORY = 5  # the first columns of the waits


@dataclass(frozen=True)
class Waits:
    """How often warps wait for memory, at barriers and for the turns of loops, at least.

    In each execution of a block a warp waits once for each level of its loads: accesses of a block
    may overlap, but not those of a block and the next, nor a load and that which gives its address.
    It waits for more than the first cache if one of them is likely to miss it, longer if the items
    of the warp access several lines, and longest for the result of an atomic operation, which no
    first cache does. The turns of a loop that is unrolled overlap, unless it has a barrier. No warp
    guesses how a branch goes; but a loop that always has the same number of turns may have none
    when it is compiled, unless that number is in memory.

    Items of a warp that access memory at different moments wait for each other. So do the warps of
    a group, at each of its barriers.
    """

    # (recorded warps, 8): the waits of a warp for global memory beyond the first cache, for that
    # cache, for each further line of an access, for atomic operations on global memory, for local
    # memory alone, at barriers, and for turns of loops whose bounds are in memory, and are not.
    each: _Each
    every: int  # one of this many groups was recorded
    group: int  # warps of a group
    # Groups that are on the device at the same time; infinite if it is not known.
    resident: float

    def seconds(self, delays: Sequence[float]) -> float:
        """Return the time of a launch of which nothing else takes time, from that of each wait.

        It is that of the group that waits longest, or of all groups.
        """
        of_groups = (self.each @ np.array(delays)).reshape(-1, self.group).max(1)
        return float(max(of_groups.max(), of_groups.sum() * self.every / self.resident))


def waits_of(
    counts: BlockCounts,
    log: AddressLog,
    line: int,
    sector: int,
    width: int,
    launch: Launch,
    units: Units | None,
) -> Waits:
    """Return the waits of the warps of a launch.

    Parameters
    ----------
    counts, log
        What was recorded.
    line, sector : int
        Bytes of a line of the first cache, and of the parts that it reads.
    width : int
        Items of a warp.
    launch : Launch
    units : Units or None
        The compute units, if they are known.
    """
    program = counts.program
    blocks, sites, group = program.blocks, program.sites, -(-launch.group // width)
    repeated = reduction.repeated(log.trace, log.item % launch.group, log.site, len(sites), width)
    executed = reduction.by_warp(counts.counts, launch.group, width).max(1) * _repeated(
        blocks, sites, counts.executions, repeated
    )
    overlapped = executed.copy()
    parted = {block.around for block in blocks if block.operations.get("barrier")}
    for number, block in enumerate(blocks):
        if block.around is not None and block.around not in parted:
            overlapped[:, number] = np.minimum(executed[:, number], executed[:, block.around])
    memory, leaders = _of_memory(blocks, sites, log, line, sector)
    share = overlapped.sum(0) / np.maximum(executed.sum(0), 1)
    of_site = leaders * share[[site.block for site in sites]]
    memory *= reduction.uneven(log.trace, log.phase, log.site, of_site, group)
    barriers = [block.operations.get("barrier", 0) for block in blocks]
    turns = _turns(blocks, sites, counts)
    each = overlapped @ np.column_stack([memory, barriers, turns])
    resident = np.inf
    if units is not None:
        resident = min(criteria.resident_groups(launch, units) * units.count, launch.groups)
    return Waits(each, counts.every, group, max(float(resident), 1.0))


def _repeated(
    blocks: Sequence[Block], sites: Sequence[Site], executions: _Each, repeated: _Each
) -> _Each:
    """Return how often warps execute each block, over the most that an item of each does.

    It is that of accesses in the block, in the loop of which it is a part, or of the block inside
    that is executed most, if turns of it overlap.
    """
    own: dict[int, float] = {}
    for site, factor in zip(sites, repeated.tolist(), strict=True):
        own[site.block] = max(own.get(site.block, 1.0), factor)
    inside: dict[int, int] = {}
    for number, block in enumerate(blocks):
        outer = block.around
        if outer is not None and number in own:
            inside[outer] = max(number, inside.get(outer, number), key=lambda b: executions[b])
    found = np.ones(len(blocks))
    for number, block in enumerate(blocks):
        for where in (number, block.control, inside.get(number)):
            if where in own:
                found[number] = own[where]
                break
    return found


def _of_memory(
    blocks: Sequence[Block], sites: Sequence[Site], log: AddressLog, line: int, sector: int
) -> tuple[_Each, _Each]:
    """Return the waits for memory of an execution of each block, and the sites that cause them.

    The waits are the first columns of `Waits`. A site has 1 if warps wait for it beyond the first
    cache, the share of misses if they do so at times, and 0 if they wait for another one.
    """
    waits, leaders = np.zeros((len(blocks), _OF_MEMORY)), np.zeros(len(sites))
    missed = reduction.misses(log.trace, sector, log.site, len(sites))
    missed[[not each.cached for each in sites]] = 1
    lines = reduction.further_lines(log.trace, line, log.site, len(sites))
    levels: dict[tuple[int, int], list[int]] = {}
    for number, site in enumerate(sites):
        if site.level is not None:
            levels.setdefault((site.block, site.level), []).append(number)
    for (block, _), found in levels.items():
        outside = [number for number in found if sites[number].space == "global"]
        atomic = [number for number in outside if sites[number].kind == "atomic"]
        if atomic:
            waits[block] += 0, 0, 0, 1, 0
            leaders[atomic[0]] = 1
        elif outside:
            slowest = max(outside, key=lambda number: missed[number])
            waits[block] += missed[slowest], 1 - missed[slowest], max(lines[outside]), 0, 0
            leaders[slowest] = missed[slowest]
        else:
            waits[block] += 0, 0, 0, 0, 1
    return waits, leaders


def _turns(blocks: Sequence[Block], sites: Sequence[Site], counts: BlockCounts) -> _Each:
    """Return whether an execution of a block decides if a loop ends, by a bound in memory or not.

    It is only for bounds in memory if a loop may always have the same number of turns.
    """
    loading = {site.block for site in sites if site.level is not None}
    found = np.zeros((len(blocks), 2))
    for number, block in enumerate(blocks):
        if block.control is None or not block.operations.get("branch"):
            continue
        body = blocks[block.control].branch
        assert body is not None
        turns, entries = (counts.counts[:, each] for each in (block.control, body.outer))
        if number in loading:
            found[number, 0] = 1
        elif not is_regular(turns, entries):
            found[number, 1] = 1
    return found
