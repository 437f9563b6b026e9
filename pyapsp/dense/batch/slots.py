"""Where a group of graphs is computed: a queue, and device buffers for them."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.dense.batch.form import Buffers, Form
from pyapsp.dense.batch.pinned import is_pinned
from pyapsp.dense.batch.predecessors import Search
from pyapsp.dense.outofcore.mapped import map_buffer, pinned
from pyapsp.host import copy
from pyapsp.kernels import Stopwatch
from pyapsp.registry import Options

__all__ = ["Moving", "Sharing", "Slot"]

_INT = np.dtype(np.int32)
# Bytes of pinned memory that are kept for the next batch: pinning takes longer than a small batch.
_KEPT = 2**28

Answers = tuple[np.ndarray, ...]


class Slot(ABC):
    """A queue with buffers, for one group of graphs at a time: `start`, then `finish`.

    Nothing that `start` enqueues waits, so that one thread keeps many slots at work.

    Parameters
    ----------
    options : Options
        Device and dtype.
    n : int
        Vertices of each graph.
    graphs : int
        How many there is room for.
    search : Search, optional
        Finds predecessors.
    """

    def __init__(self, options: Options, n: int, graphs: int, search: Search | None = None) -> None:
        self._search = search
        self._queue, self._context = options.device.queue(), options.device.context
        self._graphs = graphs
        self._remarks = self._buffer(graphs * _INT.itemsize)
        # a copy to other memory would wait for all that is before it
        self._told = _Pinned.of(self._queue, graphs * _INT.itemsize)
        # kept until `finish`: without its event PyOpenCL waits for a copy of host memory
        self._moves: list[cl.Event] = []
        self._form: Form | None = None
        self._scratch: list[cl.Buffer] = []

    def start(
        self, form: Form, weights: np.ndarray, answers: Answers, *, zero_is_arc: bool
    ) -> None:
        """Enqueue all that leads to the distances of some graphs.

        Parameters
        ----------
        form : Form
        weights : (m, n, n) ndarray
        answers : tuple of ndarray
            Where distances go, and int32 predecessors if there is a search.
        zero_is_arc : bool
        """
        m, queue = len(weights), self._queue
        cl.enqueue_fill_buffer(queue, self._remarks, np.zeros(1, _INT), 0, m * _INT.itemsize)
        if form is not self._form:
            self._drop_scratch()
            self._scratch = [self._buffer(size) for size in form.scratch(self._graphs)]
            self._form = form
        buffers = self._bring(weights, answers)
        events = form.enqueue(queue, buffers, m, zero_is_arc=zero_is_arc)
        if self._search is not None:
            self._search.enqueue(queue, buffers, m, zero_is_arc=zero_is_arc)
        remarks = self._told.array((m,), _INT)
        self._moves.append(cl.enqueue_copy(queue, remarks, self._remarks, is_blocking=False))
        self._send_back(buffers, answers)
        queue.flush()
        self._started = form, buffers, answers, events, remarks

    def finish(self) -> tuple[np.ndarray, float]:
        """Wait until the answers are where they go.

        Returns
        -------
        remarks : (m,) int32 ndarray
            `Remark` of each graph.
        seconds : float
            From the start of the first kernel to the end of the last.
        """
        form, buffers, answers, events, remarks = self._started
        self._take_back(buffers, answers)
        form.finish(self._queue, buffers)
        self._moves.clear()
        watch = Stopwatch()
        for event in events:
            watch.add("kernel", event)
        return remarks.copy(), watch.span("kernel")

    @abstractmethod
    def _bring(self, weights: np.ndarray, answers: Answers) -> Buffers:
        """Enqueue the way of the weights to the device."""

    @abstractmethod
    def _send_back(self, buffers: Buffers, answers: Answers) -> None:
        """Enqueue the way of the answers back."""

    @abstractmethod
    def _take_back(self, buffers: Buffers, answers: Answers) -> None:
        """Wait for all that was enqueued, and have the answers where they go."""

    def _buffer(self, size: int) -> cl.Buffer:
        return cl.Buffer(self._context, cl.mem_flags.READ_WRITE, size)

    def _drop_scratch(self) -> None:
        for buffer in self._scratch:
            buffer.release()
        self._scratch = []

    def wait(self) -> None:
        """Wait for all that was enqueued, whatever becomes of it."""
        self._queue.finish()

    def release(self) -> None:
        """Free the buffers, after whatever still uses them; the pinned memory is kept."""
        self.wait()
        self._drop_scratch()
        self._remarks.release()
        self._told.keep()


class Sharing(Slot):
    """A slot of a device that works in the memory of the host: on the arrays themselves."""

    def _bring(self, weights: np.ndarray, answers: Answers) -> Buffers:
        flags = cl.mem_flags
        read, write = flags.READ_ONLY | flags.USE_HOST_PTR, flags.READ_WRITE | flags.USE_HOST_PTR
        given = cl.Buffer(self._context, read, hostbuf=weights)
        distances, *before = (cl.Buffer(self._context, write, hostbuf=each) for each in answers)
        return Buffers(given, distances, self._remarks, self._scratch, *before)

    def _send_back(self, buffers: Buffers, answers: Answers) -> None:
        pass

    def _take_back(self, buffers: Buffers, answers: Answers) -> None:
        # a mapping is what makes the host see them
        for each, buffer in zip(answers, _answers(buffers), strict=True):
            access = cl.map_flags.READ
            _, unmap = map_buffer(self._queue, buffer, access, each.size, each.dtype)
            unmap().wait()
            buffer.release()
        buffers.weights.release()


class Moving(Slot):
    """A slot of a device with its own memory: values go there and back.

    Through a pinned array, unless the caller's is one itself.
    """

    def __init__(self, options: Options, n: int, graphs: int, search: Search | None = None) -> None:
        super().__init__(options, n, graphs, search)
        size = graphs * n * n * options.dtype.itemsize
        sizes = [size] if search is None else [size, graphs * n * n * _INT.itemsize]
        self._values = [self._buffer(each) for each in sizes]
        self._pinned = [_Pinned.of(self._queue, each) for each in sizes]
        # the search needs the weights beside the distances
        self._weights = self._values[0] if search is None else self._buffer(size)

    def _bring(self, weights: np.ndarray, answers: Answers) -> Buffers:
        staging = weights
        if not is_pinned(weights):
            staging = self._pinned[0].array(weights.shape, weights.dtype)
            copy(staging, weights)
        move = cl.enqueue_copy(self._queue, self._weights, staging, is_blocking=False)
        self._moves.append(move)
        distances, *before = self._values
        return Buffers(self._weights, distances, self._remarks, self._scratch, *before)

    def _send_back(self, buffers: Buffers, answers: Answers) -> None:
        self._staged: list[tuple[np.ndarray, np.ndarray]] = []
        for each, values, memory in zip(answers, self._values, self._pinned, strict=True):
            staging = each if is_pinned(each) else memory.array(each.shape, each.dtype)
            self._moves.append(cl.enqueue_copy(self._queue, staging, values, is_blocking=False))
            self._staged.append((each, staging))

    def _take_back(self, buffers: Buffers, answers: Answers) -> None:
        self._moves[-1].wait()
        for each, staging in self._staged:
            if staging is not each:
                copy(each, staging)

    def release(self) -> None:
        """Free the buffers, after whatever still uses them; the pinned memory is kept."""
        super().release()
        for each in {*self._values, self._weights}:
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
        """Return the begin of it as an array."""
        return np.frombuffer(self._bytes, dtype, math.prod(shape)).reshape(shape)

    @classmethod
    def of(cls, queue: cl.CommandQueue, size: int) -> _Pinned:
        """Return the smallest idle one that does, else a new one."""
        with cls._lock:
            for each in sorted(cls._idle, key=lambda each: each._bytes.size):
                if each._context == queue.context and size <= each._bytes.size:
                    cls._idle.remove(each)
                    return each
        return cls(queue, size)

    def keep(self) -> None:
        """Keep it for others, and free the oldest ones if there are too many."""
        freed: list[_Pinned] = []
        with self._lock:
            self._idle.append(self)
            while sum(each._bytes.size for each in self._idle) > _KEPT:
                freed.append(self._idle.pop(0))
        for each in freed:
            each._free()
