"""The container: a graph that changes, in the memory of a device."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import csr_array

from pyapsp.device import Device, choose, device_errors
from pyapsp.dynamic import batch as batches
from pyapsp.dynamic.batch import Batch
from pyapsp.dynamic.columns import columns_of, packed, unpacked, values_of
from pyapsp.dynamic.store import Store
from pyapsp.errors import GraphError, ParameterError
from pyapsp.graph import Graph, as_graph, validation

if TYPE_CHECKING:
    from collections.abc import Iterator

    import networkx

__all__ = ["DUPLICATES", "Hornet", "Memory", "Snapshot"]

#: What is done with an edge that is there already.
DUPLICATES = ("ignore", "update", "keep")
# Edges of a block array, and the largest power of two for it.
_BLOCK_ARRAY, _LARGEST = 2**16, 2**28


@dataclass(frozen=True)
class Memory:
    """The device memory of a container, in bytes.

    Attributes
    ----------
    edges : int
        Of the arenas.
    block_arrays : int
        The part of it that belongs to block arrays.
    vertices : int
        Of degrees and places of the vertices. Their properties are in the memory of the host.
    management : int
        Of Vec-Trees and tables.
    scratch : int
        For batches. `Hornet.release_scratch` frees it.
    """

    edges: int
    block_arrays: int
    vertices: int
    management: int
    scratch: int

    @property
    def total(self) -> int:
        """All but the memory for batches."""
        return self.edges + self.vertices + self.management


@dataclass(frozen=True)
class Snapshot:
    """A graph at one time, in the memory of the host: compressed sparse rows.

    Attributes
    ----------
    indptr : (n + 1,) int64 ndarray
    indices : (m,) int32 ndarray
        Heads, ascending in each row.
    values : dict of str to (m,) ndarray
        Weights ("weight") and properties.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: dict[str, NDArray[Any]] = field(default_factory=dict)


class Hornet:
    """A graph to which edges and vertices are added, and from which they are deleted.

    Rows are in blocks of powers of two. A row that outgrows its block moves to a larger one; what
    else is there stays where it is. Blocks that are left are used again.

    Every update is whole or has not happened: after an error the graph is as it was. One thread at
    a time may use a container. All vertices are numbers below ``n``, and ``m`` is the number of
    stored edges.

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
        memory_limit: int | None = None,
        device: Any = None,
    ) -> None:
        self._n = validation.vertex_count(n)
        self.directed = validation.flag("directed", "Hornet", directed)
        bits = _logarithm("block_array", block_array, 1, _LARGEST)
        least = _logarithm("least_block", least_block, 0, 1 << bits)
        self._columns = columns_of("Hornet", weight, edge_properties or {}, layout)
        own = columns_of("Hornet", None, vertex_properties or {}, "arrays")
        self._types = {column.names[0]: column.dtype for column in own}
        if memory_limit is not None:
            memory_limit = validation.integer("memory_limit", "Hornet", memory_limit, 0)
        chosen = device if isinstance(device, Device) else choose(device)
        self._store = Store(chosen, self._n, bits, least, self._columns, memory_limit)
        self._properties = {name: np.zeros(self._n, dtype) for name, dtype in self._types.items()}
        self._there = np.ones(self._n, bool)
        self._m = 0
        if self._n:
            self._put(np.arange(self._n, dtype=np.int32))

    @classmethod
    def from_graph(cls, graph: Any, *, weight: DTypeLike | None = None, **options: Any) -> Hornet:
        """Make a container from a graph: one upload, and kernels that fill the block arrays.

        Parameters
        ----------
        graph : graph-like
            As for `pyapsp.solve`.
        weight : dtype-like, optional
            Type of the weights. None: the type that the graph has, or no weights if all are 1.
        **options
            As for `Hornet`, but for `n` and `directed`.
        """
        source = as_graph(graph)
        if weight is None and not source.is_unweighted:
            weight = source.dtype
        found = cls(source.n, directed=source.directed, weight=weight, **options)
        items = packed("Hornet.from_graph", found._columns, _weights(found, source), source.m)
        with found._using():
            batches.load(found._store, source.indptr, [source.indices, *items])
            found.release_scratch()
        found._m = source.m
        return found

    @classmethod
    def from_networkx(
        cls, graph: networkx.Graph, *, attribute: str | None = "weight", **options: Any
    ) -> Hornet:
        """Make a container from a NetworkX graph; vertex i is its node number i.

        Parameters
        ----------
        graph : networkx.Graph
        attribute : str or None
            The edge attribute with the weight. None: all are 1.
        **options
            As for `from_graph`.
        """
        from pyapsp.graph.convert import from_networkx

        return cls.from_graph(from_networkx(graph, weight=attribute), **options)

    # -- what there is ---------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of vertex numbers: all vertices are in 0..n-1."""
        return self._n

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
        return np.flatnonzero(self._there)

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
        self._store.release_scratch()

    def degree(self, vertices: ArrayLike | None = None) -> NDArray[np.int32]:
        """Return the number of edges of all vertices, or of some; 0 for deleted ones."""
        with self._using():
            found: NDArray[np.int32] = self._store.fetch(self._store.degree, self._n, np.int32)
        found = found.clip(0)
        if vertices is None:
            return found
        numbers = self._numbers("vertices", "degree", vertices)
        some: NDArray[np.int32] = found[numbers]
        return some

    def neighbors(self, vertex: int) -> NDArray[np.int32]:
        """Return the heads of the edges of a vertex, ascending."""
        return self.row(vertex)["head"]

    def row(self, vertex: int) -> dict[str, NDArray[Any]]:
        """Return the edges of a vertex, ascending by "head": with weights and properties."""
        vertex = validation.integer("vertex", "Hornet.row", vertex, 0, self._n - 1)
        store = self._store
        with self._using():
            ends = np.empty(2, np.uint32)
            for number, buffer in enumerate((store.degree, store.place)):
                cl.enqueue_copy(store.queue, ends[number:][:1], buffer, src_offset=4 * vertex)
            degree, place = max(int(ends[:1].view(np.int32)[0]), 0), int(ends[1])
            found = []
            for number, column in enumerate(store.columns):
                items = np.empty(degree, column.dtype)
                if degree:
                    kind, first = store.blocks.table[place >> store.blocks.bits][:2].tolist()
                    arena = store.arenas(number)[kind >> 8]
                    offset = (place - first) * column.dtype.itemsize
                    cl.enqueue_copy(store.queue, items, arena, src_offset=offset)
                found.append(items)
        order = np.argsort(found[0], kind="stable")
        return unpacked(store.columns, [items[order] for items in found])

    def has_edges(self, tails: ArrayLike, heads: ArrayLike) -> NDArray[np.bool_]:
        """Return whether there is an edge from each tail to its head."""
        with self._using():
            given = self._batch(tails, heads, [])
            if given.count == 0:
                return np.zeros(0, bool)
            return batches.find(self._store, self._n, given)

    def snapshot(self) -> Snapshot:
        """Return the graph as it is now; later updates do not change the answer."""
        with self._using():
            indptr, arrays = batches.pack(self._store, self._n)
        shape = self._n, self._n
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
        if value != "weight" and value not in now.values:
            rule = f"one of {', '.join(['weight', *now.values])}"
            raise ParameterError.of("value", "Hornet.to_csr", rule, value)
        data = now.values.get(value, np.ones(now.indices.size, np.int64))
        return csr_array((data, now.indices, now.indptr), shape=(self._n, self._n))

    def to_graph(self, *, name: str | None = None) -> Graph:
        """Return the graph as it is now: of equal edges the one of the smallest weight.

        Deleted vertices are vertices without edges.
        """
        now = self.snapshot()
        tails = np.repeat(np.arange(self._n), np.diff(now.indptr))
        weights = now.values.get("weight")
        graph = Graph.from_arcs(self._n, tails, now.indices, weights, name=name)
        return graph if self.directed else graph.symmetrized()

    # -- edges -----------------------------------------------------------------------------------

    def insert_edges(
        self,
        tails: ArrayLike,
        heads: ArrayLike,
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
            One for each edge, or one for all; 1 by default.
        properties : mapping of str to array_like, optional
            Values of each edge; 0 by default.
        duplicates : {"ignore", "update", "keep"}
            "ignore": an edge that is there stays as it is, and of equal edges in the batch the
            first is inserted. "update": it gets the new weight and properties, those of the last of
            equal edges. "keep": all edges are inserted, without a look for others, which is faster.

        Returns
        -------
        int
            Number of stored edges that are new.

        Raises
        ------
        GraphError
            An end is no vertex, or there are not as many values as edges.
        ParameterError
            A type cannot hold a value, or an argument is wrong.
        DeviceMemoryError
            There is no memory for them.
        """
        owner = "Hornet.insert_edges"
        if duplicates not in DUPLICATES:
            rule = f"one of {', '.join(DUPLICATES)}"
            raise ParameterError.of("duplicates", owner, rule, duplicates)
        given = {"weight": weights, **(properties or {})}
        with self._using():
            count = _size(tails)
            items = packed(owner, self._columns, given, count)
            found = self._batch(tails, heads, items)
            if found.count == 0:
                return 0
            if not self.directed:
                found = batches.mirrored(self._store, found)
            inserted = batches.insert(self._store, self._n, found, duplicates)
        self._m += inserted
        return inserted

    def delete_edges(self, tails: ArrayLike, heads: ArrayLike) -> int:
        """Delete edges, with all that are equal; those that are not there are ignored.

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
        with self._using():
            found = self._batch(tails, heads, [])
            if found.count == 0:
                return 0
            if not self.directed:
                found = batches.mirrored(self._store, found)
            deleted = batches.delete(self._store, self._n, found)
        self._m -= deleted
        return deleted

    # -- vertices --------------------------------------------------------------------------------

    def insert_vertices(
        self, count: int = 1, properties: Mapping[str, ArrayLike] | None = None
    ) -> NDArray[np.int64]:
        """Insert vertices without edges, and return their numbers.

        Numbers of deleted vertices are used first. Room for vertices doubles if there is none left;
        that copies degrees and places, but no edges.
        """
        count = validation.integer("count", "Hornet.insert_vertices", count, 0)
        unused = np.flatnonzero(~self._there)[:count]
        more = count - unused.size
        validation.vertex_count(self._n + more)
        fresh = np.arange(self._n, self._n + more)
        numbers = np.concatenate([unused, fresh])
        given = {
            name: self._values("insert_vertices", name, values, count)
            for name, values in (properties or {}).items()
        }
        with self._using():
            if self._n + more > self._store.room:
                self._store.make_room(max(self._n + more, 2 * self._store.room))
            if count:
                self._put(numbers.astype(np.int32))
        self._there = np.concatenate([self._there, np.zeros(more, bool)])
        self._there[numbers] = True
        self._n += more
        for name, array in self._properties.items():
            array = np.concatenate([array, np.zeros(more, array.dtype)])
            array[numbers] = given.get(name, 0)
            self._properties[name] = array
        return numbers

    def delete_vertices(self, vertices: ArrayLike) -> int:
        """Delete vertices, with all edges from and to them; return how many edges.

        This reads all edges once.
        """
        numbers = self._numbers("vertices", "delete_vertices", vertices)
        if not numbers.size:
            return 0
        doomed = np.zeros(self._n, bool)
        doomed[numbers] = True
        with self._using():
            deleted = batches.delete_at(self._store, self._n, doomed)
        self._there &= ~doomed
        self._m -= deleted
        return deleted

    def vertex_property(self, name: str) -> NDArray[Any]:
        """Return a property of all vertices: a copy."""
        if name not in self._properties:
            raise self._unknown("vertex_property", name)
        return self._properties[name].copy()

    def set_vertex_property(
        self, name: str, values: ArrayLike, vertices: ArrayLike | None = None
    ) -> None:
        """Set a property of all vertices, or of some."""
        owner = "set_vertex_property"
        numbers: Any = slice(None)
        if vertices is not None:
            numbers = self._numbers("vertices", owner, vertices)
        count = self._n if vertices is None else numbers.size
        self._properties[name][numbers] = self._values(owner, name, values, count)

    # -- arguments -------------------------------------------------------------------------------

    @contextmanager
    def _using(self) -> Iterator[None]:
        with device_errors(self._store.device, self._store.bytes_of_scratch):
            yield

    def _put(self, numbers: NDArray[np.int32]) -> None:
        given = self._store.bring("vertices", numbers)
        batches.put(self._store, given, numbers.size, there=True)
        self._store.queue.finish()

    def _numbers(self, what: str, owner: str, given: ArrayLike) -> NDArray[np.int64]:
        numbers = validation.vertices(what, np.atleast_1d(np.asarray(given)), self._n)
        absent = ~self._there[numbers]
        if absent.any():
            deleted = int(numbers[absent][0])
            raise ParameterError.of(what, f"Hornet.{owner}", "vertices of the graph", deleted)
        return numbers

    def _values(self, owner: str, name: str, values: ArrayLike, count: int) -> NDArray[Any]:
        if name not in self._types:
            raise self._unknown(owner, name)
        found = values_of(f"Hornet.{owner}", name, self._types[name], values)
        if found.shape not in ((), (count,)):
            raise GraphError(f"{count} vertices and {name!r} of shape {found.shape}")
        return found

    def _unknown(self, owner: str, name: str) -> ParameterError:
        rule = f"one of {', '.join(self._types) or 'no names'}"
        return ParameterError.of("name", f"Hornet.{owner}", rule, name)

    def _batch(self, tails: Any, heads: Any, items: list[NDArray[Any]]) -> Batch:
        """Return edges on the device."""
        store = self._store
        if isinstance(tails, cl_array.Array) or isinstance(heads, cl_array.Array):
            return _on_device(store, tails, heads, items)
        ends = [_ends("tails", tails), _ends("heads", heads)]
        if ends[0].shape != ends[1].shape:
            raise GraphError(f"{ends[0].size} tails do not go with {ends[1].size} heads")
        count = validation.integer("edges", "a batch", ends[0].size, 0, 2**29)
        sent = [store.bring(f"end {number}", array) for number, array in enumerate(ends)]
        values = [store.bring(f"item {number}", array) for number, array in enumerate(items)]
        return Batch(sent[0], sent[1], values, count)


def _on_device(store: Store, tails: Any, heads: Any, items: list[NDArray[Any]]) -> Batch:
    """Return edges whose ends are arrays of the device."""
    for name, array in (("tails", tails), ("heads", heads)):
        fits = isinstance(array, cl_array.Array) and array.dtype == np.int32
        if not fits or array.context != store.device.context or array.offset or array.ndim != 1:
            rule = "a whole pyopencl array of int32 in the context of this container, as the other"
            raise ParameterError.of(name, "Hornet", rule, type(array).__name__)
        array.finish()
    if tails.size != heads.size:
        raise GraphError(f"{tails.size} tails do not go with {heads.size} heads")
    values = [store.bring(f"item {number}", array) for number, array in enumerate(items)]
    return Batch(tails.base_data, heads.base_data, values, tails.size)


def _size(ends: Any) -> int:
    return int(ends.size) if isinstance(ends, cl_array.Array) else int(np.size(ends))


def _ends(what: str, given: ArrayLike) -> NDArray[np.int32]:
    """Return ends of edges as int32; kernels check whether they are vertices."""
    array = np.asarray(given)
    if array.size == 0:
        return np.zeros(0, np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GraphError(
            f"the {what} of the edges must be a one-dimensional array of integers, "
            f"not {array.ndim}-dimensional of {array.dtype}"
        )
    ends = np.ascontiguousarray(array, np.int32)
    if array.dtype != np.int32 and (ends != array).any():
        ends[ends != array] = -1
    return ends


def _weights(found: Hornet, source: Graph) -> dict[str, Any]:
    weighted = any("weight" in column.names for column in found._columns)
    return {"weight": source.weights} if weighted else {}


def _logarithm(parameter: str, value: Any, low: int, high: int) -> int:
    number = validation.integer(parameter, "Hornet", value, 1, high)
    if number & (number - 1) or number < low:
        raise ParameterError.of(parameter, "Hornet", "a power of two", value)
    return number.bit_length() - 1
