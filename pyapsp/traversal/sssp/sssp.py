"""`sssp`: shortest paths from one source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.device import DeviceLike
from pyapsp.graph import GraphLike, Vertices, Weight
from pyapsp.registry import Method
from pyapsp.traversal.result import SearchResult, search

if TYPE_CHECKING:
    import pyopencl.array as cl_array

__all__ = ["SsspResult", "sssp"]


@dataclass(frozen=True, eq=False, repr=False)
class SsspResult(SearchResult):
    """The result of `sssp`."""

    _length, _before = "distance", "predecessor"

    @property
    def distances(self) -> np.ndarray:
        """The distance of each vertex, `infinity` if there is no path: (n,) or (k, n)."""
        return self._of(self.rows.distances)

    @property
    def predecessors(self) -> np.ndarray | None:
        """The vertex before each vertex on a shortest path: int32, of the shape of `distances`.

        -9999 for sources and for vertices without a path; None without ``predecessors=True``.
        """
        before = self.rows.predecessors
        return None if before is None else self._of(before)

    @property
    def device_distances(self) -> cl_array.Array | None:
        """The distances in the memory of the device; None without ``keep="device"``."""
        return self._device_distances

    @property
    def device_predecessors(self) -> cl_array.Array | None:
        """The predecessors on the device; None without ``keep="device"`` or predecessors."""
        return self._device_predecessors

    @property
    def infinity(self) -> int | float:
        """The distance of an unreachable vertex in this dtype."""
        return self.rows.infinity


def sssp(
    graph: GraphLike,
    source: Vertices,
    method: str | Method = "auto",
    *,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    predecessors: bool = False,
    cutoff: float | None = None,
    targets: Vertices | None = None,
    check: bool = True,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    keep: Literal["host", "device"] = "host",
    fallback: bool = True,
) -> SsspResult:
    """Compute shortest paths from one vertex to all others.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; n vertices, weights of any sign.
    source : int or sequence of int
        Vertices, in [0, n). There is one search for each. For many sources, `solve` with
        ``sources`` is faster because it searches from several at once.
    method : str or Method
        ``"auto"``, the id of a method (``pyapsp.methods("sssp")``), or
        ``pyapsp.method(id, delta=400, ...)``.
    directed : bool
        False: an arc may be walked both ways, at the smaller of the two weights.
    weight : hashable, callable or None, optional
        As for `solve`.
    dtype : dtype-like or "auto", optional
        Type of the distances, as for `solve`: float64 (the default), float32, float16, int64,
        int32, int16, uint16 or ``"auto"``.
    predecessors : bool
        Also compute the vertex before each vertex, for `SsspResult.path`. Of several, it is the one
        with the smallest number, except with `sssp-bellman-ford` and `sssp-h-bf`, and behind arcs
        of weight zero.
    cutoff : float, optional
        Report vertices farther than this as unreachable, as `solve` does. The search may stop at
        this distance.
    targets : int or sequence of int, optional
        The vertices whose distances are wanted. Vertices that are farther than the farthest target
        are reported as unreachable. If a target is unreachable, no vertex is farther. The search
        may stop when the distances of the targets are known; ``sssp-delta-stepping`` does, for at
        most 16 targets.
    check : bool
        Check whether a distance is too large for its type, unless the weights alone rule it out.
    device, memory_limit, progress
        As for `bfs`.
    keep : {"host", "device"}
        As for `bfs`; the result has ``device_distances`` and ``device_predecessors``. With a
        cutoff, with targets, and by ``sssp-h-bf``, rows go through the memory of the host.
    fallback : bool
        As for `solve`.

    Returns
    -------
    SsspResult
        ``distances`` and ``predecessors`` of shape (n,) for one source, (k, n) for a sequence of k.

    Raises
    ------
    GraphError, FormatError, ParameterError, NoDeviceError, CapabilityError, DeviceMemoryError
        As for `solve`.
    NegativeCycleError
        If a source reaches a negative cycle; the error has the vertices of one.
    NegativeWeightError
        If there is a negative weight, and the method needs non-negative weights.
    PrecisionError
        If the dtype cannot hold the weights or the distances.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(4, [0, 0, 2], [1, 2, 1], [7, 1, 2])
    >>> found = pyapsp.sssp(graph, 0, predecessors=True)
    >>> found.distances
    array([ 0.,  3.,  1., inf])
    >>> found.path(1)
    [0, 2, 1]
    >>> pyapsp.sssp(graph, 0, targets=2).distances
    array([ 0., inf,  1., inf])
    """
    rows, single = search(
        "sssp",
        graph,
        method,
        source,
        directed=directed,
        weight=weight,
        dtype=dtype,
        predecessors=predecessors,
        cutoff=cutoff,
        targets=targets,
        device=device,
        memory_limit=memory_limit,
        progress=progress,
        check=check,
        keep=keep,
        fallback=fallback,
    )
    return SsspResult(rows, single)
