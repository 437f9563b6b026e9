"""`bfs`: breadth-first search from a source, with levels and parents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from pyapsp.base.host import share
from pyapsp.device import DeviceLike
from pyapsp.graph import GraphLike, Vertices
from pyapsp.paths.device_result import DeviceResult
from pyapsp.registry import Method
from pyapsp.traversal.narrow import LevelResult
from pyapsp.traversal.result import SearchResult, search

if TYPE_CHECKING:
    import pyopencl.array as cl_array

__all__ = ["BfsResult", "bfs"]

# Levels that stay in the cache between the steps of a conversion.
_CACHED = 2**16


@dataclass(frozen=True, eq=False, repr=False)
class BfsResult(SearchResult):
    """The result of `bfs`."""

    _length, _before = "level", "parent"

    @cached_property
    def levels(self) -> np.ndarray:
        """Number of arcs from the source, -1 if there is no path: int32, (n,) or (k, n).

        It may be the memory of the result: copy it before you change it.
        """
        rows = self.rows
        if isinstance(rows, DeviceResult):
            return self._of(rows.device_distances.get())
        if isinstance(rows, LevelResult) and rows.narrow is not None:
            return self._of(rows.levels)
        distances = rows.distances
        levels = np.empty_like(distances)
        flat, marked = distances.reshape(-1), levels.reshape(-1)
        # infinity plus this is too large for the type and becomes negative; no level plus this does
        over = np.int32(2**31 - int(self.rows.infinity))

        def mark(first: int, last: int) -> None:
            for start in range(first, last, _CACHED):
                some = slice(start, min(start + _CACHED, last))
                np.add(flat[some], over, out=marked[some])
                np.right_shift(marked[some], 31, out=marked[some])  # all bits, or none
                np.bitwise_or(marked[some], flat[some], out=marked[some])

        share(mark, flat.size, flat.nbytes)
        return self._of(levels)

    @property
    def parents(self) -> np.ndarray | None:
        """The vertex before each vertex on a shortest path: int32, of the shape of `levels`.

        -9999 for sources and for vertices without a path; None without ``parents=True``.
        """
        before = self.rows.predecessors
        return None if before is None else self._of(before)

    @property
    def device_levels(self) -> cl_array.Array | None:
        """The levels in the memory of the device; None without ``keep="device"``."""
        return self._device_distances

    @property
    def device_parents(self) -> cl_array.Array | None:
        """The parents on the device; None without ``keep="device"`` or ``parents=True``."""
        return self._device_predecessors


def bfs(
    graph: GraphLike,
    source: Vertices,
    method: str | Method = "auto",
    *,
    directed: bool = True,
    parents: bool = True,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    keep: Literal["host", "device"] = "host",
) -> BfsResult:
    """Compute the number of arcs on the shortest path from a source to each vertex.

    This is a breadth-first search; weights are ignored. If a vertex has several possible parents,
    the one with the smallest number is returned, by every method.

    For the number of vertices at each level, or the deepest level, of many sources, call
    `distance_histogram` or `eccentricity` with ``sources`` and ``weight=None``: they search from a
    thousand sources at once, and keep the levels on the device.

    Errors are those of `solve`.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; n vertices.
    source : int or sequence of int
        Vertices, in [0, n). There is one search for each.
    method : str or Method
        ``"auto"``, the id of a method (``pyapsp.methods("bfs")``), or
        ``pyapsp.method(id, width=4, ...)``.
    directed : bool
        False: an arc may be walked both ways.
    parents : bool
        Also compute the parent of each vertex, for `BfsResult.path`.
    device, memory_limit
        As for `solve`. Several devices share the sources, and the limit is that of each; the rows
        are those of one device.
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of sources; an exception that it raises
        ends the run.
    keep : {"host", "device"}
        ``"device"``: levels and parents stay in the memory of the device, as ``device_levels`` and
        ``device_parents`` of the result, which are of type `pyopencl.array.Array`. Then ``levels``
        and ``parents`` copy them to the host at their first use.

    Returns
    -------
    BfsResult
        ``levels`` and ``parents`` of shape (n,) for one source, (k, n) for a sequence of k.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(5, [0, 0, 1, 3], [1, 2, 3, 0])
    >>> found = pyapsp.bfs(graph, 0)
    >>> found.levels
    array([ 0,  1,  1,  2, -1], dtype=int32)
    >>> found.path(3)
    [0, 1, 3]
    """
    rows, single = search(
        "bfs",
        graph,
        method,
        source,
        directed=directed,
        predecessors=parents,
        device=device,
        memory_limit=memory_limit,
        progress=progress,
        keep=keep,
    )
    return BfsResult(rows, single)
