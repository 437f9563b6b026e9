"""`bfs`: levels and parents of the vertices around a source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pyapsp.registry import Method
from pyapsp.traversal.found import Found, search

__all__ = ["BfsResult", "bfs"]


@dataclass(frozen=True, eq=False)
class BfsResult(Found):
    """What `bfs` found."""

    @cached_property
    def levels(self) -> np.ndarray:
        """How many arcs each vertex is away, -1 where there is no path: int32, (n,) or (k, n)."""
        levels = self._of(self.rows.distances)
        return np.where(levels == self.rows.infinity, np.int32(-1), levels)

    @property
    def parents(self) -> np.ndarray | None:
        """The vertex before each on a shortest path, int32, as `levels`.

        -9999 for sources and where there is no path; None if they were not asked for.
        """
        before = self.rows.predecessors
        return None if before is None else self._of(before)


def bfs(
    graph: Any,
    source: int | Sequence[int] | np.ndarray,
    method: str | Method = "auto",
    *,
    directed: bool = True,
    parents: bool = True,
    device: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> BfsResult:
    """Search a graph breadth first: how many arcs is each vertex away from a source.

    Weights do not count. Of several parents that are possible, any may be given.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; n vertices.
    source : int or sequence of int
        Vertices, in [0, n). Each is searched from on its own.
    method : str or Method
        ``"auto"``, the id of a method (``pyapsp.methods("bfs")``), or
        ``pyapsp.method(id, width=4, ...)``.
    directed : bool
        False: an arc may be walked both ways.
    parents : bool
        Also keep the vertex before each, for `BfsResult.path`.
    device : str, int, Device or pyopencl object, optional
        Which device; see `pyapsp.device.choose`.
    memory_limit : int, optional
        Bytes of device memory the run may use.
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of sources; an exception from it ends
        the run.

    Returns
    -------
    BfsResult
        ``levels`` and ``parents`` of shape (n,) for one source, (k, n) for a sequence of k.

    Raises
    ------
    GraphError
        If the graph is not one.
    FormatError
        If a graph file is malformed; with path and line.
    ParameterError
        If an argument is outside its rule.
    NoDeviceError, CapabilityError, DeviceMemoryError
        If there is no device, or it cannot do this, or not in its memory.

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
    )
    return BfsResult(rows, single)
