"""`pairs` and `distances`: shortest paths between vertices that are named at both ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.base.dry import is_dry
from pyapsp.base.errors import ParameterError
from pyapsp.base.host import shares_memory
from pyapsp.base.progress import of_sources
from pyapsp.base.reuse import empty
from pyapsp.base.shown import Shown
from pyapsp.device import DeviceLike
from pyapsp.graph import Graph, GraphLike, Vertices, Weight
from pyapsp.graph.frames import Tabular
from pyapsp.graph.names import numbered
from pyapsp.graph.validation import flag, integer, output
from pyapsp.numbers.precision import infinity, is_exact
from pyapsp.paths import vertices, vertices_of, vertices_or_all
from pyapsp.queries.along import Along, second_weights, sums_along
from pyapsp.queries.searches import fill, searched
from pyapsp.queries.workers import asked
from pyapsp.registry.ranks import sources_on_ranks

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["PairPaths", "Pairs", "distances", "ends_of", "pairs"]

_Path = TypeVar("_Path")


@dataclass(frozen=True, eq=False, repr=False)
class _PairResult(Shown, Tabular):
    """Base of results for pairs of vertices.

    Attributes
    ----------
    sources, targets : (p,) int64 ndarray
        The vertices of each pair.
    labels : (n,) ndarray or None
        The labels of the vertices.
    by_label : bool
        Whether the targets were given by their labels: then paths are of labels.
    """

    sources: np.ndarray
    targets: np.ndarray
    labels: np.ndarray | None
    by_label: bool

    def _named(self, numbers: np.ndarray) -> np.ndarray:
        names: np.ndarray = numbers if self.labels is None else self.labels[numbers]
        return names

    def _path(self, numbers: np.ndarray) -> list[Any]:
        path: list[Any] = (self._named(numbers) if self.by_label else numbers).tolist()
        return path

    def _place(self, pair: int | None, name: str) -> int:
        """Return the number of a pair, which may be left out if there is one."""
        owner, last = f"{type(self).__name__}.{name}", self.sources.size - 1
        if last < 0:
            raise ParameterError.of("pair", owner, "a pair, and there is none", pair)
        if pair is None and last:
            rule = f"one of the pairs, of which there are {last + 1}"
            raise ParameterError.of("pair", owner, rule, pair)
        return 0 if pair is None else integer("pair", owner, pair, 0, last)


@dataclass(frozen=True, eq=False, repr=False)
class PairPaths(_PairResult, Generic[_Path]):
    """Base of results with several paths of each pair, which are in lists."""

    _found: list[list[_Path]]

    def _facts(self) -> dict[str, object]:
        return {"pairs": self.sources.size, "paths": sum(map(len, self._found))}

    def _of(self, pair: int | None, name: str) -> list[_Path]:
        return self._found[self._place(pair, name)]


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(_PairResult):
    """The result of `pairs`, with ``sources``, ``targets``, ``labels`` and ``by_label``.

    Attributes
    ----------
    distances : (p,) ndarray
        The distance of each pair, `infinity` without a path.
    starts : (p + 1,) int64 ndarray or None
        The path of pair i is ``vertices[starts[i]:starts[i + 1]]``, both ends included; it is empty
        if there is none.
    vertices : int32 ndarray or None
        The vertices of all paths; None without ``paths=True``.
    along : (p,) float64 ndarray or None
        The sum of a second weight along each path, inf if there is none; None without ``along=``.
    """

    distances: np.ndarray
    starts: np.ndarray | None
    vertices: np.ndarray | None
    along: np.ndarray | None = None

    @property
    def infinity(self) -> int | float:
        """The distance of a pair without a path, in this dtype."""
        return infinity(self.distances.dtype)

    def _facts(self) -> dict[str, object]:
        steps = None if self.vertices is None else self.vertices.size
        return {"pairs": self.sources.size, "vertices": steps}

    def path(self, pair: int | None = None) -> list[Any]:
        """Return the vertices of a shortest path of a pair, both ends included.

        Parameters
        ----------
        pair : int, optional
            Its number from 0. It is needed only if there are several pairs.

        Returns
        -------
        list of int, or of labels if the targets were given by labels
            ``[]`` if there is no path.

        Raises
        ------
        ParameterError
            If there is no such pair, or the result has no paths.
        """
        if self.starts is None or self.vertices is None:
            raise ParameterError("Pairs.path needs paths: call pairs(paths=True)")
        place = self._place(pair, "path")
        return self._path(self.vertices[slice(*self.starts[place : place + 2])])

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return a row for each pair, by the labels of the graph.

        Returns
        -------
        dict of str to ndarray, shape (p,)
            Columns ``source``, ``target``, ``distance``, missing without a path; and ``arcs``, the
            number of arcs of the path, with ``paths=True``; and ``along``.
        """
        reached = self.distances < self.infinity
        columns = {
            "source": self._named(self.sources),
            "target": self._named(self.targets),
            "distance": np.ma.array(self.distances, mask=~reached),
        }
        if self.starts is not None:
            columns["arcs"] = np.ma.array(np.diff(self.starts) - 1, mask=~reached)
        if self.along is not None:
            columns["along"] = np.ma.array(self.along, mask=~reached)
        return columns

    def path_columns(self) -> dict[str, np.ndarray]:
        """Return a row for each vertex of each path, by the labels of the graph.

        Returns
        -------
        dict of str to ndarray
            Columns ``pair``, its number from 0, and ``vertex``, from the source to the target.

        Raises
        ------
        ParameterError
            If the result has no paths.
        """
        if self.starts is None or self.vertices is None:
            raise ParameterError("Pairs.path_columns needs paths: call pairs(paths=True)")
        numbers = np.repeat(np.arange(self.sources.size), np.diff(self.starts))
        return {"pair": numbers, "vertex": self._named(self.vertices)}


@sources_on_ranks(pairs=True)
def pairs(
    graph: GraphLike,
    sources: Vertices,
    targets: Vertices,
    *,
    paths: bool = False,
    along: Along | None = None,
    cutoff: float | None = None,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> Pairs:
    """Find the distance from ``sources[i]`` to ``targets[i]``, for each i, and a shortest path.

    There is one search for each different source. It ends when its last target is found. Errors are
    those of `within`.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; no negative weights.
    sources, targets : int, str, or sequence of these
        Vertices, by their numbers or by their labels; both of one length, or one of them a single
        vertex. Pairs may be repeated.
    paths : bool
        Also find the paths. Of several shortest paths it is the one that `within` tells.
    along : hashable, callable, graph-like or (m,) array-like of float, optional
        A second weight, to sum along the path of each pair; needs ``paths=True``. For a graph of
        NetworkX or igraph or a data frame, the name or function of it, as for `weight`; for an edge
        list in a file, the name of a column; for a `Graph` or a matrix, another with the second
        weight; for a `Graph` also a value for each arc in the order of ``Graph.indices``. Of
        parallel edges the one with the smallest first weight counts, of several such the one with
        the smallest second weight.
    cutoff : float, optional
        The largest distance; pairs that are farther have no path.
    directed, weight, dtype, device, memory_limit
        As for `solve`. Several devices share the sources; the limit is that of each.
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of searches; an exception that it raises
        ends the run.
    comm : mpi4py.MPI.Comm, optional
        As for `within`: each rank returns the pairs of its part of the different sources, in their
        order. The `along` of rank 0 is used, with the graph that is shared: a second weight with a
        name is refused.

    Returns
    -------
    Pairs

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(4, [0, 0, 2], [1, 2, 1], [7, 1, 2])
    >>> found = pyapsp.pairs(graph, [0, 2, 1], [1, 1, 3], paths=True)
    >>> found.distances
    array([ 3.,  2., inf])
    >>> found.path(0)
    [0, 2, 1]
    >>> minutes = graph.with_weights([60, 5, 4])
    >>> pyapsp.pairs(graph, 0, 1, paths=True, along=minutes).along
    array([9.])
    """
    paths, source = flag("paths", "pairs", paths), graph
    if along is not None and not paths:
        raise ParameterError.of("along", "pairs", "absent without paths=True", along)
    common = cutoff, directed, weight, dtype, device, memory_limit, progress
    graph, options = asked("pairs", graph, *common, several=True, predecessors=paths)
    tails, heads, by_label = ends_of(sources, targets, graph, "pairs")
    second = None if along is None else second_weights(source, graph, weight, along, directed)
    found = searched(graph, options, tails, heads, of_sources(progress))
    if not paths:
        return Pairs(tails, heads, graph.labels, by_label, found.distances, None, None)
    starts, path = found.routes.joined()
    sums = None if second is None else sums_along(second, graph, starts, path)
    return Pairs(tails, heads, graph.labels, by_label, found.distances, starts, path, sums)


def ends_of(
    sources: Vertices,
    targets: Vertices,
    graph: Graph,
    owner: str,
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the vertices of pairs, as `pairs` takes them, and whether the targets were labels.

    Raises
    ------
    ParameterError
        If they are no vertices, or their numbers differ.
    """
    tails = vertices_of(graph, sources, owner)
    found = numbered(graph, targets, owner, "targets")
    heads = vertices(found, graph.n, owner, "targets")
    if tails.size != heads.size and np.ndim(sources) and np.ndim(targets):
        rule = f"of the length of sources, {tails.size}"
        raise ParameterError.of("targets", owner, rule, heads.size)
    both = np.broadcast_arrays(tails, heads)
    return np.array(both[0]), np.array(both[1]), found is not targets


@sources_on_ranks()
def distances(
    graph: GraphLike,
    sources: Vertices | None = None,
    targets: Vertices | None = None,
    *,
    cutoff: float | None = None,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    out: np.ndarray | None = None,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> np.ndarray:
    """Return the distance from each source to each target, as a matrix.

    No row of n values is written. If there are fewer targets than sources, and sums of weights are
    exact, the searches start at the targets.

    Errors are those of `pairs`.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; no negative weights.
    sources, targets : int or sequence of int, optional
        Vertices, in any order; by default all.
    cutoff, directed, weight, dtype, device, memory_limit, progress
        As for `pairs`.
    comm : mpi4py.MPI.Comm, optional
        As for `within`: each rank returns the rows of its part of the different sources. Targets
        are not shared: if there are fewer of them, call with ``graph.reversed()``.
    out : (k, t) ndarray, optional
        Array for the distances, of their dtype; it may be a memory map. If `dtype` is None, the
        dtype of this array is used. After an error the content is undefined.

    Returns
    -------
    (k, t) ndarray
        inf, or infinity of an integer type as for `solve`, without a path.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(4, [0, 0, 2], [1, 2, 1], [7, 1, 2])
    >>> pyapsp.distances(graph, [0, 2], [1, 3])
    array([[ 3., inf],
           [ 2., inf]])
    """
    dtype = out.dtype if dtype is None and isinstance(out, np.ndarray) else dtype
    copy = isinstance(out, np.ndarray) and shares_memory(graph, out)
    common = cutoff, directed, weight, dtype, device, memory_limit, progress
    graph, options = asked("distances", graph, *common, several=True, copy=copy)
    tails, heads = (
        vertices_or_all(graph, each, "distances", name)
        for name, each in (("sources", sources), ("targets", targets))
    )
    shape = tails.size, heads.size
    if out is None:
        # a dry run needs no memory for the answer
        zero = options.dtype.type()
        rows = np.broadcast_to(zero, shape) if is_dry() else empty(shape, options.dtype)
    else:
        rows = output("distances", out, shape, options.dtype, contiguous=False)
    if 0 in shape:
        return rows
    if heads.size < tails.size and is_exact(graph, options.dtype):
        fill(graph.reversed(), options, heads, tails, rows.T, of_sources(progress))
    else:
        fill(graph, options, tails, heads, rows, of_sources(progress))
    return rows
