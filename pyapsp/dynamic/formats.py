"""Other formats of graphs with the methods of a container, to compare the time of updates.

Their edges are on the device. Compressed sparse rows are rebuilt at each update. Coordinates are
searched completely. Compressed rows with coordinates behind them append edges until their memory is
full.

Source: F. Busato, thesis, Verona 2018, table 17.1, https://iris.univr.it/handle/11562/979445.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from pyapsp.base.errors import CapabilityError, GraphError, ParameterError
from pyapsp.device import Device, DeviceLike, choose, device_errors
from pyapsp.dynamic.batch import arrays_of
from pyapsp.graph import Graph, GraphLike, as_structure, validation

__all__ = ["FORMATS", "Coordinates", "CsrWithCoordinates", "Format", "RebuiltCsr"]

_HEAD = np.int64(2**32 - 1)


class Format(ABC):
    """Directed edges without weights, in an array format on a device.

    Parameters
    ----------
    graph : graph-like
        As for `pyapsp.solve`; weights are ignored.
    spare : int, optional
        Edges that there is room for beside those of the graph, where the format has spare room; as
        many as the graph has by default.
    device : optional
        As for `pyapsp.solve`.

    Attributes
    ----------
    n : int
        Number of vertices.
    rebuilt : int
        How often all edges were written.
    """

    #: What is done with an edge that is there already, as in `Hornet.insert_edges`.
    duplicates: ClassVar[tuple[str, ...]]

    def __init__(
        self, graph: GraphLike, *, spare: int | None = None, device: DeviceLike = None
    ) -> None:
        source: Graph = as_structure(graph)
        self.n, self.rebuilt = source.n, 0
        self.device = device if isinstance(device, Device) else choose(device)
        self._queue = self.device.queue()
        if spare is not None:
            spare = validation.integer("spare", type(self).__name__, spare, 0)
        self._spare = source.m if spare is None else spare
        tails = np.repeat(np.arange(self.n), np.diff(source.indptr))
        # a number for each edge, in the order of rows as long as nothing is appended
        self._edges = tails << 32 | source.indices
        self._buffers: list[cl.Buffer] = []
        self._rebuild()

    @property
    def m(self) -> int:
        """Number of stored edges."""
        return self._edges.size

    @property
    def memory(self) -> int:
        """Bytes on the device, with spare room."""
        return sum(buffer.size for buffer in self._buffers)

    def degree(self) -> NDArray[np.int64]:
        """Return the number of edges of each vertex."""
        return np.bincount(self._edges >> 32, minlength=self.n)

    def has_edges(self, tails: ArrayLike, heads: ArrayLike) -> NDArray[np.bool_]:
        """Return whether there is an edge from each tail to its head."""
        there: NDArray[np.bool_] = np.isin(self._batch(tails, heads), self._edges)
        return there

    def to_csr(self) -> csr_array:
        """Return the adjacency matrix as SciPy has it, with ones."""
        edges = np.sort(self._edges)
        first = np.searchsorted(edges >> 32, np.arange(self.n + 1))
        ones = np.ones(edges.size, np.int64)
        return csr_array((ones, edges & _HEAD, first), shape=(self.n, self.n))

    def insert_edges(
        self, tails: ArrayLike, heads: ArrayLike, *, duplicates: str | None = None
    ) -> int:
        """Insert edges, and return how many are new.

        Parameters
        ----------
        tails, heads : array_like of int, shape (edges,)
        duplicates : str, optional
            One of `duplicates` of the format; the first by default.

        Raises
        ------
        GraphError
            An end is no vertex.
        ParameterError
            The format has no such way.
        DeviceMemoryError, CapabilityError
            There is no memory or room for them.
        """
        kind = self.duplicates[0] if duplicates is None else duplicates
        if kind not in self.duplicates:
            owner = f"{type(self).__name__}.insert_edges"
            raise ParameterError.of("duplicates", owner, f"one of {self.duplicates}", duplicates)
        new = self._batch(tails, heads)
        if kind == "ignore":
            new = np.unique(new)
            new = new[~np.isin(new, self._edges)]
        if new.size:
            self._append(new)
        return new.size

    def delete_edges(self, tails: ArrayLike, heads: ArrayLike) -> int:
        """Delete edges, with all that are equal, and return how many; all others are written.

        Raises
        ------
        GraphError
            An end is no vertex.
        """
        gone = np.isin(self._edges, self._batch(tails, heads))
        if gone.any():
            self._change(np.sort(self._edges[~gone]), self._rebuild)
        return int(np.count_nonzero(gone))

    def _batch(self, tails: ArrayLike, heads: ArrayLike) -> NDArray[np.int64]:
        ends = arrays_of(tails, heads)
        wrong = np.flatnonzero(((ends[0] | ends[1]) < 0) | (np.maximum(*ends) >= self.n))
        if wrong.size:
            edge = int(wrong[0])
            there = f"edge number {edge} has {ends[0][edge]}, {ends[1][edge]}"
            raise GraphError(f"the ends of edges must be vertices in 0..{self.n - 1}: {there}")
        return ends[0].astype(np.int64) << 32 | ends[1]

    def _sorted(self, edges: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return compressed sparse rows of sorted edges."""
        if edges.size >= 2**31:
            raise CapabilityError(f"{edges.size:,} edges, and offsets of 32 bits")
        first = np.zeros(self.n + 1, np.int32)
        np.cumsum(np.bincount(edges >> 32, minlength=self.n), out=first[1:])
        return first, (edges & _HEAD).astype(np.int32)

    def _upload(self, arrays: list[NDArray[np.int32]], room: int = 0) -> None:
        """Replace the buffers; the last `room` ints of each of the last two are spare."""
        sizes = [array.nbytes for array in arrays]
        sizes[-2:] = [size + 4 * room for size in sizes[-2:]]
        with device_errors(self.device, sum(sizes)):
            buffers = [self.device.buffer(max(size, 4)) for size in sizes]
            for buffer, array in zip(buffers, arrays, strict=True):
                if array.nbytes:
                    cl.enqueue_copy(self._queue, buffer, array)
        self._buffers = buffers
        self.rebuilt += 1

    def _write(self, new: NDArray[np.int64], place: int) -> None:
        """Write edges into the last two buffers, tails and heads, from a place on."""
        with device_errors(self.device, 0):
            for buffer, part in zip(self._buffers[-2:], (new >> 32, new & _HEAD), strict=True):
                ends = part.astype(np.int32)
                cl.enqueue_copy(self._queue, buffer, ends, dst_offset=4 * place)

    def _change(self, edges: NDArray[np.int64], write: Callable[[], None]) -> None:
        """Write other edges; after an error they are as they were."""
        before, self._edges = self._edges, edges
        try:
            write()
        except BaseException:
            self._edges = before
            raise

    @abstractmethod
    def _rebuild(self) -> None:
        """Write all edges to the device."""

    @abstractmethod
    def _append(self, new: NDArray[np.int64]) -> None:
        """Add edges."""


class RebuiltCsr(Format):
    """Compressed sparse rows (CSR), which are made anew for each update: n + m numbers."""

    duplicates = "ignore", "keep"

    def _rebuild(self) -> None:
        self._upload([*self._sorted(self._edges)])

    def _append(self, new: NDArray[np.int64]) -> None:
        whole = np.concatenate([self._edges, new])
        whole.sort(kind="stable")
        self._change(whole, self._rebuild)


class Coordinates(Format):
    """Two arrays of ends (COO) with spare room, which doubles when it is used up."""

    duplicates = "ignore", "keep"

    def _rebuild(self) -> None:
        ends = [(self._edges >> 32).astype(np.int32), (self._edges & _HEAD).astype(np.int32)]
        self._upload(ends, self._spare)
        self._room = self._edges.size + self._spare

    def _append(self, new: NDArray[np.int64]) -> None:
        whole = np.concatenate([self._edges, new])
        if whole.size <= self._room:
            self._change(whole, partial(self._write, new, self.m))
        else:
            spare, self._spare = self._spare, max(self._spare, whole.size)
            try:
                self._change(whole, self._rebuild)
            except BaseException:
                self._spare = spare
                raise


class CsrWithCoordinates(Format):
    """Compressed sparse rows, and behind them coordinates for new edges, as in GraphIn.

    No look for duplicates is possible. When the spare room is used up, and at each deletion, all
    edges become compressed sparse rows.

    Source: D. Sengupta et al., GraphIn, Euro-Par 2016, doi:10.1007/978-3-319-43659-3_24.
    """

    duplicates = ("keep",)

    def _rebuild(self) -> None:
        empty = np.zeros(0, np.int32)
        self._upload([*self._sorted(self._edges), empty, empty], self._spare)
        self._packed = self._edges.size

    def _append(self, new: NDArray[np.int64]) -> None:
        whole, place = np.concatenate([self._edges, new]), self.m - self._packed
        if place + new.size <= self._spare:
            self._change(whole, partial(self._write, new, place))
        else:
            whole.sort()
            self._change(whole, self._rebuild)


#: The formats by the names of the thesis.
FORMATS: dict[str, type[Format]] = {
    "CSR": RebuiltCsr,
    "COO": Coordinates,
    "CSR + COO": CsrWithCoordinates,
}
