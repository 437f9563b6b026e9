"""The pipeline of a batch: groups of graphs are uploaded, computed and downloaded in parallel.

The kernels read the arrays of the caller. They assume that no weight is negative, and write an int
of remarks for each graph. A group with negative weights runs again, with kernels for these. A graph
with any other fault is passed to `pyapsp.solve`, which raises the error; the error gives the number
of the graph.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

import numpy as np

from pyapsp.all_pairs.dense.batch.form import Form, Remark
from pyapsp.all_pairs.dense.batch.predecessors import Search
from pyapsp.all_pairs.dense.batch.slots import Moving, Sharing, Slot
from pyapsp.base.host import cores
from pyapsp.device import device_errors
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import check_memory

__all__ = ["Done", "Job", "Pipeline"]

# Default bytes of weights in a group of graphs: for a device that uses host memory, and for one
# with its own memory.
_SHARED, _MOVED = 2**26, 2**24
# A group has enough graphs to use all compute units, each with this many vertices, but at most this
# many bytes.
_BUSY, _MOST = 128, 2**26
# A device with its own memory has three groups: one is uploaded, one is computed, one is
# downloaded. In addition, the host copies at most this many groups, and this many bytes, to pinned
# memory, and as many from it.
_AT_DEVICE, _COPIED, _COPIED_BYTES = 3, 3, 2**26

_INT = np.dtype(np.int32)

J = TypeVar("J", bound="Job")
A = TypeVar("A")
B = TypeVar("B")
_UnderWay = tuple[Slot, J]


class Job(ABC):
    """Some graphs of n vertices.

    Attributes
    ----------
    distances : (m, n, n) ndarray
        Array for the distances, C-contiguous.
    before : (m, n, n) int32 ndarray or None
        Array for the predecessors, if the options ask for them.
    zero_is_arc : bool
        Whether a weight of zero is an arc. Infinity always means "no arc".
    """

    distances: np.ndarray
    before: np.ndarray | None = None
    zero_is_arc: bool

    @abstractmethod
    def weights(self) -> np.ndarray:
        """Return the weights, a C-contiguous (m, n, n) array of the dtype of the distances.

        It may be `distances` itself, if there are no predecessors. This function is called in
        another thread, and a second time if there are negative weights.
        """


@dataclass(frozen=True)
class Done(Generic[J]):
    """A finished job."""

    job: J
    remarks: np.ndarray  # (m,) int32: `Remark` of each graph, without `Remark.NEGATIVE`
    form: Form  # the form that solved it
    kernel_seconds: float  # from the start of the first kernel to the end of the last


class Pipeline:
    """Runs jobs on a device, several at the same time.

    A slot is a queue with buffers for a group of graphs. In this queue weights are uploaded,
    distances are computed and downloaded, in parallel with the other slots. Threads copy ordinary
    arrays to pinned memory before the upload, and from pinned memory after the download. A device
    that shares the memory of the host has one slot, and uses the arrays of the caller.

    Source: D. Takafuji's thesis, 2020, section 3.5 (the "low-latency implementation"), with a
    group of graphs in the place of one.

    Parameters
    ----------
    make : callable
        ``make(negative)`` builds the form.
    n : int
        Vertices of each graph, at least 1.
    options : AllPairsOptions
        Device, dtype and memory limit.
    graphs : int
        Number of graphs, at least 1.
    group : int, optional
        Graphs of a job; None: chosen automatically.
    slots : int, optional
    pinned : bool
        Whether weights and answers are in memory that the device reads and writes itself.

    Attributes
    ----------
    form : Form
        For graphs without negative weights.
    group : int
        Graphs in a job, at most.
    device_bytes : int
        Device memory of a run.

    Raises
    ------
    DeviceMemoryError
        If the memory is too small for one graph in one slot.
    """

    def __init__(
        self,
        make: Callable[[bool], Form],
        n: int,
        options: AllPairsOptions,
        graphs: int,
        *,
        group: int | None = None,
        slots: int | None = None,
        pinned: bool = False,
    ) -> None:
        self._make, self._options, self._n = make, options, n
        self._negative = False
        self._made: list[Slot] = []
        self.form = make(False)
        self._forms = {False: self.form}
        self._search = Search(n, options) if options.predecessors else None
        traits, capabilities = options.device.traits, options.device.capabilities
        self._shared = traits.scalar_groups and capabilities.unified_memory
        value = n * n * options.dtype.itemsize
        usual = (_SHARED if self._shared else _MOVED) // value
        usual = max(usual, capabilities.compute_units * _BUSY**2 // n**2, min(8, _MOST // value), 1)
        self.group = min(usual if group is None else group, graphs, self.form.most)
        copied = min(_COPIED, max(cores() // 4, 1), _COPIED_BYTES // (self.group * value))
        wanted = 1 if self._shared else _AT_DEVICE + (0 if pinned else 2 * copied)
        self._slots = wanted if slots is None else slots
        self._pinned, self._graphs = pinned, graphs
        while not self._fits():
            # first fewer graphs in a group, then fewer slots
            if self.group > 1:
                self.group = -(-self.group // 2)
            elif self._slots > 1:
                self._slots -= 1
            else:
                check_memory(self._sizes(), options)
        self.device_bytes = self._used() * sum(self._sizes())

    def _used(self) -> int:
        """Return the number of slots that have work."""
        return min(self._slots, -(-self._graphs // self.group))

    def _sizes(self) -> list[int]:
        """Return the bytes of the buffers of a slot."""
        raw = self.group * self._n**2 * self._options.dtype.itemsize
        mine = [raw]
        if self._search is not None:
            mine += [raw, self.group * self._n**2 * _INT.itemsize]
        elif self._shared:
            mine += [raw]
        return [*mine, self.group * _INT.itemsize, *self.form.scratch(self.group)]

    def _fits(self) -> bool:
        capabilities, limit = self._options.device.capabilities, self._options.memory_limit
        available = min(capabilities.global_memory, limit or capabilities.global_memory)
        sizes = self._sizes()
        largest = capabilities.max_allocation
        return self._used() * sum(sizes) <= available and max(sizes) <= largest

    def __enter__(self) -> Pipeline:
        """Make slots and keep them for several runs; otherwise each run makes and frees them."""
        kind = Sharing if self._shared else Moving
        pool = _pool() if kind is Moving and not self._pinned else None
        try:
            with device_errors(self._options.device, self.device_bytes):
                for _ in range(self._used()):
                    made = kind(self._options, self._n, self.group, pool, self._search)
                    self._made.append(made)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """Free the slots."""
        with device_errors(self._options.device, self.device_bytes), ExitStack() as stack:
            # free each slot, also after an error of another
            while self._made:
                stack.callback(self._made.pop().release)

    def run(self, jobs: Iterable[J]) -> Iterator[Done[J]]:
        """Run jobs of at most `group` graphs, and yield each, in order, when it is done.

        Raises
        ------
        DeviceError
            If the device failed, or its work-groups stalled.
        """
        if not self._made:
            with self:
                yield from self.run(jobs)
            return
        at_device = min(_AT_DEVICE, self._slots)
        copied = (self._slots - at_device) // 2
        free = deque(self._made)
        # each stage delays its items, so that the work they wait for runs in the meantime
        started = (self._start(free.popleft(), job) for job in jobs)
        launched = _later(started, copied, self._launch)
        collected = _later(launched, at_device - 1, _collect)
        with device_errors(self._options.device, self.device_bytes):
            try:
                for slot, done in _later(collected, copied, self._finish):
                    free.append(slot)
                    yield done
            finally:
                for slot in self._made:
                    slot.wait()

    def _start(self, slot: Slot, job: J) -> _UnderWay[J]:
        answers = (job.distances,) if job.before is None else (job.distances, job.before)
        slot.start(job.weights, answers)
        return slot, job

    def _launch(self, some: _UnderWay[J]) -> _UnderWay[J]:
        slot, job = some
        if self._negative not in self._forms:
            self._forms[self._negative] = self._make(self._negative)
        slot.launch(self._forms[self._negative], zero_is_arc=job.zero_is_arc)
        return some

    def _finish(self, some: _UnderWay[J]) -> tuple[Slot, Done[J]]:
        """Finish a job, and run it again if it had negative weights where none were expected."""
        slot, job = some
        remarks, seconds = slot.finish()
        if slot.form is self.form and (remarks & Remark.NEGATIVE).any():
            # later graphs may also have negative weights
            self._negative = True
            return self._finish(_collect(self._launch(self._start(slot, job))))
        return slot, Done(job, remarks & ~Remark.NEGATIVE, slot.form, seconds)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2 * _COPIED, "pyapsp-copy-groups")


def _collect(some: _UnderWay[J]) -> _UnderWay[J]:
    some[0].collect()
    return some


def _later(items: Iterable[A], delay: int, step: Callable[[A], B]) -> Iterator[B]:
    """Yield ``step(item)`` for each item, `delay` items later."""
    waiting: deque[A] = deque()
    for item in items:
        waiting.append(item)
        if len(waiting) > delay:
            yield step(waiting.popleft())
    while waiting:
        yield step(waiting.popleft())
