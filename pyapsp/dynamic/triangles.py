"""Triangles that are counted while an undirected container changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import CapabilityError, GraphError, ParameterError
from pyapsp.device import device_errors
from pyapsp.dynamic.answers import TriangleChange
from pyapsp.dynamic.batch import Batch, EndsLike, Entered, touched_of
from pyapsp.dynamic.blocks import CLASSES
from pyapsp.dynamic.hornet import Hornet
from pyapsp.dynamic.store import SLOTS, Store
from pyapsp.graph import Graph, validation
from pyapsp.graph.both_ways import both_ways
from pyapsp.registry import problem, runs

__all__ = ["TriangleCounts"]

# A set and its list have at most five ints for each edge, and all of them at most so many.
_PER_EDGE, _MOST = 5, 2**31 - 1
# What "keep" inserts may be there already, and then it changes no triangle.
_DUPLICATES = ("ignore", "update")


class TriangleCounts:
    """The triangles of an undirected container, in all and at each vertex.

    The first count is one of all edges, by `pyapsp.triangles`. After that, a batch is inserted or
    deleted by the methods of this object, and only the rows of its vertices are read: kernels count
    the triangles with one, two and three edges of the batch. A triangle is a set of three vertices
    that are all neighbours; loops are ignored, and equal edges are one.

    As long as it is in use, change the container by these methods alone: when others have changed
    it, the counts are refused. After an update that fails, counts that may be wrong are made again
    from all edges when they are next needed.

    Source: D. Makkar, D. Bader, O. Green, Exact and parallel triangle counting in dynamic graphs,
    HiPC 2017, https://davidbader.net/publication/2017-mbg/ (inclusion and
    exclusion in a batch); F. Busato, thesis, Verona 2018, sections 17.0.5 and 18.4.4. Hash sets of
    neighbours, which need no order of rows: ours.

    Parameters
    ----------
    held : Hornet
        Undirected.

    Raises
    ------
    ParameterError
        The container is directed. Later: others have changed it.
    DeviceMemoryError
        There is no memory for the count of all edges.

    Examples
    --------
    >>> from pyapsp.dynamic import Hornet, TriangleCounts
    >>> held = Hornet(4, directed=False)
    >>> counts = TriangleCounts(held)
    >>> counts.insert_edges([0, 1, 2, 2], [1, 2, 0, 3])
    TriangleChange(edges=8, one=0, two=0, three=1)
    >>> counts.insert_edges([3], [0]).triangles
    1
    >>> counts.total, counts.per_vertex.tolist()
    (2, [2, 1, 2, 1])
    """

    def __init__(self, held: Hornet) -> None:
        if not isinstance(held, Hornet):
            raise ParameterError.of("held", "TriangleCounts", "a Hornet", type(held).__name__)
        if held.directed:
            raise ParameterError.of("held", "TriangleCounts", "an undirected Hornet", "a directed")
        self._container = held
        with device_errors(held.device, 4 * held.n):
            self._reader = _Reader(held._store, held.n)
        # whether the counts may not be those of the container as it is
        self._stale = True
        self._count()

    @property
    def total(self) -> int:
        """Number of triangles."""
        self._check()
        return self._total

    @property
    def per_vertex(self) -> NDArray[np.int64]:
        """Number of triangles that each vertex is in, (n,) int64; 0 for deleted ones."""
        self._check()
        with device_errors(self._container.device, 0):
            return self._reader.fetch()

    def insert_edges(
        self,
        tails: EndsLike,
        heads: EndsLike,
        weights: ArrayLike | None = None,
        *,
        properties: Mapping[str, ArrayLike] | None = None,
        duplicates: str = "ignore",
    ) -> TriangleChange:
        """Insert edges, and return how many, and the triangles that they make.

        Parameters and errors are those of `Hornet.insert_edges`, but for `duplicates`.

        Parameters
        ----------
        tails, heads, weights, properties
            As for `Hornet.insert_edges`.
        duplicates : {"ignore", "update"}
            What is done with an edge that is there.
        """
        owner = "TriangleCounts.insert_edges"
        duplicates = validation.choice("duplicates", owner, duplicates, _DUPLICATES)
        with self._changing() as held:
            edges = held._insert((tails, heads), weights, properties, duplicates, self._reader)
        return self._changed(edges, 1)

    def delete_edges(
        self, tails: EndsLike, heads: EndsLike, *, stable: bool = False
    ) -> TriangleChange:
        """Delete edges, and return how many, and the triangles that they were in.

        Parameters and errors are those of `Hornet.delete_edges`.
        """
        with self._changing() as held:
            edges = held._delete((tails, heads), stable, self._reader)
        return self._changed(edges, -1)

    @contextmanager
    def _changing(self) -> Iterator[Hornet]:
        """Yield the container with counts that are right; if it may fail half-way, say so.

        An error of the arguments means that the container is as it was.
        """
        self._check()
        with device_errors(self._container.device, 0):
            self._reader.begin(self._container.m)
        self._stale = True
        try:
            yield self._container
        except (GraphError, ParameterError):
            self._stale = False
            raise
        self._changes = self._container._changes

    def _changed(self, edges: int, sign: int) -> TriangleChange:
        """Return what an update has changed, and change the total."""
        with device_errors(self._container.device, 0):
            change = TriangleChange(edges, *self._reader.sums())
        self._total += sign * change.triangles
        self._stale = False
        return change

    def _check(self) -> None:
        """Have counts that are right, or raise the error of a container that others changed."""
        if self._stale:
            self._count()
        elif self._container._changes != self._changes:
            raise ParameterError(
                "others have changed the container since these counts were made: make new ones"
            )

    def _count(self) -> None:
        """Count the triangles of all edges."""
        held, per_vertex = self._container, np.zeros(self._container.n, np.int64)
        if held.m:
            call = problem("triangles").ask(_graph(held), per_vertex=True, device=held.device)
            per_vertex = runs.solve(call).answer.per_vertex
        with device_errors(held.device, per_vertex.nbytes):
            self._reader.put(per_vertex)
        self._total, self._changes = int(per_vertex.sum()) // 3, held._changes
        self._stale = False


def _graph(held: Hornet) -> Graph:
    """Return an undirected container as a graph, without weights: of equal edges there is one."""
    now = held.snapshot()
    tails = np.repeat(np.arange(held.n, dtype=np.int32), np.diff(now.indptr))
    heads, new = now.indices, np.ones(now.indices.size, bool)
    new[1:] = (tails[1:] != tails[:-1]) | (heads[1:] != heads[:-1])
    before = np.concatenate([[0], np.cumsum(new)])
    ones = np.ones(before[-1], np.int64)
    return both_ways(Graph.from_checked_rows(before[now.indptr], heads[new], ones, copy=False))


class _Reader:
    """Counts of vertices on the device, which follow what `updates` shows of them.

    Parameters
    ----------
    store : Store
        That of the container.
    n : int
        Number of vertices.
    """

    def __init__(self, store: Store, n: int) -> None:
        self._store, self._n = store, n
        self._counts, self._sums = store.allocate(4 * n), store.allocate(24)
        self._edges = 0

    def begin(self, edges: int) -> None:
        """Set the sums of an update to 0; there are so many stored edges before it."""
        self._edges = edges
        self._store.fill(self._sums, 0, 6)

    def sums(self) -> list[int]:
        """Return the triangles with one, two and three edges of the last update."""
        words = self._store.fetch(self._sums, 6, np.uint32).astype(np.uint64)
        return [int(low) | int(high) << 32 for low, high in words.reshape(3, 2)]

    def put(self, counts: NDArray[np.int64]) -> None:
        """Set the counts of all vertices: no more than there are edges, which fit in int32."""
        if counts.size:
            cl.enqueue_copy(self._store.queue, self._counts, counts.astype(np.int32))

    def fetch(self) -> NDArray[np.int64]:
        """Return the counts of all vertices."""
        return self._store.fetch(self._counts, self._n, np.int32).astype(np.int64)

    # -- as a Watch ------------------------------------------------------------------------------

    def measure(self, batch: Batch, *, deleting: bool) -> None:
        """Enqueue the division of slots among the sets of neighbours.

        Raises
        ------
        CapabilityError
            There may be too many to be counted.
        """
        if _PER_EDGE * (self._edges + batch.count) > _MOST:
            raise CapabilityError(
                f"triangles are counted in containers of at most {_MOST // _PER_EDGE:,} edges"
            )
        store, tables = self._store, self._store.scratch("tables", 8 * self._store.room)
        touched = touched_of(store, batch.most)
        vertices = touched, store.degree, store.added, store.state, tables
        store.launch("triangles_divide", batch.most, *vertices, np.int32(deleting))

    def reserve(self, batch: Batch, state: NDArray[np.int32]) -> None:
        """Have the memory for sets and for the list of edges."""
        store = self._store
        self._slots = int(state[SLOTS])
        # a batch has the reverse of each edge, too
        sizes = {"sets": 4 * self._slots, "edge rank": 4 * batch.count, "classes": 4 * CLASSES}
        for name, size in (*sizes.items(), ("edges", 8 * batch.count)):
            store.scratch(name, size)
        store.program("triangles")

    def read(self, batch: Batch, entered: Entered, rows: cl.Buffer, *, deleting: bool) -> None:
        """Enqueue the kernels: sets, list of edges, count."""
        store, state, count = self._store, self._store.state, np.int32(batch.count)
        names = "tables", "sets", "edge rank", "classes", "edges"
        tables, sets, rank, classes, edges = (store.scratch(name, 0) for name in names)
        store.fill(sets, -1, self._slots)
        store.fill(classes, 0, CLASSES)
        arguments = rows, state, store.degree, tables, sets, store.regions
        store.launch("triangles_enter", store.all_items, *arguments, *store.arenas(0))
        ends = batch.tails, batch.heads
        numbered = entered.table, entered.slot, tables, sets, rank, classes
        store.launch("triangles_rank", batch.count, *ends, *numbered, count)
        store.launch("triangles_list", batch.count, *ends, tables, rank, classes, edges, count)
        counted = edges, classes, tables, sets, self._counts, self._sums
        by = np.int32(-1 if deleting else 1)
        store.launch("triangles_count", store.all_items, *counted, by)
