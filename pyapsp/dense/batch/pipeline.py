"""Graphs to the device and distances back, a group of them at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from pyapsp.dense.batch.form import Form, Remark
from pyapsp.dense.batch.predecessors import Search
from pyapsp.dense.batch.slots import Moving, Sharing, Slot
from pyapsp.device import device_errors
from pyapsp.registry import Options, check_memory

__all__ = ["Done", "Job", "Pipeline"]

# Bytes of weights in a group of graphs, unless the caller says how many: where the device works on
# the memory of the host; where they travel by copies of the host, which several threads share; and
# where they travel by themselves.
_SHARED, _STAGED, _PINNED = 2**26, 2**25, 2**23
# At least so many as keep every compute unit busy, each with that many vertices, and a few, but for
# very large ones.
_BUSY, _MOST = 128, 2**26
# Groups under way on a device with memory of its own: one comes, one is computed, one goes back.
_SLOTS = 3

_INT = np.dtype(np.int32)

J = TypeVar("J", bound="Job")


class Job(ABC):
    """Some graphs of n vertices.

    Attributes
    ----------
    distances : (m, n, n) ndarray
        Where the answer goes, C-contiguous.
    before : (m, n, n) int32 ndarray or None
        Where predecessors go, if the options ask for them.
    zero_is_arc : bool
        Whether a weight of zero is an arc; infinity is none.
    """

    distances: np.ndarray
    before: np.ndarray | None = None
    zero_is_arc: bool

    @abstractmethod
    def weights(self) -> np.ndarray:
        """Return the weights, a C-contiguous (m, n, n) array of the dtype of the distances."""


@dataclass(frozen=True)
class Done(Generic[J]):
    """A job that is done.

    Attributes
    ----------
    job : Job
    remarks : (m,) int32 ndarray
        `Remark` of each graph, without `Remark.NEGATIVE`.
    form : Form
        What it was done by.
    kernel_seconds : float
        From the start of the first kernel to the end of the last.
    """

    job: J
    remarks: np.ndarray
    form: Form
    kernel_seconds: float


class Pipeline:
    """Runs jobs on a device, of which several are under way at once.

    A slot is a queue with buffers for a group of graphs: their weights come, distances are
    computed and go back in its order, while other slots do the same. A device that shares the
    memory of the host has one slot, and works on the arrays of the caller.

    Source: D. Takafuji's thesis, 2020, section 3.5 (the "low-latency implementation"), with a
    group of graphs in the place of one.

    Parameters
    ----------
    make : callable
        ``make(negative)`` builds the form.
    n : int
        Vertices of each graph, at least 1.
    options : Options
        Device, dtype and memory limit.
    graphs : int
        How many there are, at least 1.
    group : int, optional
        Graphs of a job; chosen where None.
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
        If one graph in one slot is too much.
    """

    def __init__(
        self,
        make: Callable[[bool], Form],
        n: int,
        options: Options,
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
        self._slots = (1 if self._shared else _SLOTS) if slots is None else slots
        value = n * n * options.dtype.itemsize
        usual = (_SHARED if self._shared else _PINNED if pinned else _STAGED) // value
        usual = max(usual, capabilities.compute_units * _BUSY**2 // n**2, min(8, _MOST // value), 1)
        self.group = min(usual if group is None else group, graphs, self.form.most)
        self._slots = min(self._slots, -(-graphs // self.group))
        while not self._fits():
            # fewer graphs at a time, then fewer of these at once
            if self.group > 1:
                self.group = -(-self.group // 2)
            elif self._slots > 1:
                self._slots -= 1
            else:
                check_memory(self._sizes(), options)
        self.device_bytes = self._slots * sum(self._sizes())

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
        return self._slots * sum(sizes) <= available and max(sizes) <= largest

    def __enter__(self) -> Pipeline:
        """Make the slots, to be kept from run to run; a run on its own makes and frees them."""
        kind = Sharing if self._shared else Moving
        try:
            with device_errors(self._options.device, self.device_bytes):
                for _ in range(self._slots):
                    self._made.append(kind(self._options, self._n, self.group, self._search))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """Free the slots."""
        with device_errors(self._options.device, self.device_bytes), ExitStack() as stack:
            # each of them, whatever becomes of the others
            while self._made:
                stack.callback(self._made.pop().release)

    def run(self, jobs: Iterable[J]) -> Iterator[Done[J]]:
        """Run jobs of at most `group` graphs, and yield each, in order, when it is done.

        Raises
        ------
        DeviceError
            If the device failed, or groups of it waited for each other in vain.
        """
        if not self._made:
            with self:
                yield from self.run(jobs)
            return
        free, under_way = deque(self._made), deque[_Started[J]]()

        def oldest() -> Done[J]:
            done = self._finished(under_way[0])
            free.append(under_way.popleft().slot)
            return done

        with device_errors(self._options.device, self.device_bytes):
            try:
                for job in jobs:
                    if not free:
                        yield oldest()
                    under_way.append(self._start(free.popleft(), job, job.weights()))
                while under_way:
                    yield oldest()
            finally:
                for slot in self._made:
                    slot.wait()

    def _start(self, slot: Slot, job: J, weights: np.ndarray) -> _Started[J]:
        if self._negative not in self._forms:
            self._forms[self._negative] = self._make(self._negative)
        form = self._forms[self._negative]
        answers = (job.distances,) if job.before is None else (job.distances, job.before)
        slot.start(form, weights, answers, zero_is_arc=job.zero_is_arc)
        return _Started(slot, job, weights, form)

    def _finished(self, started: _Started[J]) -> Done[J]:
        """Finish a job, and run it again if it has negative weights where none were expected."""
        slot, job, form = started.slot, started.job, started.form
        remarks, seconds = slot.finish()
        if form is self.form and (remarks & Remark.NEGATIVE).any():
            # the graphs after these may have some as well
            self._negative = True
            return self._finished(self._start(slot, job, started.weights))
        return Done(job, remarks & ~Remark.NEGATIVE, form, seconds)


@dataclass(frozen=True)
class _Started(Generic[J]):
    """A job under way."""

    slot: Slot
    job: J
    weights: np.ndarray
    form: Form
