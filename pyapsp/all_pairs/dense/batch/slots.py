"""Slots of the pipeline: a queue and device buffers for a group of graphs.

Destroying the event of a host copy blocks until the copy ends, because PyOpenCL waits in the
destructor. So a slot keeps its events until `finish`. Copies into and out of pinned memory take
longer than the bus, so other threads make them. Arrays of `pinned_empty` need no such copy.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.batch.form import Buffers, Form
from pyapsp.all_pairs.dense.batch.pinned import is_pinned
from pyapsp.all_pairs.dense.batch.predecessors import Search
from pyapsp.base.host import copy
from pyapsp.device.kernels import Stopwatch
from pyapsp.device.kernels.mapped import map_buffer, pinned
from pyapsp.paths import AllPairsOptions

__all__ = ["Moving", "Sharing", "Slot"]

_INT = np.dtype(np.int32)
# Bytes of pinned memory that are kept for the next batch: pinning takes longer than a small batch.
_IDLE_BYTES = 2**28

T = TypeVar("T")
Answers = tuple[np.ndarray, ...]


class Slot(ABC):
    """A queue with buffers, for one group of graphs at a time.

    There are four steps: `start`, `launch`, `collect` and `finish`. The last three wait, each for
    the step before. One thread controls many slots; other threads make the copies in host memory.

    Parameters
    ----------
    options : AllPairsOptions
        Device and dtype.
    n : int
        Vertices of each graph.
    graphs : int
        The largest number of graphs in a group.
    pool : ThreadPoolExecutor or None
        Copies within the memory of the host; without one they are done at once.
    search : Search, optional
        Finds predecessors.

    Attributes
    ----------
    form : Form
        The form of the last launch.
    """

    form: Form
    _answers: Answers

    def __init__(
        self,
        options: AllPairsOptions,
        n: int,
        graphs: int,
        pool: ThreadPoolExecutor | None,
        search: Search | None = None,
    ) -> None:
        self._pool, self._search = pool, search
        self._queue, self._context = options.device.queue(), options.device.context
        self._graphs = graphs
        self._remarks = self._buffer(graphs * _INT.itemsize)
        # kept until `finish`: without its event PyOpenCL waits for a copy of host memory
        self._moves: list[cl.Event] = []
        self._tasks: list[Future[Any]] = []
        # buffers of arrays of the caller, kept while kernels use them
        self._mine: list[cl.Buffer] = []
        self._scratch_of: Form | None = None
        self._scratch: list[cl.Buffer] = []
        try:
            self._allocate(graphs * n * n, options.dtype)
        except BaseException:
            self.release()
            raise

    def _allocate(self, values: int, dtype: np.dtype) -> None:  # noqa: B027
        """Allocate the memory of this kind of slot, for a number of distances."""

    @abstractmethod
    def start(self, weights: Callable[[], np.ndarray], answers: Answers) -> None:
        """Start the upload of the weights of a group of graphs, an (m, n, n) array.

        Parameters
        ----------
        weights : callable
            Returns the weights; may be called in another thread.
        answers : tuple of ndarray
            Arrays for the distances and, if there is a search, for int32 predecessors.
        """

    def launch(self, form: Form, *, zero_is_arc: bool) -> None:
        """Enqueue the kernels that compute the distances."""
        queue, answers = self._queue, self._answers
        self.form = form
        if form is not self._scratch_of:
            self._drop_scratch()
            self._scratch = [self._buffer(size) for size in form.scratch(self._graphs)]
            self._scratch_of = form
        buffers, m = self._bring(), len(answers[0])
        cl.enqueue_fill_buffer(queue, self._remarks, np.zeros(1, _INT), 0, m * _INT.itemsize)
        self._kernels = form.enqueue(queue, buffers, m, zero_is_arc=zero_is_arc)
        if self._search is not None:
            self._search.enqueue(queue, buffers, m, zero_is_arc=zero_is_arc)
        self._host_remarks = self._remark_array(m)
        self._moves.append(
            cl.enqueue_copy(queue, self._host_remarks, self._remarks, is_blocking=False)
        )
        self._send_back()
        queue.flush()
        self._buffers = buffers

    def collect(self) -> None:
        """Wait for the device, and start to copy the answers to their arrays."""
        self._take_back(self._buffers)
        self.form.finish(self._queue, self._buffers)
        self._moves.clear()

    def finish(self) -> tuple[np.ndarray, float]:
        """Wait until the answers are in their arrays.

        Returns
        -------
        remarks : (m,) int32 ndarray
            `Remark` of each graph.
        seconds : float
            From the start of the first kernel to the end of the last.
        """
        for task in self._tasks:
            task.result()
        self._tasks.clear()
        watch = Stopwatch()
        for event in self._kernels:
            watch.add("kernel", event)
        return self._host_remarks.copy(), watch.span("kernel")

    def _remark_array(self, m: int) -> np.ndarray:
        """Return the array for the remarks."""
        return np.empty(m, _INT)

    @abstractmethod
    def _bring(self) -> Buffers:
        """Enqueue the upload of the weights."""

    @abstractmethod
    def _send_back(self) -> None:
        """Enqueue the download of the answers."""

    @abstractmethod
    def _take_back(self, buffers: Buffers) -> None:
        """Wait for all enqueued commands, and start to copy the answers to their arrays."""

    def _begun(self, work: Callable[[], T]) -> Callable[[], T]:
        """Start some work in another thread, and return a function that waits for it."""
        if self._pool is None:
            done = work()
            return lambda: done
        task = self._pool.submit(work)
        self._tasks.append(task)
        return task.result

    def _buffer(self, size: int) -> cl.Buffer:
        return cl.Buffer(self._context, cl.mem_flags.READ_WRITE, size)

    def _drop_scratch(self) -> None:
        for buffer in self._scratch:
            buffer.release()
        self._scratch = []

    def wait(self) -> None:
        """Wait for all running work, and ignore its errors."""
        wait(self._tasks)
        self._queue.finish()

    def release(self) -> None:
        """Free the buffers, after whatever still uses them; the pinned memory is kept."""
        self.wait()
        self._drop_scratch()
        self._remarks.release()


class Sharing(Slot):
    """A slot of a device that uses host memory; kernels use the arrays of the caller."""

    def start(self, weights: Callable[[], np.ndarray], answers: Answers) -> None:
        """Take the weights as they are."""
        self._weights, self._answers = weights(), answers

    def _bring(self) -> Buffers:
        flags = cl.mem_flags
        read, write = flags.READ_ONLY | flags.USE_HOST_PTR, flags.READ_WRITE | flags.USE_HOST_PTR
        self._mine = [cl.Buffer(self._context, write, hostbuf=each) for each in self._answers]
        weights, *before = self._mine
        distances = weights
        # two buffers may not have the same memory
        if self._weights is not self._answers[0]:
            weights = cl.Buffer(self._context, read, hostbuf=self._weights)
            self._mine.append(weights)
        return Buffers(weights, distances, self._remarks, self._scratch, *before)

    def _send_back(self) -> None:
        pass

    def _take_back(self, buffers: Buffers) -> None:
        # the host sees the values only after a mapping
        for each, buffer in zip(self._answers, _answers(buffers), strict=True):
            access = cl.map_flags.READ
            _, unmap = map_buffer(self._queue, buffer, access, each.size, each.dtype)
            unmap().wait()
        self._let_go()

    def release(self) -> None:
        """Free the buffers, after whatever still uses them, also those of a run that failed."""
        super().release()
        self._let_go()

    def _let_go(self) -> None:
        while self._mine:
            self._mine.pop().release()


class Moving(Slot):
    """A slot of a device with its own memory: values are uploaded and downloaded.

    The copies use a pinned array, unless the array of the caller is pinned.
    """

    def _allocate(self, values: int, dtype: np.dtype) -> None:
        size, searches = values * dtype.itemsize, self._search is not None
        answers = [size, values * _INT.itemsize] if searches else [size]
        self._own: list[cl.Buffer] = []
        self._pinned: list[_Pinned] = []
        # the search needs both the weights and the distances
        for each in [*answers, size] if searches else answers:
            self._own.append(self._buffer(each))
        for each in [*answers, self._graphs * _INT.itemsize]:
            self._pinned.append(_Pinned.of(self._queue, each))
        self._values, self._weights = self._own[: len(answers)], self._own[-1]

    def _remark_array(self, m: int) -> np.ndarray:
        # a copy to memory that is not pinned would wait for all earlier commands
        return self._pinned[-1].array((m,), _INT)

    def start(self, weights: Callable[[], np.ndarray], answers: Answers) -> None:
        """Begin to copy the weights to pinned memory."""

        def stage() -> np.ndarray:
            values = weights()
            if is_pinned(values):
                return values
            staging = self._pinned[0].array(values.shape, values.dtype)
            copy(staging, values)
            return staging

        self._staged, self._answers = self._begun(stage), answers

    def _bring(self) -> Buffers:
        staging = self._staged()
        move = cl.enqueue_copy(self._queue, self._weights, staging, is_blocking=False)
        self._moves.append(move)
        distances, *before = self._values
        return Buffers(self._weights, distances, self._remarks, self._scratch, *before)

    def _send_back(self) -> None:
        self._landings: list[tuple[np.ndarray, np.ndarray]] = []
        for each, values, memory in zip(self._answers, self._values, self._pinned, strict=False):
            landing = each if is_pinned(each) else memory.array(each.shape, each.dtype)
            self._moves.append(cl.enqueue_copy(self._queue, landing, values, is_blocking=False))
            self._landings.append((each, landing))

    def _take_back(self, buffers: Buffers) -> None:
        self._moves[-1].wait()
        for each, landing in self._landings:
            if landing is not each:
                self._begun(partial(copy, each, landing))

    def release(self) -> None:
        """Free the buffers, after whatever still uses them; the pinned memory is kept."""
        super().release()
        for each in self._own:
            each.release()
        for memory in self._pinned:
            memory.keep()


def _answers(buffers: Buffers) -> tuple[cl.Buffer, ...]:
    before = () if buffers.before is None else (buffers.before,)
    return (buffers.distances, *before)


class _Pinned:
    """Memory of the host that a device reads and writes itself, kept from batch to batch."""

    _idle: ClassVar[list[_Pinned]] = []
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, queue: cl.CommandQueue, size: int) -> None:
        self._context = queue.context
        self._bytes, self._free = pinned(queue, size, np.dtype(np.uint8))

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an array at the start of this memory."""
        return np.frombuffer(self._bytes, dtype, math.prod(shape)).reshape(shape)

    @classmethod
    def of(cls, queue: cl.CommandQueue, size: int) -> _Pinned:
        """Return the smallest unused one that is large enough, not far too large, or a new one."""
        with cls._lock:
            for each in sorted(cls._idle, key=lambda each: each._bytes.size):
                if each._context == queue.context and size <= each._bytes.size <= 2 * size:
                    cls._idle.remove(each)
                    return each
        return cls(queue, size)

    def keep(self) -> None:
        """Keep this memory for later use, and free the oldest if there is too much."""
        freed: list[_Pinned] = []
        with self._lock:
            self._idle.append(self)
            while sum(each._bytes.size for each in self._idle) > _IDLE_BYTES:
                freed.append(self._idle.pop(0))
        for each in freed:
            each._free()
