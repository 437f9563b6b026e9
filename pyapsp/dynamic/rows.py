"""The rows of a graph for kernels, whatever holds it: a container, or compressed sparse rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
import pyopencl as cl
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from pyapsp.base.errors import ParameterError
from pyapsp.device import Device, DeviceLike, choose
from pyapsp.device.kernels import Program, Stopwatch, build_warps, upload
from pyapsp.dynamic.columns import number_type, values_of
from pyapsp.dynamic.hornet import Hornet
from pyapsp.graph import Graph, GraphLike, Weight, as_graph
from pyapsp.graph.coerce import as_structure

__all__ = ["CsrRows", "HornetRows", "Rows", "RowsLike", "rows_of"]

# Work-items of a group of a GPU, groups for each compute unit, and the most that share a row.
_GROUP, _GROUPS, _LANES = 256, 16, 32
# A longer row, for each of the work-items that share it, gets a group.
_LONG = 32
# How many rows ahead a CPU prefetches.
_AHEAD = 32
_TYPES = {
    "float32": "float",
    "float64": "double",
    "int8": "char",
    "uint8": "uchar",
    "bool": "uchar",
    "int16": "short",
    "uint16": "ushort",
    "int32": "int",
    "uint32": "uint",
    "int64": "long",
    "uint64": "ulong",
    "float16": "half",
}


class Rows(ABC):
    """Rows on a device.

    Attributes
    ----------
    device : Device
    queue : pyopencl.CommandQueue
    n, m : int
        Vertices, and stored edges.
    symmetric : bool
        Whether every edge is known to have its reverse.
    there : (n,) bool ndarray
        Which numbers are vertices; the others were deleted.
    labels : (n,) ndarray or None
        Of a graph-like object: the labels of its vertices.
    """

    device: Device
    queue: cl.CommandQueue
    n: int
    m: int
    symmetric: bool
    there: NDArray[np.bool_]
    labels: np.ndarray | None = None

    @property
    @abstractmethod
    def weight(self) -> np.dtype | None:
        """The type of the weights; None: all are 1."""

    @abstractmethod
    def arguments(self, *, weights: bool = False) -> list[cl.Buffer]:
        """Return the arguments that ROWS or ROWS_WEIGHTS of the kernels stand for."""

    @abstractmethod
    def defines(self) -> dict[str, str | int]:
        """Return the macros of this kind of rows."""

    @abstractmethod
    def structure(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the offsets and the heads of the rows, on the host."""

    def reversed(self) -> Rows:
        """Return the rows of the reversed graph, without weights."""
        indptr, indices = self.structure()
        ones = np.ones(indices.size, np.int8)
        columns = csr_array((ones, indices, indptr), shape=(self.n, self.n)).tocsc()
        return _Compressed(self.queue, self.device, columns.indptr, columns.indices, self.there)

    @property
    def group(self) -> int:
        """Work-items of a group."""
        return 1 if self.device.traits.scalar_groups else _GROUP

    @property
    def items(self) -> int:
        """The most work-items of a launch."""
        return self.device.capabilities.compute_units * _GROUPS * self.group

    @property
    def lanes(self) -> int:
        """Work-items that share a row."""
        most = min(_LANES, self.group)
        return min(1 << max(self.m // max(self.n, 1), 1).bit_length() - 1, most)

    @property
    def limit(self) -> int:
        """Edges of a row that does not get a group."""
        return _LONG * self.lanes if self.group > 1 else 2**31 - 1

    def program(self, **defines: str | int) -> Program:
        """Return the kernels."""
        weight = "float" if self.weight is None else _TYPES[self.weight.name]
        own: dict[str, str | int] = {
            "PYAPSP_GROUP": self.group,
            "PYAPSP_WARP": min(self.group, 32),
            "PYAPSP_WEIGHT": weight,
            "PYAPSP_AHEAD": _AHEAD * self.device.traits.prefetches * (self.group == 1),
            "PYAPSP_WEIGHT_HALF": int(weight == "half"),
        }
        optimise = self.group == 1 or self.device.traits.optimises_barriers
        macros = own | self.defines() | defines
        return build_warps(self.device, "dynamic/analytics.cl", macros, optimise=optimise)


class HornetRows(Rows):
    """The rows of a container, as they are now."""

    def __init__(self, graph: Hornet) -> None:
        self._graph, self._store = graph, graph._store
        self.device, self.queue = graph.device, graph._store.queue
        self.n, self.m, self.symmetric = graph.n, graph.m, not graph.directed
        self.there = graph._vertices.there.copy()

    @property
    def weight(self) -> np.dtype | None:
        """The type of the weights; None: all are 1."""
        columns = self._store.columns
        return columns[1].dtype if len(columns) > 1 and columns[1].names == ("weight",) else None

    def arguments(self, *, weights: bool = False) -> list[cl.Buffer]:
        """Return the vertices, the regions, and the arenas."""
        store = self._store
        store.settle()
        known = store.known_to_readers
        own = [store.degree, store.place, store.regions, *store.arenas(0, known)]
        return own + (store.arenas(1, known) if weights else [])

    def structure(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the offsets and the heads of the rows, on the host."""
        now = self._graph.snapshot()
        return now.indptr, now.indices

    @property
    def slots(self) -> int:
        """All places of blocks are below this number."""
        return len(self._store.blocks.table) << self._store.blocks.bits

    def defines(self) -> dict[str, str | int]:
        """Return the macros of this kind of rows."""
        store = self._store
        bits, known = store.blocks.bits, store.known_to_readers
        return {"PYAPSP_HORNET": 1, "PYAPSP_BITS": bits, "PYAPSP_ARENAS": known}


class _Compressed(Rows):
    """Compressed sparse rows on a device."""

    def __init__(
        self,
        queue: cl.CommandQueue,
        device: Device,
        indptr: np.ndarray,
        indices: np.ndarray,
        there: NDArray[np.bool_],
        weights: np.ndarray | None = None,
        symmetric: bool = False,
    ) -> None:
        self.queue, self.device = queue, device
        self.n, self.m, self.there, self.symmetric = there.size, indices.size, there, symmetric
        # a CPU uses the memory of the arrays
        self._arrays = indptr.astype(np.int64, copy=False), indices.astype(np.int32, copy=False)
        watch = Stopwatch()
        self._rows = [upload(queue, array, watch) for array in self._arrays]
        self._weights = [] if weights is None else [upload(queue, weights, watch)]
        self._weight = None if weights is None else weights.dtype

    @property
    def weight(self) -> np.dtype | None:
        """The type of the weights; None: all are 1."""
        return self._weight

    def structure(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the offsets and the heads of the rows, on the host."""
        return self._arrays

    def arguments(self, *, weights: bool = False) -> list[cl.Buffer]:
        """Return the offsets and the heads, and the weights."""
        return [*self._rows, *(self._weights if weights else [])]

    def defines(self) -> dict[str, str | int]:
        """Return the macros of this kind of rows."""
        return {"PYAPSP_HORNET": 0}


class CsrRows(_Compressed):
    """Compressed sparse rows on a device.

    Parameters
    ----------
    graph : graph-like
        As for `pyapsp.solve`.
    weight : dtype-like, optional
        Type of the weights; None: that of the graph.
    attribute : hashable, callable or None, optional
        The edge attribute or column with the weight, as the argument ``weight`` of `pyapsp.solve`.
    device : optional
        As for `pyapsp.solve`.
    """

    def __init__(
        self,
        graph: GraphLike,
        *,
        weight: DTypeLike | None = None,
        attribute: Weight = ...,
        device: DeviceLike = None,
    ) -> None:
        source: Graph = as_graph(graph, weight=attribute)
        device = device if isinstance(device, Device) else choose(device)
        values = None
        if not (source.is_unweighted and weight is None):
            kind = number_type("CsrRows", "weight", source.dtype if weight is None else weight)
            values = values_of("CsrRows", "weight", kind, source.weights)
        super().__init__(
            device.queue(),
            device,
            source.indptr,
            source.indices,
            np.ones(source.n, bool),
            values,
            not source.directed,
        )
        self.labels = source.labels


#: A graph whose rows kernels can read.
RowsLike: TypeAlias = Rows | Hornet | GraphLike


def rows_of(
    graph: RowsLike, *, weights: bool = True, weight: Weight = ..., owner: str = "CsrRows"
) -> Rows:
    """Return the rows of a container, or of a graph-like object, which is uploaded.

    Without `weights`, which of several numbers is the weight is not asked.

    Parameters
    ----------
    graph : Rows, Hornet or graph-like
    weights : bool
    weight : hashable, callable or None, optional
        As for `pyapsp.solve`.
    owner : str
        The function with the argument `weight`, for messages.

    Raises
    ------
    ParameterError
        A weight of a container is named, which has no other.
    """
    if weight is not ... and isinstance(graph, Rows | Hornet):
        raise ParameterError.of("weight", owner, "absent for what has its weights", weight)
    if isinstance(graph, Rows):
        return graph
    if isinstance(graph, Hornet):
        return HornetRows(graph)
    return CsrRows(graph, attribute=weight) if weights else CsrRows(as_structure(graph))
