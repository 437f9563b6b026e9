"""The matrix of Floyd-Warshall on the device: its first content, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.arcs import ArcWriter
from pyapsp.base.host import aligned, copy, is_aligned
from pyapsp.device import Device
from pyapsp.device.kernels import Stopwatch, build, fill, staging
from pyapsp.device.kernels.residents import scratch
from pyapsp.device.kernels.transfer import awaited, hand_back, in_place, read_back, shared
from pyapsp.graph import Graph
from pyapsp.graph.device_matrix import DeviceMatrix, is_there
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.precision import infinity
from pyapsp.paths.landing import arriving, converter

__all__ = ["DistanceMatrix", "Layout", "download", "initial_distances", "initial_rows", "upload"]

# Bytes of a matrix whose kernels are a short run.
_SMALL = 2**16
# Work-items of a group on a GPU, and groups that share the rows: drivers limit their number.
_GROUP, _ROWS = 64, 2**15

_Encode: TypeAlias = Callable[[np.ndarray], np.ndarray]
_Decode: TypeAlias = Callable[[np.ndarray, np.ndarray], None]


@dataclass(frozen=True)
class Layout:
    """The format of the matrix on the device, if its entries have not the dtype of the answer."""

    dtype: np.dtype  # type of a word
    columns: int  # words in a row
    padding: int | float  # value of the words that pad the matrix


class DistanceMatrix:
    """The distances on the device, as words of a layout.

    If it is large and the device has its own memory, threads of the host write the weights into
    pinned memory, as the device needs them, and copy the distances from there to the answer. No
    other matrix is made on the host. With `arcs` the matrix is made of them on the device.
    Otherwise the array of the answer holds the weights first. A device `in_place` uses that
    array as its memory, or, if it does not have the layout, another one that is filled instead.

    Parameters
    ----------
    device : Device
    rows : tuple of int
        The number of vertices, and of rows of the matrix.
    layout : Layout
    dtype : numpy.dtype
        The type of the distances that are encoded.
    answer : numpy.dtype
        The type of the answer, if it is `staged`.
    arcs : ArcWriter or None
        Writes the weights on the device; None if they are copied with the rest of the matrix.
    words : tuple of callable, or None
        `FloydWarshall.encode` and `decode`; None if the words are the distances.
    watch : Stopwatch
        Measures transfers, as phase "transfer".
    spare : int
        Bytes of device memory that the run leaves free.

    Attributes
    ----------
    staged : bool
        Whether it is copied in pieces. The answer may then have any type that holds the distances.
    """

    def __init__(
        self,
        device: Device,
        rows: tuple[int, int],
        layout: Layout,
        dtype: np.dtype,
        answer: np.dtype,
        arcs: ArcWriter | None,
        words: tuple[_Encode, _Decode] | None,
        watch: Stopwatch,
        spare: int,
    ) -> None:
        (self._n, self._size), self._layout, self._spare = rows, layout, spare
        self._device, self._dtype, self._watch = device, dtype, watch
        self._arcs = arcs
        self._encode: _Encode | None = None if words is None else words[0]
        self._decode: _Decode | None = None if words is None else words[1]
        self._shared: np.ndarray | None = None
        self._converted = False
        self._bytes = layout.dtype.itemsize * self._size * layout.columns
        times = 1 if arcs is None else 2  # nothing else is sent
        self.staged = staging.suits(device.handle, times * answer.itemsize * self._n**2)

    @property
    def _stage(self) -> staging.Stage:
        return staging.stage(self._device.context)

    def upload(self, queue: cl.CommandQueue, graph: Graph, distances: np.ndarray) -> cl.Buffer:
        """Return a new buffer with the distances before the first round.

        If it is not `staged`, the array of the answer may be filled with them, too.
        """
        layout, n = self._layout, self._n
        if is_there(graph, self._device) and self._encode is None:
            self._converted = True
            return self._of_given(queue, graph)
        if not self.staged and self._encode is None and in_place(self._device.handle):
            words = distances
            if not _fits_in_place(queue, distances, self._size, layout):
                words = aligned((self._size, layout.columns), layout.dtype)
                words[n:] = words[:n, n : self._size] = layout.padding
            if self._arcs is None:
                initial_distances(graph, words[:n, :n])
            else:
                words[:n, :n] = layout.padding
            self._shared = words
            buffer = shared(queue, words)
            if self._arcs is not None:
                self._arcs.write_rows(queue, graph, (0, n), buffer, layout.columns, 0, self._watch)
            return buffer
        if self._arcs is not None:
            buffer = scratch(self._device, self._bytes)
            self._arcs.write(queue, graph, buffer, layout.columns, layout.padding, self._watch)
            self._words = distances
            return buffer
        if not self.staged:
            initial_distances(graph, distances)
            self._words = distances if self._encode is None else self._encode(distances)
            return upload(self._device, queue, self._words, self._size, layout, self._watch)
        buffer = scratch(self._device, self._bytes)

        def write(first: int, last: int, piece: np.ndarray) -> None:
            if self._encode is None:
                initial_rows(graph, first, last, piece[:, :n])
                piece[:, n:] = layout.padding
                return
            rows = np.empty((last - first, n), self._dtype)
            initial_rows(graph, first, last, rows)
            words = self._encode(rows).view(layout.dtype)
            piece[:, : words.shape[1]] = words
            piece[:, words.shape[1] :] = layout.padding

        with self._watch.by_the_host("transfer"):
            padding = layout.dtype.type(layout.padding)
            fill(self._device, queue, buffer, padding, n * layout.columns)
            sent = staging.Sent(buffer, layout.dtype, (n, layout.columns), write)
            self._stage.send(queue, sent)
        return buffer

    def _of_given(self, queue: cl.CommandQueue, graph: DeviceMatrix) -> cl.Buffer:
        """Return a new buffer with the distances of a matrix that is on the device."""
        layout = self._layout
        buffer = scratch(self._device, self._bytes)
        distances = arithmetic_defines(self._device, layout.dtype)
        defines: dict[str, str | int] = {
            "PYAPSP_FROM": graph.weights_type,
            "PYAPSP_FLOAT": int(graph.dtype.kind == "f"),
            "PYAPSP_VALUE": distances["PYAPSP_VALUE"],
            "PYAPSP_INFINITY": distances["PYAPSP_INFINITY"],
            "PYAPSP_HALF": int(layout.dtype == np.float16),
        }
        kernel = build(self._device, "all_pairs/dense/given_matrix.cl", defines)
        group = 1 if self._device.traits.scalar_groups else _GROUP
        items = group * (1 if group == 1 else -(-layout.columns // group))
        sizes = np.int64(layout.columns), np.int32(self._size)
        arrays = graph.memory, np.int64(graph.place), np.int32(self._n), buffer
        shape = (items, min(self._size, _ROWS)), (group, 1)
        self._watch.add("kernel", kernel.kernel("given_matrix")(queue, *shape, *arrays, *sizes))
        return buffer

    @contextmanager
    def arriving(
        self, queue: cl.CommandQueue, buffer: cl.Buffer, distances: np.ndarray
    ) -> Iterator[Callable[[], None]]:
        """Copy the distances to the array that `upload` was called with, during the block.

        Yields
        ------
        callable
            Waits for the distances, as the end of the block does.
        """
        layout, watch = self._layout, self._watch
        if self.staged:
            rest = layout.dtype, distances, watch, layout.columns, self._decode
            same = (layout.dtype, layout.columns) == (distances.dtype, self._n)
            wide = None
            if self._decode is None and not same:
                wide = converter(self._device, distances, self._spare)
            with arriving(queue, buffer, *rest, wide) as arrived:
                yield arrived
            return
        if self._converted:
            watch.add("transfer", _copy(queue, distances, buffer, distances, layout))
        elif self._shared is not None:
            _take_back(queue, buffer, self._shared, watch)
            if self._shared is not distances:
                with watch.by_the_host("transfer"):
                    copy(distances, self._shared[: self._n, : self._n])
        else:
            download(queue, self._words, buffer, self._size, layout, watch)
        if self._decode is not None:
            self._decode(self._words, distances)
        yield lambda: None


def initial_distances(graph: Graph, matrix: np.ndarray) -> None:
    """Fill the matrix before the first round: the weights, infinity, 0 on the diagonal.

    A negative self-loop stays on the diagonal: it is a negative cycle.
    """
    initial_rows(graph, 0, graph.n, matrix)


def initial_rows(graph: Graph, first: int, last: int, rows: np.ndarray) -> None:
    """Fill rows first to last - 1 of the matrix before the first round."""
    graph.fill_rows(first, last, rows, infinity(rows.dtype))
    diagonal = np.einsum("ii->i", rows[:, first:last])
    np.minimum(diagonal, 0, out=diagonal)


def upload(
    device: Device,
    queue: cl.CommandQueue,
    array: np.ndarray,
    size: int,
    layout: Layout,
    watch: Stopwatch,
) -> cl.Buffer:
    """Make a device matrix of `size` rows: the array in its corner, and padding.

    If possible, it is in the memory of the array.
    """
    if _fits_in_place(queue, array, size, layout):
        return shared(queue, array)
    bytes_all = layout.dtype.itemsize * size * layout.columns
    buffer = device.buffer(bytes_all)
    # the columns that a pitch adds are never read
    if len(array) < size:
        pattern = np.array(layout.padding, layout.dtype)
        watch.add("transfer", cl.enqueue_fill_buffer(queue, buffer, pattern, 0, bytes_all))
    watch.add("transfer", _copy(queue, buffer, array, array, layout))
    return buffer


def download(
    queue: cl.CommandQueue,
    array: np.ndarray,
    matrix: cl.Buffer,
    size: int,
    layout: Layout,
    watch: Stopwatch,
) -> None:
    """Copy the corner of a device matrix to the array that `upload` was called with."""
    if _fits_in_place(queue, array, size, layout):
        _take_back(queue, matrix, array, watch)
    else:
        watch.add("transfer", _copy(queue, array, matrix, array, layout))


def _take_back(
    queue: cl.CommandQueue, matrix: cl.Buffer, array: np.ndarray, watch: Stopwatch
) -> None:
    """Wait until the array of a `shared` matrix has its content."""
    if array.nbytes <= _SMALL:
        returned = hand_back(queue, matrix, array)
        awaited(queue, watch.pending or returned, returned)
    else:
        read_back(queue, matrix, array)


def _fits_in_place(queue: cl.CommandQueue, array: np.ndarray, size: int, layout: Layout) -> bool:
    """Return whether the device can use the memory of an array as its matrix."""
    same = array.shape == (size, layout.columns) and array.dtype == layout.dtype
    # the system writes changed pages of a memory map to the disk, again after each round
    own = not isinstance(array, np.memmap)
    return same and own and is_aligned(array) and in_place(queue.device)


def _copy(
    queue: cl.CommandQueue,
    to: cl.Buffer | np.ndarray,
    from_: cl.Buffer | np.ndarray,
    array: np.ndarray,
    layout: Layout,
) -> cl.Event:
    """Copy between a host array and the corner of a device matrix."""
    rows, row_bytes = len(array), array.dtype.itemsize * array.shape[1]
    # the type stubs do not have the keyword arguments of rectangle copies
    event: cl.Event = cl.enqueue_copy(  # type: ignore[call-overload]
        queue,
        to,
        from_,
        buffer_origin=(0, 0),
        host_origin=(0, 0),
        region=(row_bytes, rows),
        buffer_pitches=(layout.dtype.itemsize * layout.columns,),
        host_pitches=(row_bytes,),
    )
    return event
