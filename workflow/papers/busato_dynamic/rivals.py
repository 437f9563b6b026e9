"""Rivals of a Hornet: what those of figures 18.5 to 18.10 share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import ClassVar

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import csr_array

from pyapsp.device import Device, DeviceLike, choose, device_errors
from pyapsp.device.kernels import Program
from pyapsp.device.kernels.source import headed
from pyapsp.dynamic.batch import arrays_of
from pyapsp.errors import GraphError, ParameterError
from pyapsp.graph import Graph, GraphLike, as_structure

__all__ = ["BAD", "NO_EDGE", "Batch", "Rival", "built"]

#: The word of the state with the least edge of a batch that has no vertices, or `NO_EDGE`.
BAD = 0
NO_EDGE = np.iinfo(np.int32).max
_STATE = 8
# Work-items of a group whose items work alone, and groups for each compute unit.
_ITEMS, _GROUPS = 256, 32
#: Tails and heads on the device, and their number.
Batch = tuple[cl.Buffer, cl.Buffer, int]


@cache
def built(
    device: Device, text: str, defines: tuple[tuple[str, int], ...], optimise: bool
) -> Program:
    """Return the program of a text; the same one for the next container."""
    return Program(device, headed(text, dict(defines)), optimise=optimise)


class Rival(ABC):
    """Directed edges without weights, in a format that changes on the device.

    Parameters
    ----------
    graph : graph-like
        As for `pyapsp.solve`; weights are ignored.
    device : optional
        As for `pyapsp.solve`.

    Attributes
    ----------
    n, m : int
        Vertices, and stored edges.
    device : Device
    """

    #: What is done with an edge that is there already, as in `Hornet.insert_edges`.
    duplicates: ClassVar[tuple[str, ...]]

    def __init__(self, graph: GraphLike, *, device: DeviceLike = None) -> None:
        self.device = device if isinstance(device, Device) else choose(device)
        self._queue = self.device.queue()
        self._scratch: dict[str, cl.Buffer] = {}
        # work-items that share a row
        self._group = 1 if self.device.traits.scalar_groups else 32
        source: Graph = as_structure(graph)
        self.n, self.m = source.n, source.m
        self._program = self._build()
        with device_errors(self.device, 8 * source.m):
            self._load(source)

    @abstractmethod
    def _build(self) -> Program:
        """Return the kernels."""

    @abstractmethod
    def _load(self, graph: Graph) -> None:
        """Write a graph to the device."""

    @abstractmethod
    def _insert(self, batch: Batch) -> int:
        """Insert edges, and return how many are new."""

    @abstractmethod
    def _packed(self, first: cl.Buffer, heads: cl.Buffer) -> None:
        """Write the heads of all rows, which begin at `first`."""

    @property
    @abstractmethod
    def _buffers(self) -> list[cl.Buffer]:
        """The memory of the graph; the first buffer has the number of edges of each vertex."""

    @property
    def memory(self) -> int:
        """Bytes on the device, with spare room, without those of batches."""
        return sum(buffer.size for buffer in self._buffers)

    def degree(self, vertices: ArrayLike | None = None) -> NDArray[np.int32]:
        """Return the number of edges of all vertices, or of some."""
        degrees = self._fetch(self._buffers[0], self.n)
        return degrees if vertices is None else degrees[np.asarray(vertices)]

    def to_csr(self) -> csr_array:
        """Return the adjacency matrix as SciPy has it, with ones; rows ascend."""
        first = self._first()
        count = int(first[-1])
        with device_errors(self.device, 4 * count + first.nbytes):
            heads = self.device.buffer(max(4 * count, 4))
            self._packed(self._sent("first", first), heads)
            ends = self._fetch(heads, count)
        matrix = csr_array((np.ones(count, np.int64), ends, first), shape=(self.n, self.n))
        matrix.sort_indices()
        return matrix

    def _first(self) -> NDArray[np.int64]:
        """Return the sums of the numbers of edges of the vertices before each one."""
        first = np.zeros(self.n + 1, np.int64)
        np.cumsum(self.degree(), out=first[1:])
        return first

    def insert_edges(
        self, tails: ArrayLike, heads: ArrayLike, *, duplicates: str | None = None
    ) -> int:
        """Insert edges, and return how many are new; the parameters are those of `Format`.

        Raises
        ------
        GraphError
            An end is no vertex, or the ends are no pairs of integers.
        ParameterError
            The format has no such way with duplicates.
        DeviceMemoryError, CapabilityError
            There is no memory or room for them.
        """
        if duplicates not in (None, *self.duplicates):
            owner = f"{type(self).__name__}.insert_edges"
            raise ParameterError.of("duplicates", owner, f"one of {self.duplicates}", duplicates)
        batch = self._batch(tails, heads)
        if not batch[2]:
            return 0
        new = self._insert(batch)
        self.m += new
        return new

    def _batch(self, tails: ArrayLike, heads: ArrayLike) -> Batch:
        """Return edges on the device, with a new state."""
        ends = arrays_of(tails, heads)
        count = ends[0].size
        with device_errors(self.device, 8 * count):
            sent = [self._sent(f"end {number}", array) for number, array in enumerate(ends)]
            state = np.zeros(_STATE, np.int32)
            state[BAD] = NO_EDGE
            self._state = self._sent("state", state)
        return sent[0], sent[1], count

    def _read_state(self, batch: Batch) -> NDArray[np.int32]:
        """Return the state.

        Raises
        ------
        GraphError
            An edge of the batch has no vertices.
        """
        state = self._fetch(self._state, _STATE)
        if (edge := int(state[BAD])) != NO_EDGE:
            ends = [int(self._fetch(each, batch[2])[edge]) for each in batch[:2]]
            raise GraphError(
                f"the ends of edges must be vertices in 0..{self.n - 1}: edge number {edge} goes "
                f"from {ends[0]} to {ends[1]}"
            )
        return state

    def _room(self, name: str, size: int) -> cl.Buffer:
        """Return a buffer that the next batch uses again."""
        buffer = self._scratch.get(name)
        if buffer is None or buffer.size < size:
            # free the old one first
            buffer = self._scratch.pop(name, None)
            del buffer
            self._scratch[name] = self.device.buffer(1 << max(size - 1, 63).bit_length())
        return self._scratch[name]

    def _sent(self, name: str, array: np.ndarray) -> cl.Buffer:
        """Return such a buffer, with an array in it."""
        buffer = self._room(name, array.nbytes)
        if array.nbytes:
            cl.enqueue_copy(self._queue, buffer, array)
        return buffer

    def _new(self, array: np.ndarray, room: int = 0) -> cl.Buffer:
        """Return a buffer of its own with an array in it, and room for more items behind it."""
        buffer = self.device.buffer(max(array.nbytes + room * array.itemsize, 4))
        if array.nbytes:
            cl.enqueue_copy(self._queue, buffer, array)
        return buffer

    def _fetch(self, buffer: cl.Buffer, count: int, dtype: DTypeLike = np.int32) -> np.ndarray:
        array = np.empty(count, dtype)
        if count:
            cl.enqueue_copy(self._queue, array, buffer)
        return array

    def _launch(self, name: str, items: int, *arguments: cl.Buffer | np.generic) -> None:
        """Enqueue a kernel whose work-items work alone."""
        self._enqueue(name, items, 1 if self._group == 1 else _ITEMS, arguments)

    def _launch_groups(self, name: str, groups: int, *arguments: cl.Buffer | np.generic) -> None:
        """Enqueue a kernel whose groups work together."""
        self._enqueue(name, groups * self._group, self._group, arguments)

    def _enqueue(
        self, name: str, items: int, group: int, arguments: tuple[cl.Buffer | np.generic, ...]
    ) -> None:
        most = self.device.capabilities.compute_units * _GROUPS
        groups = min(max(-(-items // group), 1), most)
        self._program.kernel(name)(self._queue, (groups * group,), (group,), *arguments)
