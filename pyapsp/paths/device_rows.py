"""Rows of distances that stay in the memory of a device."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyopencl as cl

from pyapsp.base.reuse import empty
from pyapsp.device import Device
from pyapsp.device.kernels import staging
from pyapsp.device.kernels.program import Program, build
from pyapsp.device.kernels.residents import lent, scratch
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import C_TYPES, arithmetic_defines, check_type
from pyapsp.numbers.checks import is_near_limit, may_clip
from pyapsp.numbers.precision import holds_all, infinity, name_of

if TYPE_CHECKING:
    import pyopencl.array as cl_array

__all__ = ["DeviceRows", "HostOrDevice", "may_be_clipped"]

# Work-items of a group on a GPU, and groups that share the rows of an answer. Drivers limit the
# groups in the second dimension of a launch: rows beyond them are the second of a group, and so on.
_GROUP, _GROUPS, _ROWS = 256, 2048, 2**15
_WORDS = {2: "ushort", 4: "uint", 8: "ulong"}


class DeviceRows:
    """Rows of an answer on a device, which take the place of an array of the host.

    A slice of rows is a view. Memory is allocated at the first use. When the rows are deleted,
    others may use it, unless `array` was asked for.

    Parameters
    ----------
    device : Device
    shape : tuple of int
        Rows, and values of a row.
    dtype : numpy.dtype
        The type of the answer.
    none : int, optional
        The value of vertices without a path; by default infinity of the type.

    Raises
    ------
    CapabilityError
        If the device does not support the type.
    """

    def __init__(
        self, device: Device, shape: tuple[int, int], dtype: np.dtype, none: int | None = None
    ) -> None:
        check_type(device, dtype)
        self.device, self._first = device, 0
        # the rows that this is a view of; not itself: memory would wait for the garbage collector
        self._source: DeviceRows | None = None
        self.shape, self.dtype = shape, dtype
        self.none = infinity(dtype) if none is None else none

    @property
    def nbytes(self) -> int:
        """The bytes of the rows."""
        return self.dtype.itemsize * self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, some: slice) -> DeviceRows:
        """Return a view of some rows; the step of the slice is one."""
        start, stop, _ = some.indices(len(self))
        view = object.__new__(DeviceRows)  # `copy` takes three times as long
        view.__dict__.update(self.__dict__)
        view._source = self._whole
        view.shape, view._first = (max(stop - start, 0), self.shape[1]), self._first + start
        return view

    @property
    def _whole(self) -> DeviceRows:
        """The rows that the memory belongs to."""
        return self if self._source is None else self._source

    @cached_property
    def _memory(self) -> tuple[cl.Buffer, Callable[[], object]]:
        return lent(self.device, max(self.nbytes, 4), self)

    @property
    def buffer(self) -> cl.Buffer:
        """The memory of the whole, in which the rows of a view are."""
        return self._whole._memory[0]

    @cached_property
    def array(self) -> cl_array.Array:
        """All rows of the whole as a `pyopencl.array.Array`, on a queue of the device."""
        from pyopencl.array import Array  # its import takes as long as a small solve

        whole = self._whole
        # commands of the caller may use the memory after all that is deleted here
        whole._memory[1]()
        return Array(self.device.own_queue(), whole.shape, self.dtype, data=self.buffer)

    def take(
        self,
        queue: cl.CommandQueue,
        found: cl.Buffer,
        dtype: np.dtype,
        columns: int,
        word: int = 0,
    ) -> None:
        """Copy rows of a buffer of the device, converted to the type of the answer, and wait.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
            Its earlier commands end first.
        found : pyopencl.Buffer
        dtype : numpy.dtype
            The type of its values: that of the rows, or an integer type that it can hold.
        columns : int
            Values from row to row.
        word : int
            Bytes of a word, if each value is in the lowest bits of one. Its type is that of the
            rows.
        """
        self.copying(queue, found, dtype, columns, word)()
        queue.finish()

    def copying(
        self,
        queue: cl.CommandQueue,
        found: cl.Buffer,
        dtype: np.dtype,
        columns: int,
        word: int = 0,
    ) -> Callable[[], object]:
        """Return a function that enqueues the copy of `take`, and that may be called again."""
        rows, n = self.shape
        if not rows * n:
            return lambda: None
        group = self._group
        groups = 1 if group == 1 else min(max(_GROUPS // rows, 1), -(-n // group))
        sizes = np.int64(self._first), np.int32(rows), np.int32(n)
        kernel = self._program(dtype, word=word).kernel("device_rows_copy")
        arrays = found, np.int64(columns), self.buffer, self._infinity(dtype)
        shape = (groups * group, min(rows, _ROWS)), (group, 1)
        return partial(kernel, queue, *shape, *arrays, *sizes)

    def put(self, rows: np.ndarray) -> None:
        """Copy distances of the host, which have the type and the shape of these rows."""
        if rows.size:
            if self._marks:
                rows = np.where(rows == infinity(self.dtype), self.dtype.type(self.none), rows)
            start = self.dtype.itemsize * self._first * self.shape[1]
            rows = np.ascontiguousarray(rows)
            cl.enqueue_copy(self.device.own_queue(), self.buffer, rows, dst_offset=start)

    def get(self) -> np.ndarray:
        """Return a copy of the rows on the host."""
        rows = empty(self.shape, self.dtype)
        self.fetch(rows)
        return rows

    def distances(self) -> np.ndarray:
        """Return a copy of the rows on the host; vertices without a path are at infinity."""
        rows = self.get()
        if self._marks:
            rows[rows == self.none] = infinity(self.dtype)
        return rows

    def fetch(self, rows: np.ndarray) -> None:
        """Copy the rows to an array of the host, of the same type and shape."""
        queue = self.device.own_queue()
        if self._whole is self and staging.suits(queue.device, rows.nbytes):
            with staging.stage(queue.context).bringing(queue, self.buffer, rows):
                pass
        elif rows.size:
            start = self.dtype.itemsize * self._first * self.shape[1]
            cl.enqueue_copy(queue, rows, self.buffer, src_offset=start)

    def diagonal(self) -> np.ndarray:
        """Return a copy of the values of each row's own vertex, for all rows of a square."""
        n, item, queue = self.shape[1], self.dtype.itemsize, self.device.own_queue()
        found = np.empty(n, self.dtype)
        # not in one step: one driver wants the whole last row of the rectangle in the buffer
        if n > 1:
            # the type stubs do not have the keyword arguments of rectangle copies
            cl.enqueue_copy(  # type: ignore[call-overload]
                queue,
                found,
                self.buffer,
                buffer_origin=(0, 0),
                host_origin=(0, 0),
                region=(item, n - 1),
                buffer_pitches=((n + 1) * item,),
                host_pitches=(item,),
            )
        if n:
            cl.enqueue_copy(queue, found[-1:], self.buffer, src_offset=(n * n - 1) * item)
        return found

    def largest(self) -> int | float:
        """Return the largest finite value of the rows, 0 if all are infinite or negative."""
        rows, n = self.shape
        if self.dtype == np.float16:
            values = self.get()
            largest: int | float = values.max(where=values < np.inf, initial=0).item()
            return largest
        if not rows * n:
            return 0
        group = self._group
        groups = min(_GROUPS, -(-rows * n // group))
        queue, found = self.device.own_queue(), np.empty(groups, self.dtype)
        buffer = scratch(self.device, found.nbytes)
        kernel = self._program(self.dtype, whole=False).kernel("device_rows_largest")
        sizes = self._first * n, rows * n, -(-rows * n // groups)
        kernel(queue, (groups * group,), (group,), self.buffer, buffer, *map(np.int64, sizes))
        cl.enqueue_copy(queue, found, buffer)
        most: int | float = found.max(initial=0).item()
        return most

    def _infinity(self, dtype: np.dtype) -> np.number:
        """Return infinity for a copy from this type; a plain copy is one of unsigned integers."""
        value: int | float = 0
        if self._copies(dtype):
            kind = np.dtype(f"u{dtype.itemsize}")
        else:
            kind = np.dtype(np.float32) if self.dtype == np.float16 else self.dtype
            value = self.none
        none: np.number = kind.type(value)
        return none

    @property
    def _marks(self) -> bool:
        """Whether vertices without a path have another value than infinity."""
        return self.none != infinity(self.dtype)

    def _copies(self, dtype: np.dtype) -> bool:
        """Return whether values of this type are copied as they are."""
        return dtype == self.dtype and not self._marks

    @property
    def _group(self) -> int:
        """The number of work-items of a group."""
        return 1 if self.device.traits.scalar_groups else _GROUP

    def _program(self, dtype: np.dtype, *, whole: bool = True, word: int = 0) -> Program:
        """Build the kernels for values of this type; the bits are copied if `whole`."""
        defines: dict[str, str | int] = {}
        if self._copies(dtype) and whole:
            defines["PYAPSP_FROM"] = _WORDS[word or dtype.itemsize]
            defines["PYAPSP_TO"] = _WORDS[dtype.itemsize]
        else:
            given, wanted = (arithmetic_defines(self.device, each) for each in (dtype, self.dtype))
            defines = {
                "PYAPSP_FROM": C_TYPES[name_of(dtype)],
                "PYAPSP_TO": C_TYPES[name_of(self.dtype)],
                "PYAPSP_NONE_FROM": given["PYAPSP_INFINITY"],
                "PYAPSP_NONE_TO": wanted["PYAPSP_INFINITY"],
                "PYAPSP_CONVERTS": 1,
                "PYAPSP_HALF": int(self.dtype == np.float16),
            }
        defines["PYAPSP_GROUP"] = self._group
        return build(self.device, "paths/device_rows.cl", defines)


#: Rows of an answer.
HostOrDevice: TypeAlias = np.ndarray | DeviceRows


def may_be_clipped(graph: Graph, rows: DeviceRows) -> bool:
    """Return whether a distance of a graph may have been too large for the type of its rows.

    With negative weights the rows are not looked at.
    """
    if holds_all(graph, rows.dtype):
        return False
    if graph.has_negative:
        return may_clip(graph, rows.dtype, rows.shape[0] * rows.shape[1])
    return is_near_limit(graph, rows.largest(), rows.dtype)
