"""Predecessors from the distances: the last vertex of each shortest path.

The device processes slabs of rows, so that the matrix need not fit in its memory. Rows whose
predecessors may form cycles are repaired on the host.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import pyopencl as cl
import scipy

from pyapsp.all_pairs.dense.mending import mend_rows
from pyapsp.base.errors import DeviceMemoryError
from pyapsp.device.kernels import Stopwatch, build
from pyapsp.device.kernels.mapped import pinned
from pyapsp.graph import Graph
from pyapsp.graph.dense import DenseGraph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.precision import Tolerance, tolerance, tolerance_for
from pyapsp.paths import AllPairsOptions
from pyapsp.paths.landing import download

__all__ = ["Recovery", "recovery_seconds"]

_Arcs: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]

# Number of sources that are processed at once; their distances are also stored transposed.
_SPAN = 1024
_TILE = 32
# Arcs for each vertex up to which there is no first pass, on devices with scalar groups (CPUs) and
# others: on a GPU its part on the host takes longer than more arcs in the second pass.
_ALL = {True: 0, False: 64}
# Seconds of a recovery: a constant, and for each pair of vertices. Floats take twice as long: their
# rows are looked at again. Measured for n = 1,024 to 4,096 on two cores and on an H200.
_SECONDS = {True: (1e-3, 3e-9), False: (3e-3, 2e-10)}
# Bytes of rows that are copied between host and device at once.
_STRIPE = 2**25


def recovery_seconds(n: int, options: AllPairsOptions) -> float:
    """Return the predicted time of a `Recovery` for n vertices."""
    constant, pair = _SECONDS[options.device.traits.scalar_groups]
    return (constant + pair * n * n) * (2 if options.dtype.kind == "f" else 1)


class Recovery:
    """Computes predecessors from distances, for methods whose kernels compute only distances.

    The predecessor of j is the tail of the arc whose sum is closest to the distance of j. It takes
    n m' steps on the device, where m' is the number of arcs that are as long as the distance
    between their ends. A first pass finds these arcs from the rows of their tails. A second pass
    finds the predecessors, each row from the same row of the distances. Both passes process one
    slab of rows after the other. For `run` the matrix is on the device, as one slab; `run_slabs`
    uploads the slabs. In `run` the host does the first pass if the graph is an array, and there is
    none for few arcs on a GPU.

    Parameters
    ----------
    graph : Graph
        The graph that is solved.
    options : AllPairsOptions
    slab_rows : int, optional
        Rows of a slab, for `run_slabs`; `within` chooses it. None is for `run`.

    Attributes
    ----------
    slab_rows : int
        n for `run`.
    buffers : list of int
        Bytes of the device buffers that are allocated together; for `run` without the matrix.
    """

    def __init__(
        self, graph: Graph, options: AllPairsOptions, slab_rows: int | None = None
    ) -> None:
        self._graph, self._dtype = graph, options.dtype
        traits = options.device.traits
        if traits.scalar_groups:
            # predecessors have 4 bytes, distances may have less
            width, shape = traits.lanes(max(options.dtype.itemsize, 4)), (4, 1, 1)
        else:
            width, shape = 1, (1, 32, min(8, options.device.capabilities.max_work_group_size // 32))
        defines = arithmetic_defines(
            options.device, options.dtype, width=width, guard=graph.has_negative
        )
        strips, *self._group = shape
        defines |= {
            "PYAPSP_STRIPS": strips,
            "PYAPSP_GROUP_X": self._group[0],
            "PYAPSP_GROUP_Y": self._group[1],
            "PYAPSP_SLACK": "double" if options.dtype == np.float64 else "float",
        }
        self._sources = strips * width * self._group[0]
        self._program = build(options.device, "all_pairs/dense/predecessors.cl", defines)
        self._resident = slab_rows is None
        self._few = self._resident and graph.m <= _ALL[traits.scalar_groups] * graph.n
        self.slab_rows = graph.n if slab_rows is None else min(slab_rows, graph.n)
        self.buffers = self._sizes(self.slab_rows)

    @classmethod
    def within(cls, graph: Graph, options: AllPairsOptions, available: int) -> Recovery:
        """Return a `Recovery` for `run_slabs`, with the highest slabs that fit in memory.

        Parameters
        ----------
        graph : Graph
        options : AllPairsOptions
        available : int
            Bytes of device memory for all its buffers.

        Raises
        ------
        DeviceMemoryError
            If not even slabs of one row fit.
        """
        recovery = cls(graph, options, slab_rows=1)
        largest = options.device.capabilities.max_allocation
        if sum(recovery.buffers) > available:
            hint = "that is for the predecessors from one source at a time"
            raise DeviceMemoryError(sum(recovery.buffers), available, hint)
        if max(recovery.buffers) > largest:
            hint = f"that is the largest single allocation of {options.device.name}"
            raise DeviceMemoryError(max(recovery.buffers), largest, hint)

        def too_high(rows: int) -> bool:
            sizes = recovery._sizes(rows)
            return sum(sizes) > available or max(sizes) > largest

        recovery.slab_rows = 1 + bisect_left(range(2, graph.n + 1), True, key=too_high)
        recovery.buffers = recovery._sizes(recovery.slab_rows)
        return recovery

    def run(
        self,
        queue: cl.CommandQueue,
        matrix: cl.Buffer,
        columns: int,
        distances: np.ndarray,
        result: np.ndarray,
        watch: Stopwatch,
        arrived: Callable[[], None] = lambda: None,
    ) -> None:
        """Find the predecessors of distances that are on the device.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
        matrix : pyopencl.Buffer
            Final distances, `columns` values in a row.
        columns : int
        distances : (n, n) ndarray
            The same on the host; of any type that holds them.
        result : (n, n) int32 ndarray
            Array for the predecessors. They lead to the sources, unless there is a negative cycle.
        watch : Stopwatch
            Measures the run, as phases "recovery" and "transfer".
        arrived : callable
            Waits until `distances` are there.
        """
        graph, n = self._graph, self._graph.n
        if self._dtype.kind == "f":
            arrived()
            allowed = tolerance(graph, distances)
        else:
            allowed = tolerance_for(graph, self._dtype, 0.0)

        def slabs() -> Iterator[tuple[int, int]]:
            yield 0, n

        def on_host() -> _Arcs:
            assert isinstance(graph, DenseGraph)
            arrived()
            return graph.arcs_where(partial(_may_be_last, self._dtype, allowed, distances))

        def deliver(_: int, __: int, before: cl.Buffer, suspects: np.ndarray | None) -> None:
            arrived()
            download(queue, before, result.dtype, result, watch)
            # with a negative cycle there is nothing to repair
            if suspects is not None and not np.any(np.diagonal(distances) < 0):
                mend_rows(graph, 0, distances, result, allowed, suspects)

        if n > 0:
            rest = queue, watch, matrix, columns, n, allowed, slabs, deliver
            # to list all arcs of a dense matrix takes longer than to solve it
            dense = isinstance(graph, DenseGraph)
            self._recover(_Rows(*rest, on_host=on_host if dense else None))

    def run_slabs(
        self,
        queue: cl.CommandQueue,
        read: Callable[[int, int, np.ndarray], None],
        write: Callable[[int, int, np.ndarray], None],
        watch: Stopwatch,
        *,
        largest_distance: float,
        rows: tuple[int, int] | None = None,
        merged: Callable[[np.ndarray], np.ndarray] = lambda arcs: arcs,
    ) -> None:
        """Find the predecessors of distances that are on the host, in memory or in a file.

        Every row is read twice, and a third time if its predecessors may form cycles.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
        read : callable
            ``read(first, last, into)`` puts rows first to last - 1 of the final distances into an
            array of shape (last - first, n) and the dtype of the options. There must be no
            negative cycle: none is below 0 on the diagonal.
        write : callable
            ``write(first, last, rows)`` takes rows of predecessors, int32, in order, each once.
            They lead to the sources. The array is used again afterwards.
        watch : Stopwatch
            Measures the run, as phases "recovery" and "transfer".
        largest_distance : float
            The `largest_finite` of all distances, for `tolerance_for`.
        rows : (int, int), optional
            First and one past the last of the rows that are here; by default all.
        merged : callable
            Called with the relevant arcs among those that leave the vertices of these rows, as
            sorted arc numbers. Returns those of all vertices.
        """
        graph, n, height = self._graph, self._graph.n, self.slab_rows
        begin, end = (0, n) if rows is None else rows
        allowed = tolerance_for(graph, self._dtype, largest_distance)
        if n == 0:
            return
        row = n * self._dtype.itemsize
        matrix = _buffer(queue, row * height)
        each = max(1, min(height, _STRIPE // row))
        # two of each: while one is copied, the host processes the other
        there, back = (
            pinned(queue, 2 * each * n, dtype)[0].reshape(2, each, n)
            for dtype in (self._dtype, np.dtype(np.int32))
        )

        def stripes(first: int, last: int) -> list[tuple[int, int]]:
            return [(start, min(start + each, last)) for start in range(first, last, each)]

        def slabs() -> Iterator[tuple[int, int]]:
            for first in range(begin, end, height):
                last = min(first + height, end)
                events: list[cl.Event] = []
                for number, (start, stop) in enumerate(stripes(first, last)):
                    if number >= 2:
                        events[number - 2].wait()
                    rows = there[number % 2, : stop - start]
                    read(start, stop, rows)
                    place = row * (start - first)
                    event = cl.enqueue_copy(
                        queue, matrix, rows, dst_offset=place, is_blocking=False
                    )
                    queue.flush()
                    events.append(watch.add("transfer", event))
                queue.finish()
                yield first, last

        def deliver(first: int, last: int, before: cl.Buffer, suspects: np.ndarray | None) -> None:
            def fetch(number: int) -> cl.Event:
                start, stop = parts[number]
                rows = back[number % 2, : stop - start]
                place = 4 * n * (start - first)
                event = cl.enqueue_copy(queue, rows, before, src_offset=place, is_blocking=False)
                queue.flush()
                return watch.add("transfer", event)

            parts = stripes(first, last)
            event = fetch(0)
            for number, (start, stop) in enumerate(parts):
                event.wait()
                if number + 1 < len(parts):
                    event = fetch(number + 1)
                rows = back[number % 2, : stop - start]
                if suspects is not None and suspects[start - first : stop - first].any():
                    distances = there[0, : stop - start]
                    read(start, stop, distances)
                    some = suspects[start - first : stop - first]
                    mend_rows(graph, start, distances, rows, allowed, some)
                write(start, stop, rows)

        self._recover(_Rows(queue, watch, matrix, n, height, allowed, slabs, deliver, merged))

    def _sizes(self, height: int) -> list[int]:
        """Return the bytes of the buffers for slabs of `height` rows.

        They are offsets, ends and weights of arcs; transposed distances; predecessors, and a word
        for each of their rows; and the distances, unless the matrix is on the device.
        """
        n, itemsize, arcs = self._graph.n, self._dtype.itemsize, self._capacity(height)
        sizes = [
            8 * (n + 1),
            4 * arcs,
            itemsize * arcs,
            itemsize * _ceil(n, _TILE) * self._span(height),
            4 * height * n,
            4 * height,
        ]
        if not self._resident:
            sizes.append(itemsize * height * n)
        return [max(size, 4) for size in sizes]

    def _capacity(self, height: int) -> int:
        """Return the capacity of the arc buffers: at least the arcs of a slab or into a vertex."""
        return min(self._graph.m, height * self._graph.n)

    def _span(self, height: int) -> int:
        """Return the number of sources that are processed at once."""
        return _ceil(min(_SPAN, _ceil(height, self._sources)), _TILE)

    def _groups(self, x: int, y: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the shape of a launch of x times y groups, and that of a group."""
        width, height = self._group
        return (x * width, y * height), (width, height)

    def _recover(self, rows: _Rows) -> None:
        """Find the relevant arcs in a first pass, if there is one; the predecessors in a second."""
        sizes, queue = self._sizes(rows.height), rows.queue
        entering = None if rows.on_host is None else self._by_head(*rows.on_host())
        if entering is not None:
            sizes[1:3] = (each * entering[1].size for each in (4, self._dtype.itemsize))
        arcs = [_buffer(queue, size) for size in sizes[:3]]
        if entering is None and self._few and rows.allowed.exact:
            # without rounding, arcs that do not matter are on no shortest path
            turned = self._graph.reversed()
            entering = turned.indptr, turned.indices, turned.weights
        elif entering is None:
            entering = self._by_head(*self._sift(rows, arcs))
        self._search(rows, arcs, entering, [_buffer(queue, size) for size in sizes[3:6]])

    def _by_head(self, indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray) -> _Arcs:
        """Return compressed rows of arcs as compressed columns."""
        shape = self._graph.n, self._graph.n
        turned = scipy.sparse.csr_array((weights, indices, indptr), shape=shape).tocsc()
        return turned.indptr.astype(np.int64), turned.indices, turned.data

    def _sift(self, rows: _Rows, arcs: list[cl.Buffer]) -> _Arcs:
        """Return the arcs that may be the last of a shortest path: compressed rows."""
        graph, queue, watch = self._graph, rows.queue, rows.watch
        # twice the tolerance: no arc may be missing, and an unneeded arc takes little time
        wide = np.float64 if self._dtype == np.float64 else np.float32
        with np.errstate(over="ignore"):
            slack = (wide(2 * rows.allowed.relative), wide(2 * rows.allowed.absolute))
        sift = self._program.kernel("predecessors_sift")
        marks = _buffer(queue, self._capacity(rows.height))
        numbers = [np.empty(0, np.int64)]
        for first, last in rows.slabs():
            start, stop = graph.indptr[first], graph.indptr[last]
            if start == stop:
                continue
            self._upload(rows, arcs, graph.indptr[first : last + 1], graph.indices, graph.weights)
            shape = self._groups(1, -(-(last - first) // self._group[1]))
            place = (rows.matrix, np.int32(rows.columns), np.int32(last - first))
            watch.add("recovery", sift(queue, *shape, *place, *arcs, marks, *slack))
            matters = np.empty(stop - start, bool)
            watch.add("transfer", cl.enqueue_copy(queue, matters, marks))
            numbers.append(start + np.flatnonzero(matters))
        relevant = rows.merged(np.concatenate(numbers))
        return (
            np.searchsorted(relevant, graph.indptr),
            graph.indices[relevant],
            graph.weights[relevant],
        )

    def _search(
        self,
        rows: _Rows,
        arcs: list[cl.Buffer],
        entering: _Arcs,
        buffers: list[cl.Buffer],
    ) -> None:
        """Find the predecessors among these arcs, and deliver them slab by slab."""
        queue, watch = rows.queue, rows.watch
        (offsets, ends, weights), (slab, before, suspects) = entering, buffers
        transpose = self._program.kernel("predecessors_slab")
        search = self._program.kernel("predecessors_search")
        n, span = self._graph.n, self._span(rows.height)
        pitch, size = np.int32(rows.columns), np.int32(n)
        # all arcs at once if they fit, else the arcs into one range of vertices after another
        parts = list(_parts(offsets, self._capacity(rows.height)))
        there = None
        for first, last in rows.slabs():
            count = np.int32(last - first)
            for part in parts:
                begin, end = part
                if part != there:
                    self._upload(rows, arcs, offsets[begin : end + 1], ends, weights)
                    there = part
                heads = (np.int32(first), np.int32(begin), np.int32(end))
                for start in range(0, last - first, span):
                    place = (size, count, np.int32(start), np.int32(span))
                    shape = self._groups(-(-n // _TILE), span // _TILE)
                    event = transpose(queue, *shape, rows.matrix, pitch, *place, slab)
                    watch.add("recovery", event)
                    shape = self._groups(span // self._sources, -(-(end - begin) // _TILE))
                    event = search(queue, *shape, before, *place, *heads, slab, *arcs)
                    watch.add("recovery", event)
            rows.deliver(first, last, before, self._look(rows, first, last, before, suspects))

    def _look(
        self, rows: _Rows, first: int, last: int, before: cl.Buffer, suspects: cl.Buffer
    ) -> np.ndarray | None:
        """Return 1 for the rows of a slab whose predecessors may form cycles; None if none can."""
        if self._graph.m == 0 or (rows.allowed.exact and self._graph.is_positive):
            return None  # distances decrease towards the source
        suspected = np.zeros(last - first, np.int32)
        rows.watch.add("transfer", cl.enqueue_copy(rows.queue, suspects, suspected))
        falling = self._program.kernel("predecessors_falling")
        shape = self._groups(1, -(-(last - first) // self._group[1]))
        numbers = (np.int32(rows.columns), np.int32(self._graph.n), np.int32(last - first))
        event = falling(rows.queue, *shape, rows.matrix, *numbers, before, suspects)
        rows.watch.add("recovery", event)
        rows.watch.add("transfer", cl.enqueue_copy(rows.queue, suspected, suspects))
        return suspected if suspected.any() else None

    def _upload(
        self,
        rows: _Rows,
        arcs: list[cl.Buffer],
        offsets: np.ndarray,
        ends: np.ndarray,
        weights: np.ndarray,
    ) -> None:
        """Upload the arcs from the first to the last of the offsets."""
        start, stop = offsets[0], offsets[-1]
        host = (
            offsets - start,
            ends[start:stop].astype(np.int32, copy=False),
            weights[start:stop].astype(self._dtype, copy=False),
        )
        for buffer, array in zip(arcs, host, strict=True):
            if array.size:
                rows.watch.add("transfer", cl.enqueue_copy(rows.queue, buffer, array))


@dataclass(frozen=True)
class _Rows:
    """The source of the rows of distances, and the target of the predecessors."""

    queue: cl.CommandQueue
    watch: Stopwatch
    matrix: cl.Buffer  # a slab, `columns` values in a row
    columns: int
    height: int  # rows of the highest slab
    allowed: Tolerance  # of all distances
    # Yields the first row of each slab and the row after its last, once it is on the device.
    slabs: Callable[[], Iterator[tuple[int, int]]]
    # Called with these two row numbers, the predecessors of the slab on the device and, if some
    # rows must be checked, an array that is non-zero for them.
    deliver: Callable[[int, int, cl.Buffer, np.ndarray | None], None]
    merged: Callable[[np.ndarray], np.ndarray] = lambda arcs: arcs  # as for `Recovery.run_slabs`
    # Does the first pass: returns compressed rows of the arcs that may be the last of a shortest
    # path.
    on_host: Callable[[], _Arcs] | None = None


def _may_be_last(
    dtype: np.dtype,
    allowed: Tolerance,
    distances: np.ndarray,
    first: int,
    last: int,
    weights: np.ndarray,
) -> np.ndarray:
    """Return which weights are at most the distance, as `predecessors_sift` does."""
    reach = distances[first:last]
    may: np.ndarray
    if allowed.exact:
        may = weights <= reach
        return may
    wide = np.float64 if dtype == np.float64 else np.float32
    w, d = weights.astype(wide, copy=False), reach.astype(wide, copy=False)
    relative, absolute = wide(2 * allowed.relative), wide(2 * allowed.absolute)
    # what is no arc may be infinite
    with np.errstate(invalid="ignore", over="ignore"):
        may = w <= d + (relative * np.abs(w) + relative * np.abs(d) + absolute)
    return may


def _buffer(queue: cl.CommandQueue, count: int) -> cl.Buffer:
    return cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, max(count, 4))


def _ceil(count: int, unit: int) -> int:
    """Return the next multiple of the unit."""
    return -(-count // unit) * unit


def _parts(offsets: np.ndarray, capacity: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of vertices with at most `capacity` arcs; no single vertex has more."""
    begin, n = 0, len(offsets) - 1
    while begin < n:
        end = int(np.searchsorted(offsets, offsets[begin] + capacity, "right")) - 1
        yield begin, end
        begin = end
