"""The container: a graph that changes, in the memory of a device."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import csr_array

from pyapsp.base.errors import ParameterError
from pyapsp.base.interrupts import uninterrupted
from pyapsp.device import Device, DeviceLike, choose, device_errors
from pyapsp.dynamic import updates
from pyapsp.dynamic.answers import Memory, Snapshot
from pyapsp.dynamic.arguments import logarithm, vertex_there
from pyapsp.dynamic.batch import EndsLike, find
from pyapsp.dynamic.columns import Column, columns_of, named, packed, unpacked
from pyapsp.dynamic.loading import load, pack
from pyapsp.dynamic.store import Store
from pyapsp.dynamic.updates import Update, Watch
from pyapsp.dynamic.vertices import Vertices
from pyapsp.graph import Graph, GraphLike, Weight, as_graph, validation

if TYPE_CHECKING:
    from collections.abc import Iterator

    import networkx

__all__ = ["DUPLICATES", "Hornet"]

#: What is done with an edge that is there already.
DUPLICATES = ("ignore", "update", "keep")
# Edges of a block array, and the largest power of two for it.
_BLOCK_ARRAY, _LARGEST = 2**16, 2**28
# A graph that is loaded has at least so many block arrays, of one of these sizes: the last one of
# each class is partly empty. Kernels are compiled for each size, so that there are few.
_MANY, _SIZES = 256, (2**16, 2**13, 2**10)


class Hornet:
    """A graph to which edges and vertices are added, and from which they are deleted.

    The edges of a vertex are its row. A row is stored in a block of one of a few sizes. A row that
    outgrows its block moves to a larger one; other rows stay where they are. Free blocks are used
    again.

    An update that fails changes nothing; but if the driver refuses a command while an update is
    written, the next call writes the rest. An interrupt waits for the end of a call; a second one
    does not. Only one thread at a time may use a container. Vertices are numbers below ``n``, and
    ``m`` is the number of stored edges.

    Parameters
    ----------
    n : int
        Number of vertices, 0..n-1.
    directed : bool, default True
        False stores each edge in both rows.
    weight : dtype-like, optional
        Type of the weights; None: edges have none.
    edge_properties, vertex_properties : mapping of str to dtype-like, optional
        More values of each edge, of each vertex; booleans, integers or floats.
    layout : {"adaptive", "records", "arrays"}
        Edge properties as an array of records (AoS), as an array for each property (SoA), or as
        records if one access loads a record: of 4, 8, 16, 32 or 64 bytes.
    block_array : int, default 65536
        Edges of a block array, a power of two. A larger one makes fewer allocations, and uses more
        memory for small graphs.
    least_block : int, default 1
        Edges of the smallest block, a power of two.
    block_steps : {1, 2}
        Sizes of blocks from a power of two to the next. 1: as published, only powers of two. 2:
        also 3/2 of them, which takes about 15 per cent less memory.
    memory_limit : int, optional
        The most bytes for edges.
    device : optional
        As for `pyapsp.solve`.

    Source: F. Busato, O. Green, N. Bombieri, D. Bader, Hornet, HPEC 2018,
    doi:10.1109/HPEC.2018.8547541; F. Busato, thesis, Verona 2018, chapter 18,
    https://iris.univr.it/handle/11562/979445.

    Examples
    --------
    >>> from pyapsp.dynamic import Hornet
    >>> graph = Hornet(4)
    >>> graph.insert_edges([0, 0, 1], [1, 2, 2])
    3
    >>> graph.delete_edges([0, 3], [2, 3])
    1
    >>> graph.neighbors(0).tolist(), graph.m
    ([1], 2)
    """

    def __init__(
        self,
        n: int = 0,
        *,
        directed: bool = True,
        weight: DTypeLike | None = None,
        edge_properties: Mapping[str, DTypeLike] | None = None,
        vertex_properties: Mapping[str, DTypeLike] | None = None,
        layout: str = "adaptive",
        block_array: int = _BLOCK_ARRAY,
        least_block: int = 1,
        block_steps: int = 2,
        memory_limit: int | None = None,
        device: DeviceLike = None,
    ) -> None:
        n = validation.integer("n", "Hornet", n, 0, validation.MAX_VERTICES)
        self.directed = validation.flag("directed", "Hornet", directed)
        bits = logarithm("block_array", block_array, 1, _LARGEST)
        least = logarithm("least_block", least_block, 0, 1 << bits)
        steps = validation.integer("block_steps", "Hornet", block_steps, 1, 2)
        types = named("edge_properties", "Hornet", edge_properties)
        self._columns = columns_of("Hornet", weight, types, layout)
        vertices = Vertices(named("vertex_properties", "Hornet", vertex_properties))
        if memory_limit is not None:
            memory_limit = validation.integer("memory_limit", "Hornet", memory_limit, 0)
        chosen = device if isinstance(device, Device) else choose(device)
        smallest = max(2 * least - 1, 0)
        with device_errors(chosen, 8 * n):
            self._store = Store(chosen, bits, smallest, steps, self._columns, memory_limit)
            self._store.make_room(n, n * vertices.item)
            self._store.fill(self._store.degree, 0, n)
        self._vertices = vertices.extended(n, slice(n), {})
        self._m = 0
        # how often edges or vertices have changed
        self._changes = 0

    @classmethod
    def from_graph(
        cls,
        graph: GraphLike,
        *,
        weight: DTypeLike | None = None,
        attribute: Weight = ...,
        **options: Any,
    ) -> Hornet:
        """Make a container from a graph: one upload, and kernels that fill the block arrays.

        Parameters
        ----------
        graph : graph-like
            As for `pyapsp.solve`.
        weight : dtype-like, optional
            Type of the weights. None: the type that the graph has, or no weights if all are 1.
        attribute : hashable, callable or None, optional
            The edge attribute or column with the weight, as the argument ``weight`` of `solve`.
        **options
            As for `Hornet`, but for `n` and `directed`. By default block arrays are smaller for
            graphs of less than 2^24 edges.
        """
        source = as_graph(graph, weight=attribute)
        fitting = (size for size in _SIZES if _MANY * size <= source.m)
        options.setdefault("block_array", next(fitting, _SIZES[-1]))
        if weight is None and not source.is_unweighted:
            weight = source.dtype
        container = cls(source.n, directed=source.directed, weight=weight, **options)
        items = _items(container._columns, source)
        with container._using():
            load(container._store, source.indptr, [source.indices, *items])
            container.release_scratch()
        container._m = source.m
        return container

    @classmethod
    def from_networkx(
        cls, graph: networkx.Graph, *, attribute: Weight = ..., **options: Any
    ) -> Hornet:
        """Make a container from a NetworkX graph; vertex i is its node number i.

        Parameters
        ----------
        graph : networkx.Graph
        attribute : hashable, callable or None, optional
            As for `from_graph`.
        **options
            As for `from_graph`.
        """
        from pyapsp.graph.convert import from_networkx

        return cls.from_graph(from_networkx(graph, weight=attribute), **options)

    # -- what there is ---------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of vertex numbers: all vertices are in 0..n-1."""
        return self._vertices.n

    @property
    def m(self) -> int:
        """Number of stored edges; an undirected edge is stored twice, a loop once."""
        return self._m

    @property
    def device(self) -> Device:
        """The device."""
        return self._store.device

    @property
    def vertices(self) -> NDArray[np.int64]:
        """The vertices that there are, ascending."""
        return np.flatnonzero(self._vertices.there)

    @property
    def memory(self) -> Memory:
        """The device memory in use."""
        store = self._store
        slot = sum(column.dtype.itemsize for column in store.columns)
        return Memory(
            edges=store.bytes_of_arenas,
            block_arrays=(store.blocks.occupied << store.blocks.bits) * slot,
            vertices=8 * store.room,
            management=store.bytes_of_trees,
            scratch=store.bytes_of_scratch,
        )

    def release_scratch(self) -> None:
        """Free the memory that batches use, until the next one."""
        with self._using():
            self._store.release_scratch()

    def degree(self, vertices: ArrayLike | None = None) -> NDArray[np.int32]:
        """Return the number of edges of all vertices, or of some; 0 for deleted ones."""
        with self._using():
            degrees = self._store.fetch(self._store.degree, self.n, np.int32)
        degrees = degrees.clip(0)
        if vertices is None:
            return degrees
        return degrees[self._vertices.numbers("degree", vertices)]

    def neighbors(self, vertex: int) -> NDArray[np.int32]:
        """Return the heads of the edges of a vertex, ascending; as `row`."""
        return self.row(vertex)["head"]

    def row(self, vertex: int) -> dict[str, np.ndarray]:
        """Return the edges of a vertex, ascending by "head": with weights and properties.

        Raises
        ------
        ParameterError
            There is no such vertex, or it was deleted.
        """
        vertex = vertex_there("vertex", "Hornet.row", vertex, self._vertices.there)
        store = self._store
        with self._using():
            ends = np.empty(2, np.uint32)
            for number, buffer in enumerate((store.degree, store.place)):
                cl.enqueue_copy(store.queue, ends[number:][:1], buffer, src_offset=4 * vertex)
            degree, place = max(int(ends[:1].view(np.int32)[0]), 0), int(ends[1])
            items_of_columns = []
            for number, column in enumerate(store.columns):
                items = np.empty(degree, column.dtype)
                if degree:
                    kind, first = store.blocks.table[place >> store.blocks.bits][:2].tolist()
                    arena = store.arenas(number)[kind >> 8]
                    offset = (place - first) * column.dtype.itemsize
                    cl.enqueue_copy(store.queue, items, arena, src_offset=offset)
                items_of_columns.append(items)
        order = np.argsort(items_of_columns[0], kind="stable")
        return unpacked(store.columns, [items[order] for items in items_of_columns])

    def has_edges(self, tails: EndsLike, heads: EndsLike) -> NDArray[np.bool_]:
        """Return whether there is an edge from each tail to its head."""
        with self._using():
            return find(self._store, self.n, (tails, heads))

    def snapshot(self) -> Snapshot:
        """Return the graph as it is now; later updates do not change the answer."""
        with self._using():
            indptr, arrays = pack(self._store, self.n)
        shape = self.n, self.n
        rows = csr_array((np.arange(arrays[0].size), arrays[0], indptr), shape=shape)
        rows.sort_indices()  # the entries tell the order
        others = [array[rows.data] for array in arrays[1:]]
        values = unpacked(self._columns, others)
        return Snapshot(indptr, rows.indices.astype(np.int32, copy=False), values)

    def to_csr(self, value: str = "weight") -> csr_array:
        """Return the adjacency matrix as SciPy has it; equal edges are several entries.

        Parameters
        ----------
        value : str
            The property whose values are the entries. Without weights all are 1.
        """
        now = self.snapshot()
        known = dict.fromkeys(["weight", *now.values])
        value = validation.choice("value", "Hornet.to_csr", value, known)
        data = now.values.get(value, np.ones(now.indices.size, np.int64))
        return csr_array((data, now.indices, now.indptr), shape=(self.n, self.n))

    def to_graph(self, *, name: str | None = None) -> Graph:
        """Return the graph as it is now: of equal edges the one of the smallest weight.

        Deleted vertices are vertices without edges.
        """
        now = self.snapshot()
        tails = np.repeat(np.arange(self.n), np.diff(now.indptr))
        weights = now.values.get("weight")
        graph = Graph.from_arcs(self.n, tails, now.indices, weights, name=name)
        return graph if self.directed else graph.symmetrized()

    # -- edges -----------------------------------------------------------------------------------

    def insert_edges(
        self,
        tails: EndsLike,
        heads: EndsLike,
        weights: ArrayLike | None = None,
        *,
        properties: Mapping[str, ArrayLike] | None = None,
        duplicates: str = "ignore",
    ) -> int:
        """Insert edges.

        Parameters
        ----------
        tails, heads : array_like of int, shape (edges,)
            Vertices. Also pyopencl arrays of int32, on a queue of the same context; with them,
            weights and properties are not supported.
        weights : array_like, optional
            One for each edge, or one for all; 1 by default. Not NaN or -inf. An edge of the weight
            inf is an edge here, and none in `to_graph`.
        properties : mapping of str to array_like, optional
            Values of each edge; 0 by default.
        duplicates : {"ignore", "update", "keep"}
            "ignore": an edge that is there stays as it is, and of equal edges in the batch the
            first is inserted. "update": it gets the new weight and properties, those of the last of
            equal edges in the batch, and so do all that are equal to it. "keep": all edges are
            inserted, without a look for others, which is faster.

        Returns
        -------
        int
            Number of stored edges that are new.

        Raises
        ------
        GraphError
            An end is no vertex, or there are not as many values as edges.
        ParameterError
            A type cannot hold a value, a weight is NaN or -inf, or an argument is wrong.
        DeviceMemoryError
            There is no memory for them.
        """
        owner = "Hornet.insert_edges"
        duplicates = validation.choice("duplicates", owner, duplicates, DUPLICATES)
        return self._insert((tails, heads), weights, properties, duplicates)

    def _insert(
        self,
        ends: tuple[EndsLike, EndsLike],
        weights: ArrayLike | None,
        properties: Mapping[str, ArrayLike] | None,
        duplicates: str,
        watch: Watch | None = None,
    ) -> int:
        owner = "Hornet.insert_edges"
        values = named("properties", owner, properties)
        if "weight" in values:
            raise ParameterError.of("properties", owner, "without weights", "weight")
        if weights is not None:
            values["weight"] = weights
        with self._using():
            directed = self.directed
            update = updates.insert(
                self._store, self.n, ends, values, duplicates, directed=directed, watch=watch
            )
            self._write(update, update.edges)
        return update.edges

    def delete_edges(self, tails: EndsLike, heads: EndsLike, *, stable: bool = False) -> int:
        """Delete edges, with all that are equal; those that are not there are ignored.

        Parameters
        ----------
        tails, heads
            As for `insert_edges`.
        stable : bool
            Whether the edges that stay keep their order in their row. Otherwise the last ones fill
            the gaps, which takes less time if rows are long.

        Returns
        -------
        int
            Number of stored edges that were deleted.

        Raises
        ------
        GraphError
            An end is no vertex.
        DeviceMemoryError
            There is no memory for the batch.
        """
        return self._delete((tails, heads), stable)

    def _delete(
        self, ends: tuple[EndsLike, EndsLike], stable: bool, watch: Watch | None = None
    ) -> int:
        stable = validation.flag("stable", "Hornet.delete_edges", stable)
        with self._using():
            directed = self.directed
            update = updates.delete(
                self._store, self.n, ends, directed=directed, stable=stable, watch=watch
            )
            self._delete_prepared(update)
        return update.edges

    # -- vertices --------------------------------------------------------------------------------

    def insert_vertices(
        self, count: int = 1, properties: Mapping[str, ArrayLike] | None = None
    ) -> NDArray[np.int64]:
        """Insert vertices without edges, and return their numbers.

        Numbers of deleted vertices are used first. When the room for vertices is used up, it
        doubles; edges are not copied.
        """
        owner = "Hornet.insert_vertices"
        count = validation.integer("count", owner, count, 0, validation.MAX_VERTICES - self.n)
        properties = self._vertices.checked(
            "insert_vertices", named("properties", owner, properties), count
        )
        n = self._vertices.n_with(count)
        with self._using():
            if n > self._store.room:  # before arrays of the host, which would take as much
                room = max(n, 2 * self._store.room)
                self._store.make_room(room, n * self._vertices.item)
            numbers = self._vertices.next(count)
            vertices = self._vertices.extended(n, numbers, properties)
            if count:
                sent = self._store.bring("vertices", numbers.astype(np.int32))
                updates.put(self._store, sent, count, there=True)()
            self._vertices = vertices
            self._changes += count > 0
        return numbers

    def delete_vertices(self, vertices: ArrayLike) -> int:
        """Delete vertices, with all edges from and to them; return how many edges.

        This reads all edges once.
        """
        numbers = self._vertices.numbers("delete_vertices", vertices)
        if not numbers.size:
            return 0
        doomed = np.zeros(self.n, bool)
        doomed[numbers] = True
        with self._using():
            update = updates.delete_at(self._store, self.n, doomed)
            self._vertices.there[doomed] = False
            self._changes += 1
            self._delete_prepared(update)
        return update.edges

    def vertex_property(self, name: str) -> np.ndarray:
        """Return a property of all vertices: a copy."""
        return self._vertices.values(name).copy()

    def set_vertex_property(
        self, name: str, values: ArrayLike, vertices: ArrayLike | None = None
    ) -> None:
        """Set a property of all vertices, or of some."""
        owner = "set_vertex_property"
        numbers = np.arange(self.n)
        if vertices is not None:
            numbers = self._vertices.numbers(owner, vertices)
        checked = self._vertices.checked(owner, {name: values}, numbers.size)
        self._vertices.values(name)[numbers] = checked[name]

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse copies and pickles, which would share or lose the memory of the device."""
        raise TypeError("a Hornet is not copied or pickled: see Hornet.from_graph and to_graph")

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Translate the errors of a block, for which the container is whole.

        An interrupt waits: between a command and the note of it, a block could be lost, or get two
        rows.
        """
        with uninterrupted(), device_errors(self._store.device, self._store.bytes_of_scratch):
            self._store.settle()
            yield

    def _write(self, update: Update, more: int) -> None:
        """Write an update, which changes the number of edges by `more`."""
        self._m += more
        self._changes += more != 0
        self._store.remaining = [*update.commands]
        self._store.settle()

    def _delete_prepared(self, update: Update) -> None:
        self._write(update, -update.edges)
        if update.edges:
            updates.shrink(self._store, update.most)


def _items(columns: list[Column], source: Graph) -> list[np.ndarray]:
    """Return the items of each column but the heads, for the edges of a graph."""
    alone = [column.names for column in columns] == [("weight",)]
    if alone and source.dtype.kind + columns[0].dtype.kind in ("ii", "iu"):
        limits = np.iinfo(columns[0].dtype)
        if limits.min <= (source.min_weight or 0) and (source.max_weight or 0) <= limits.max:
            return [source.weights]  # converted on their way to the device
    weighted = any("weight" in column.names for column in columns)
    values = {"weight": source.weights} if weighted else {}
    return packed("Hornet.from_graph", columns, values, source.m)
