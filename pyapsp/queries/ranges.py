"""`within`: the vertices up to a distance from each source, as a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_array

from pyapsp.base.errors import ParameterError
from pyapsp.base.files import check_suffix
from pyapsp.base.shown import Shown
from pyapsp.device import DeviceLike
from pyapsp.graph import GraphLike, Vertex, Vertices, Weight
from pyapsp.graph.frames import Tabular
from pyapsp.graph.io import archive
from pyapsp.graph.io.stores import Store, written_store
from pyapsp.graph.names import check_savable, named, place_of
from pyapsp.graph.rows import narrow
from pyapsp.graph.validation import vertex
from pyapsp.paths import vertices_or_all
from pyapsp.paths.result import NO_PREDECESSOR
from pyapsp.queries.range_rows import Block, RangeRows
from pyapsp.queries.workers import asked
from pyapsp.registry.ranks import sources_on_ranks

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Within", "WithinBlocks", "within", "within_blocks"]


@dataclass(frozen=True, eq=False, repr=False)
class Within(Shown, Tabular):
    """The result of `within`: sparse rows of distances.

    Attributes
    ----------
    distances : (k, n) scipy.sparse.csr_array
        Row i has the distances from ``sources[i]``. Every vertex within the cutoff is an entry,
        also one at distance 0, as the source itself is; vertices that are no entry are farther. The
        columns of a row are sorted.
    predecessors : (k, n) scipy.sparse.csr_array of int32, or None
        With the same entries: the vertex before each on a shortest path; -9999 for the source.
    sources : (k,) int64 ndarray
    labels : (n,) ndarray or None
        The labels of the vertices.
    is_converted : bool
        As that of `Result`.
    """

    distances: csr_array
    predecessors: csr_array | None
    sources: np.ndarray
    labels: np.ndarray | None
    is_converted: bool = False

    def _facts(self) -> dict[str, object]:
        k, n = self.distances.shape
        return {"sources": k, "n": n, "entries": self.distances.nnz}

    @overload
    def path(self, target: int, row: int = 0) -> list[int]: ...
    @overload
    def path(self, target: str, row: int = 0) -> list[str]: ...
    def path(self, target: Vertex, row: int = 0) -> list[int] | list[str]:
        """Return the vertices of a shortest path from ``sources[row]``, both ends included.

        Parameters
        ----------
        target : int or str
            As calls take vertices: by its label, or by its number. If the call was given a `Graph`,
            an integer is a number.
        row : int

        Returns
        -------
        list of int, or of labels if the target is one
            ``[]`` if the target is not within the cutoff.

        Raises
        ------
        ParameterError
            If there is no such vertex or row, or the result has no predecessors. If an integer may
            be the label of one vertex and the number of another.
        """
        if self.predecessors is None:
            raise ParameterError("Within.path needs predecessors: call within(predecessors=True)")
        k, n = self.distances.shape
        owner, names = "Within.path", (self.labels, self.is_converted)
        v, by_label = place_of(*names, n, target, owner, "target")
        row = vertex("row", owner, row, k)
        some = slice(*self.distances.indptr[row : row + 2])
        there, before = self.distances.indices[some], self.predecessors.data[some]
        path: list[int] = []
        while v != NO_PREDECESSOR:
            place = int(np.searchsorted(there, v))
            if place == there.size or there[place] != v:
                return []
            path.append(v)
            v = int(before[place])
        return named(self.labels, path[::-1], by_label)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a ``.npz`` file; `scipy.sparse.load_npz` reads the distances from it.

        The predecessors have the name ``predecessors``, in the order of the entries.

        Raises
        ------
        GraphError
            If labels are neither all integers nor all strings.
        ParameterError
            If `path` is no name of a file, or has the suffix of another format.
        """
        check_suffix(path, "Within.save", ".npz", others="to_frame().to_csv")
        check_savable(self.labels, "labels", "result")
        rows, before = self.distances, self.predecessors
        archive.write(
            path,
            indices=rows.indices,
            data=rows.data,
            predecessors=None if before is None else before.data,
            indptr=rows.indptr,
            sources=self.sources,
            labels=self.labels,
            **_for_scipy(*self.distances.shape),
        )

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return a row for each entry, by the labels of the graph.

        Returns
        -------
        dict of str to ndarray
            Columns ``source``, ``vertex``, ``distance``; and ``predecessor`` if they were computed,
            missing for the source.
        """
        names = np.arange(self.distances.shape[1]) if self.labels is None else self.labels
        columns = {
            "source": np.repeat(names[self.sources], np.diff(self.distances.indptr)),
            "vertex": names[self.distances.indices],
            "distance": self.distances.data,
        }
        if self.predecessors is not None:
            last = self.predecessors.data
            columns["predecessor"] = np.ma.array(names[np.maximum(last, 0)], mask=last < 0)
        return columns


class WithinBlocks(Iterator[Within]):
    """The result of `within_blocks`: yields the rows of the next sources, in their order."""

    def __init__(self, rows: RangeRows) -> None:
        self._rows, self._blocks, self._done = rows, rows.blocks(rows.empty), 0
        self._lost = False

    def __next__(self) -> Within:
        self._check()
        some, block = next(self._blocks)
        self._done = some.stop
        return _answer(self._rows, some, block)

    def _check(self) -> None:
        if self._lost:
            raise ParameterError("save failed, and its rows are lost: call within_blocks again")

    def save(self, path: str | PathLike[str]) -> int:
        """Write the rows that have not been yielded, and return their number of entries.

        Each block goes to the disk as it ends.

        Parameters
        ----------
        path : path-like
            ``NAME.npz`` is as `Within.save` writes it; until it is complete, its arrays are in
            files without names beside it. ``NAME.zarr`` is a new folder, a Zarr store of the same
            arrays, which are compressed, in the layout of AnnData for sparse matrices; the package
            zarr must be installed.

        Raises
        ------
        FileExistsError
            If there is a file or folder ``NAME.zarr``.
        PyApspError
            As `Within.save`; or zarr is not installed.
        """
        self._check()
        owner = "WithinBlocks.save"
        check_suffix(path, owner, ".npz", ".zarr", others="to_frame() of each block")
        labels, sources = self._rows.graph.labels, self._rows.sources[self._done :]
        check_savable(labels, "labels", "result")
        starts, n = np.zeros(sources.size + 1, np.int64), self._rows.graph.n
        names = ["indices", "data", *["predecessors"] * self._rows.options.predecessors]
        store = Path(path).suffix.lower() == ".zarr"
        writer: AbstractContextManager[archive.Pieces | Store]
        if store:
            about = {"encoding-type": "csr_matrix", "encoding-version": "0.1.0"}
            writer = written_store(path, {**about, "shape": [sources.size, n]}, {})
        else:
            writer = archive.written_in_pieces(path, *names)
        first = self._done
        try:
            with writer as pieces:
                pieces.add(**dict(zip(names, self._rows.empty(0).arrays, strict=True)))
                for some, block in self._blocks:
                    self._done = some.stop
                    pieces.add(**dict(zip(names, block.arrays, strict=True)))
                    starts[some.start - first + 1 : some.stop - first + 1] = block.lengths
                    del block  # the next one takes as much memory
                np.cumsum(starts, out=starts)
                pieces.others = {"indptr": narrow(starts), "sources": sources, "labels": labels}
                if not store:
                    pieces.others |= _for_scipy(sources.size, n)
        except BaseException:
            self._lost = self._done > first
            raise
        return int(starts[-1])


def _answer(rows: RangeRows, some: slice, block: Block) -> Within:
    """Return the rows of some of the sources."""
    starts = np.zeros(block.lengths.size + 1, np.int64)
    np.cumsum(block.lengths, out=starts[1:])
    starts = narrow(starts)  # to the type of the vertices, or SciPy copies these
    shape = block.lengths.size, rows.graph.n
    distances = csr_array((block.costs, block.vertices, starts), shape=shape)
    distances.has_canonical_format = True
    before = None
    if block.befores is not None:
        before = csr_array((block.befores, block.vertices, starts), shape=shape)
        before.has_canonical_format = True
    names = rows.graph.labels, rows.graph.is_converted
    return Within(distances, before, rows.sources[some], *names)


def _for_scipy(*shape: int) -> dict[str, np.ndarray]:
    """Return what `scipy.sparse.load_npz` reads beside the arrays."""
    return {
        "format": np.array(b"csr"),
        "_is_array": np.array(True),
        "shape": np.array(shape),
    }


@sources_on_ranks()
def within(
    graph: GraphLike,
    sources: Vertices | None = None,
    cutoff: float | None = None,
    *,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    predecessors: bool = False,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> Within:
    """Find all vertices up to a distance from each source, as sparse rows.

    The time of a source depends on what it reaches, not on the size of the graph. The memory on the
    host is that of the answer, and of a block of at least one row.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`; n vertices, no negative weights.
    sources : int or sequence of int, optional
        Vertices, in any order; by default all.
    cutoff : float, optional
        The largest distance; a vertex at the cutoff is within it. None: all vertices that are
        reached.
    directed, weight
        As for `solve`.
    dtype : dtype-like or "auto", optional
        Type of the distances, as for `solve`: float64 by default.
    predecessors : bool
        Also find the vertex before each on a shortest path. Of several, it is that with the
        smallest number among those that are nearer to the source; if none is, because arcs have
        weight zero, the first that the search left.
    device, memory_limit
        As for `solve`. Several devices share the sources; the limit is that of each.
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of sources; an exception that it raises
        ends the run.
    comm : mpi4py.MPI.Comm, optional
        Share the sources among the ranks of this communicator: all of them make this call, with the
        graph of rank 0. Each returns the rows of its part of the different sources; these are the
        bits of one process. The `progress` of rank 0 is called, with the sources of its part.

    Returns
    -------
    Within

    Raises
    ------
    NegativeWeightError
        If there is a negative weight.
    PyApspError
        As `solve`.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(4, [0, 0, 2], [1, 2, 1], [7, 1, 2])
    >>> found = pyapsp.within(graph, 0, 2, predecessors=True)
    >>> found.distances.indices, found.distances.data
    (array([0, 2], dtype=int32), array([0., 1.]))
    >>> found.path(2)
    [0, 2]
    """
    common = cutoff, directed, weight, dtype, device, memory_limit, progress
    graph, options = asked(
        "within", graph, *common, several=True, predecessors=predecessors, sparse=True
    )
    rows = RangeRows(graph, options, vertices_or_all(graph, sources, "within"), progress)
    lengths = np.zeros(rows.sources.size, np.int64)
    # arrays that grow in place: a list of blocks and their union would take twice the memory
    found = rows.empty(0)

    def more(size: int) -> Block:
        before = found.vertices.size
        found.grow(before + size)
        return found.part(slice(before, None))

    for some, block in rows.blocks(more):
        lengths[some] = block.lengths
        del block  # a part of arrays that will be elsewhere when they have grown
    return _answer(rows, slice(0, lengths.size), replace(found, lengths=lengths))


@sources_on_ranks()
def within_blocks(
    graph: GraphLike,
    sources: Vertices | None = None,
    cutoff: float | None = None,
    *,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    predecessors: bool = False,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    comm: MPI.Comm | None = None,
) -> WithinBlocks:
    """Compute the result of `within` in blocks of rows, for answers that do not fit in memory.

    Parameters and errors are those of `within`. Errors of arguments are raised by the call. With
    `comm`, an error of a rank after the call does not end the others.

    Returns
    -------
    WithinBlocks
        An iterator of the rows of the next sources, in their order; each block is a `Within`. Its
        ``save`` writes all of them to a file.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(3, [0, 1], [1, 2], [4, 5])
    >>> [found.distances.nnz for found in pyapsp.within_blocks(graph, cutoff=5)]
    [5]
    """
    common = cutoff, directed, weight, dtype, device, memory_limit, progress
    graph, options = asked(
        "within_blocks", graph, *common, several=True, predecessors=predecessors, sparse=True
    )
    rows = RangeRows(graph, options, vertices_or_all(graph, sources, "within_blocks"), progress)
    return WithinBlocks(rows)
