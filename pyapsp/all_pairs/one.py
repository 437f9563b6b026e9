"""The distances from one vertex, by `sssp` or by `solve`, whichever is faster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.all_pairs.choice import suits_host_search
from pyapsp.all_pairs.solver import solve
from pyapsp.device import DeviceLike
from pyapsp.graph import Graph
from pyapsp.graph.device_graph import device_for
from pyapsp.numbers.precision import resolve
from pyapsp.paths import AllPairsOptions, farthest
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
    if wide and not _ends_early(graph, source, **options):
        return sssp(graph, [source], targets=targets, **options).rows
    return solve(graph, sources=[source], **options)


def _ends_early(
    graph: Graph,
    source: int,
    *,
    cutoff: float | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    **_: Any,
) -> bool:
    """Return whether `solve` searches on the host, which may take less time than a launch."""
    if cutoff is None:
        return False
    number, _reason = resolve(graph, dtype)
    options = AllPairsOptions(
        device_for(graph, device),
        number,
        sources=np.array([source]),
        cutoff=farthest(cutoff, "solve"),
    )
    return suits_host_search(graph, options.computed_in(number))
