"""The distances from one vertex, by `sssp` or by `solve`, whichever is faster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyapsp.all_pairs.solver import solve
from pyapsp.device import DeviceLike, choose
from pyapsp.graph import Graph
from pyapsp.paths.result import Result
from pyapsp.traversal.sssp.sssp import sssp

__all__ = ["from_one"]

# From this number of arcs, kernel launches over the whole device are faster for one source. Below,
# one work-group for a block of sources is faster. Measured on CPUs.
_ARCS = 2**18


def from_one(
    graph: Graph, source: int, *, targets: Sequence[int] | None = None, **options: Any
) -> Result:
    """Solve for one source.

    Parameters
    ----------
    graph : Graph
    source : int
    targets : sequence of int, optional
        The search may stop when the distances of these vertices are known; then vertices that are
        farther may be reported as unreachable.
    **options
        Parameters that both `solve` and `sssp` have. The errors are those of `solve`.

    Returns
    -------
    Result
        It has one row.
    """
    wide = graph.m >= _ARCS and not graph.has_negative
    if wide and not _ends_early(options.get("cutoff"), options.get("device")):
        return sssp(graph, [source], targets=targets, **options).rows
    return solve(graph, sources=[source], **options)


def _ends_early(cutoff: float | None, device: DeviceLike) -> bool:
    """Return whether the search may take less time than a launch over the whole device.

    `solve` searches on the host up to a cutoff if the device is a CPU.
    """
    return cutoff is not None and choose(device).kind == "cpu"
