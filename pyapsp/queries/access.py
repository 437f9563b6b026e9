"""`reach` and `accessibility`: sums over the vertices up to a distance from each source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from pyapsp.base.errors import ParameterError
from pyapsp.device import DeviceLike
from pyapsp.graph import GraphLike, Vertices, Weight
from pyapsp.graph.names import check_order
from pyapsp.graph.validation import array
from pyapsp.paths import vertices_or_all
from pyapsp.queries.range_rows import RangeRows
from pyapsp.queries.workers import asked
from pyapsp.registry.ranks import sources_on_ranks

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["accessibility", "reach"]


@sources_on_ranks(gathered=True)
def reach(
    graph: GraphLike,
    sources: Vertices | None = None,
    cutoff: float | None = None,
    *,
    directed: bool = True,
    weight: Weight = ...,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> np.ndarray:
    """Count the other vertices up to a distance from each source.

    The time of a source depends on what it reaches, and the answer has one number for it.

    Parameters and errors are those of `within`. With `comm` all ranks return the numbers of all
    sources.

    Returns
    -------
    (k,) ndarray of int64

    Examples
    --------
    >>> import pyapsp
    >>> pyapsp.reach(pyapsp.graph.generators.path(5, max_weight=1), cutoff=1)
    array([1, 2, 2, 2, 1])
    """
    common = cutoff, directed, weight, None, device, memory_limit, progress
    graph, options = asked("reach", graph, *common, several=True)
    chosen = vertices_or_all(graph, sources, "reach")
    rows = RangeRows(graph, options, chosen, progress, answer=8 * chosen.size)
    counts = np.zeros(rows.sources.size, np.int64)
    for some, block in rows.blocks():
        counts[some] = block.lengths - 1
    return counts


@sources_on_ranks(gathered=True)
def accessibility(
    graph: GraphLike,
    opportunities: ArrayLike,
    cutoff: float | None = None,
    *,
    sources: Vertices | None = None,
    decay: Callable[[np.ndarray], np.ndarray] | None = None,
    directed: bool = True,
    weight: Weight = ...,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> np.ndarray:
    """Add up what is at the vertices up to a distance from each source.

    Parameters
    ----------
    graph, cutoff, sources, directed, weight, device, memory_limit, progress
        As for `within`.
    opportunities : (n,) or (n, c) array_like of numbers
        What is at each vertex, for instance its shops, or its jobs of c kinds. A column of pandas
        must have its default index, and then be in the order of the vertices, or the labels of the
        vertices in that order as its index.
    decay : callable, optional
        Called with an array of distances, returns for each, whatever the others are, a factor of
        what is there. How many distances come together may differ from run to run. None: 1.
    comm : mpi4py.MPI.Comm, optional
        As for `within`, but all ranks return the sums of all sources.

    Returns
    -------
    (k,) or (k, c) ndarray of float64
        What is at the source itself counts, at distance 0. The same call on the same device returns
        the same bits.

    Raises
    ------
    ParameterError
        If the opportunities are no such array or have another index, or `decay` returns something
        else.
    PyApspError
        As `within`.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.graph.generators.path(4, max_weight=1)
    >>> pyapsp.accessibility(graph, [0, 0, 10, 4], 2)
    array([10., 14., 14., 14.])
    >>> pyapsp.accessibility(graph, [0, 0, 10, 4], 2, decay=lambda d: 1 / (1 + d))
    array([ 3.33333333,  6.33333333, 12.        ,  9.        ])
    """
    owner = "accessibility"
    common = cutoff, directed, weight, None, device, memory_limit, progress
    graph, options = asked(owner, graph, *common, several=True)
    there = array("opportunities", opportunities)
    if there.dtype.kind not in "biuf" or there.ndim not in (1, 2) or len(there) != graph.n:
        rule = f"numbers of shape ({graph.n},) or ({graph.n}, c)"
        got = f"{there.dtype} of shape {there.shape}"
        raise ParameterError.of("opportunities", owner, rule, got)
    check_order(opportunities, 0, graph.labels, graph.n, owner, "opportunities")
    if decay is not None and not callable(decay):
        raise ParameterError.of("decay", owner, "a function of distances", decay)
    there, chosen = there.astype(np.float64), vertices_or_all(graph, sources, owner)
    sums = np.zeros((chosen.size, *there.shape[1:]))
    rows = RangeRows(graph, options, chosen, progress, answer=sums.nbytes)
    for some, block in rows.blocks():
        factors = np.ones(block.costs.size)
        if decay is not None:
            factors = array("the factors of decay", decay(block.costs.copy()))
            if factors.dtype.kind not in "biuf" or factors.shape != block.costs.shape:
                rule = f"a function that returns numbers of shape {block.costs.shape} for it"
                got = f"{factors.dtype} of shape {factors.shape}"
                raise ParameterError.of("decay", owner, rule, got)
            factors = factors.astype(np.float64)
        starts = np.append(0, np.cumsum(block.lengths))
        shape = block.lengths.size, graph.n
        sums[some] = csr_array((factors, block.vertices, starts), shape=shape) @ there
    return sums
