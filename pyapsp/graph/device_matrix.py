"""A graph that is a matrix of weights in the memory of a device."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np
import pyopencl as cl

from pyapsp.device import Device, choose, device_errors
from pyapsp.device.kernels import build
from pyapsp.device.kernels.residents import scratch, scratches
from pyapsp.device.kernels.transfer import send
from pyapsp.graph import validation
from pyapsp.graph.dense import DenseGraph, from_array
from pyapsp.graph.model import Graph

if TYPE_CHECKING:
    import pyopencl.array as cl_array

__all__ = ["DeviceMatrix", "from_device_array", "is_there", "sent", "should_be_sent"]

#: The names of the types of weights in OpenCL C.
_TYPES = {
    "int8": "char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "float32": "float",
    "float64": "double",
}
# Work-items of a group on a GPU, groups at most, and values that a work-item has at least. On a CPU
# a group is one work-item.
_GROUP, _GROUPS, _EACH = 256, 2048, 8
# Bytes from which a matrix of the host is copied before its facts are known, and the part of the
# memory of the device that it may take.
_LARGE, _PART = 2**20, 8
# The flags of ``cl/graph/device_matrix.cl``.
_INFINITE, _WRONG, _FRACTION = 1, 2, 4


def from_device_array(array: Any, copy: bool = False) -> Graph:
    """Return the graph of a matrix on a device.

    An array that is not C-contiguous, or has another type than float32, float64 or a signed integer
    type that the device supports, is copied to the host.

    Parameters
    ----------
    array : pyopencl.array.Array, shape (n, n)
        0 and +inf are no arcs.
    copy : bool
        Whether the graph is one of the host. Otherwise the array must not change while it is used.

    Raises
    ------
    GraphError
        The matrix is not square, or holds NaN or -inf.
    ParameterError
        It is in a context of several devices.
    """
    validation.square(array.shape)
    if copy:
        return Graph.from_dense(array.get())
    device = choose(array.context)
    readable = _is_readable(array.dtype, device)
    whole = array.flags.c_contiguous and isinstance(array.base_data, cl.MemoryObjectHolder)
    if not (array.size and readable and whole):
        return from_array(array.get())
    return DeviceMatrix(device, array)


def should_be_sent(matrix: object, device: Device) -> TypeGuard[np.ndarray]:
    """Return whether the facts of a matrix are found sooner on the device than on the host."""
    return (
        type(matrix) is np.ndarray
        and matrix.ndim == 2
        and len(matrix) == matrix.shape[1]
        and matrix.flags.c_contiguous
        and matrix.dtype.isnative
        and _is_readable(matrix.dtype, device)
        and _LARGE <= matrix.nbytes <= device.capabilities.global_memory // _PART
        and not device.capabilities.unified_memory
    )


def sent(matrix: np.ndarray, device: Device) -> Graph:
    """Return the graph of a matrix of the host that `should_be_sent`, with a copy on the device.

    The copy should be removed, by `release`, when the graph is no longer used for a computation.

    Raises
    ------
    GraphError
        The matrix holds NaN or -inf.
    DeviceMemoryError
        There is no memory for the copy.
    """
    import pyopencl.array as cl_array

    queue = device.own_queue()
    with device_errors(device, matrix.nbytes):
        buffer = scratch(device, matrix.nbytes)
        send(queue, (buffer, matrix, matrix.dtype))
        array = cl_array.Array(queue, matrix.shape, matrix.dtype, data=buffer)
        return DeviceMatrix(device, array, host=matrix)


def _is_readable(kind: np.dtype, device: Device) -> bool:
    return kind.name in _TYPES and (kind != np.float64 or device.capabilities.fp64)


class DeviceMatrix(DenseGraph):
    """The graph of an n-by-n array of a device; its facts are computed there.

    The array is copied to the host if something needs it there: the list of arcs, for instance.

    Parameters
    ----------
    device : Device
        In the context of the array.
    array : pyopencl.array.Array, shape (n, n)
        C-contiguous, not empty. It must not change while the graph is used.
    host : (n, n) ndarray, optional
        The same values, which must not change either; by default the array is copied at need.

    Attributes
    ----------
    device : Device
    weights_type : str
        The type of the weights in OpenCL C.

    Raises
    ------
    GraphError
        The matrix holds NaN or -inf.
    """

    def __init__(
        self, device: Device, array: cl_array.Array, host: np.ndarray | None = None
    ) -> None:
        kind = array.dtype
        if host is not None:
            self.__dict__["_matrix"] = host
        self.__dict__.update(
            device=device,
            weights_type=_TYPES[kind.name],
            directed=True,
            labels=None,
            name=None,
            _array=array,
            _kind=kind,
            _size=len(array),
            _rows=max(2**20 // len(array), 1),
        )
        array.finish()  # commands of its queue may still write to it
        scalar = device.traits.scalar_groups
        group = 1 if scalar else min(_GROUP, device.capabilities.max_work_group_size)
        most = 4 * device.capabilities.compute_units if scalar else _GROUPS
        groups = max(min(most, array.size // (_EACH * group)), 1)
        defines: dict[str, str | int] = {
            "PYAPSP_GROUP": group,
            "PYAPSP_VALUE": self.weights_type,
            "PYAPSP_FLOAT": int(kind.kind == "f"),
        }
        kernel = build(device, "graph/device_matrix.cl", defines).kernel("device_matrix_facts")
        queue = device.own_queue()
        counts, ends = np.empty((groups, 4), np.int64), np.empty((groups, 2), kind)
        buffers = scratches(device, [counts.nbytes, ends.nbytes])
        sizes = map(np.int64, (self.place, len(array), -(-array.size // groups)))
        kernel(queue, (groups * group,), (group,), self.memory, *sizes, *buffers)
        for each, buffer in zip((counts, ends), buffers, strict=True):
            cl.enqueue_copy(queue, each, buffer)
        flags = int(np.bitwise_or.reduce(counts[:, 3]))
        if flags & _WRONG:
            Graph.from_dense(self._matrix)  # names the arc
        count, ones, loops = (int(each) for each in counts[:, :3].sum(axis=0))
        span = ends[:, 0].min().item(), ends[:, 1].max().item()
        self.__dict__.update(
            _count=count,
            _looped=loops,
            _infinite=bool(flags & _INFINITE),
            _span=span,
            is_integer=not flags & _FRACTION,
            is_unweighted=count == 0 or (ones == count and span == (0, 1)),
        )

    device: Device
    weights_type: str
    _array: cl_array.Array | None
    _kind: np.dtype
    _looped: int
    _size: int

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self._size

    @property
    def dtype(self) -> np.dtype:
        """Type of the weights: int64, float32 or float64."""
        return np.dtype(np.int64) if self._kind.kind == "i" else self._kind

    @property
    def memory(self) -> cl.Buffer:
        """The memory in which the array is."""
        return cast("cl.Buffer", self._there.base_data)

    @property
    def place(self) -> int:
        """Where the array begins there, in values."""
        return int(self._there.offset) // self._kind.itemsize

    @property
    def _there(self) -> cl_array.Array:
        assert self._array is not None, "the matrix was removed from the device"
        return self._array

    def release(self) -> None:
        """Remove the matrix from the device if the host has it; no command may be using it."""
        if "_matrix" in self.__dict__:
            self.__dict__["_array"] = None

    def _loops(self) -> int:
        return self._looped

    @cached_property
    def _matrix(self) -> np.ndarray:  # type: ignore[override]
        return self._there.get()

    def __reduce__(self) -> tuple[Callable[[np.ndarray], Graph], tuple[np.ndarray]]:
        # a device belongs to its process
        return from_array, (self._matrix,)


def is_there(graph: Graph, device: Device) -> TypeGuard[DeviceMatrix]:
    """Return whether a graph is a matrix in the context of a device."""
    return (
        isinstance(graph, DeviceMatrix)
        and graph._array is not None
        and graph.device.context == device.context
    )
