"""Steps of a device on a matrix in host memory: a part is uploaded, computed and downloaded.

A *step* copies a part of the matrix into a slot, computes on it, and copies it back. A slot is a
device buffer; if the device has its own memory, there is also a staging buffer on the host. There
are several slots and three queues: while one step computes, the next is uploaded and the previous
one is downloaded.

Transfers overlap with kernels on devices with memory of their own. A CPU device has one slot,
because copies beside kernels only use the time of its cores. Two kinds of copies are not used:
blocking copies, because one driver stops other threads meanwhile; and copies of rectangles, because
in another driver they take 50 times as long as a kernel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyopencl as cl

from pyapsp.dense.outofcore.storage import Matrix
from pyapsp.dense.product import Rectangle
from pyapsp.device import Device
from pyapsp.kernels.mapped import map_buffer, pinned
from pyapsp.precision import infinity

__all__ = ["Compute", "Part", "Step", "Steps"]

#: Enqueues the kernels of a step on the buffer of a slot, and returns their events.
Compute: TypeAlias = Callable[[cl.Buffer], list[cl.Event]]


@dataclass(frozen=True)
class Part:
    """A rectangle of the matrix: rows first to last - 1, columns low to high - 1.

    It lies row-major in a slot, padded with infinity to `height` rows of `width` values.
    """

    first: int
    last: int
    low: int
    high: int
    height: int
    width: int

    @property
    def values(self) -> int:
        """Values that it takes in a slot."""
        return self.height * self.width

    def shaped(self, memory: np.ndarray) -> np.ndarray:
        """Return the begin of some memory as rows and columns."""
        return memory[: self.values].reshape(self.height, self.width)

    def on(self, block: cl.Buffer) -> Rectangle:
        """Return the part as it lies in a slot."""
        return Rectangle(block, self.width, self.height, self.width)


@dataclass(frozen=True)
class Step:
    """What to bring, what to compute, what to take back.

    Attributes
    ----------
    bring : Part or None
        None: the slot is filled with infinity if something is taken back by minimum.
    compute : Compute
    take : Part or None
    minimum : bool
        The matrix is replaced by the minimum of it and what is taken back.
    finished : callable or None
        Called when the matrix has it.
    """

    bring: Part | None
    compute: Compute
    take: Part | None
    minimum: bool = False
    finished: Callable[[], None] | None = None


class Steps:
    """What runs steps: the slots of a device, and its queues.

    Parameters
    ----------
    device : Device
    matrix : Matrix
    slots : int
        How many there are.
    values : int
        What each of them holds.

    Attributes
    ----------
    queue : pyopencl.CommandQueue
        For the kernels of a step.
    moved : int
        Bytes that came and went.
    """

    def __init__(self, device: Device, matrix: Matrix, slots: int, values: int) -> None:
        self.device, self.matrix = device, matrix
        self.queue, self.up, self.down = (device.queue() for _ in range(3))
        self.item = matrix.dtype.itemsize
        self.infinity = np.array(infinity(matrix.dtype), matrix.dtype)
        self.moved = 0
        self._slots = [_Slot(self, values) for _ in range(slots)]
        self._loader, self._saver = ThreadPoolExecutor(1), ThreadPoolExecutor(1)

    def close(self) -> None:
        """End the threads and release the slots, each of them, whatever becomes of the others."""
        self._loader.shutdown()
        self._saver.shutdown()
        slots, self._slots = self._slots, []
        with ExitStack() as stack:
            for slot in slots:
                stack.callback(slot.release)

    def run(self, steps: Iterable[Step]) -> None:
        """Run steps: each is brought while the one before is computed and those before go out."""
        if len(self._slots) == 1:
            [slot] = self._slots
            for step in steps:
                slot.save(step, self._enqueue(step, slot, slot.load(step)))
            return
        free = deque(self._slots)
        coming: deque[tuple[Step, _Slot, Future[Any]]] = deque()
        going: deque[tuple[_Slot, Future[Any]]] = deque()

        def compute() -> None:
            step, slot, brought = coming.popleft()
            computed = self._enqueue(step, slot, brought.result())
            going.append((slot, self._saver.submit(slot.save, step, computed)))

        try:
            for step in steps:
                if not free:
                    slot, taken = going.popleft()
                    taken.result()
                    free.append(slot)
                slot = free.popleft()
                coming.append((step, slot, self._loader.submit(slot.load, step)))
                if len(coming) > 1:
                    compute()
            while coming:
                compute()
        finally:
            # nothing may use the slots any more, after an error neither
            failures = [future for _, future in going if future.exception() is not None]
            for _, _, future in coming:
                future.exception()
        for failure in failures:
            failure.result()

    def _enqueue(self, step: Step, slot: _Slot, brought: cl.Event | None) -> cl.Event:
        """Enqueue the kernels of a step, and return the event of the last one."""
        if brought is not None:
            cl.enqueue_barrier(self.queue, wait_for=[brought])
        computed = step.compute(slot.buffer)[-1]
        self.queue.flush()
        return computed


class _Slot:
    """A device buffer for a part of the matrix, and the way there and back."""

    def __init__(self, steps: Steps, values: int) -> None:
        self._steps = steps
        self.buffer = cl.Buffer(steps.device.context, cl.mem_flags.READ_WRITE, values * steps.item)
        self._staging: np.ndarray | None = None
        if not steps.device.capabilities.unified_memory:
            dtype = steps.matrix.dtype
            self._staging, self._free_staging = pinned(steps.queue, values, dtype)

    def release(self) -> None:
        self.buffer.release()
        if self._staging is not None:
            self._free_staging()

    def load(self, step: Step) -> cl.Event | None:
        """Bring what a step asks for, and return the event of its last command."""
        steps, part = self._steps, step.bring
        if part is None:
            if not step.minimum:
                return None
            assert step.take is not None
            count = step.take.values * steps.item
            event: cl.Event = cl.enqueue_fill_buffer(
                steps.up, self.buffer, steps.infinity, 0, count
            )
            steps.up.flush()
            return event
        dtype = steps.matrix.dtype
        steps.moved += part.values * steps.item
        if self._staging is None:
            access = cl.map_flags.WRITE_INVALIDATE_REGION
            memory, unmap = map_buffer(steps.up, self.buffer, access, part.values, dtype)
            try:
                self._read(part, part.shaped(memory))
            finally:
                event = unmap()
        else:
            memory = part.shaped(self._staging)
            self._read(part, memory)
            event = cl.enqueue_copy(steps.up, self.buffer, memory, is_blocking=False)
        steps.up.flush()
        return event

    def save(self, step: Step, computed: cl.Event) -> None:
        """Wait for the kernels of a step, and take its part back into the matrix."""
        steps, part = self._steps, step.take
        if part is None:
            computed.wait()
        else:
            steps.moved += part.values * steps.item
            put = steps.matrix.minimum if step.minimum else steps.matrix.write
            place = (part.first, part.last)
            columns = slice(part.low, part.high)
            if self._staging is None:
                dtype, read = steps.matrix.dtype, cl.map_flags.READ
                memory, unmap = map_buffer(
                    steps.down, self.buffer, read, part.values, dtype, [computed]
                )
                try:
                    put(*place, part.shaped(memory), columns)
                finally:
                    unmap().wait()
            else:
                memory = part.shaped(self._staging)
                # a copy that blocks would keep other threads out of the driver
                copied = cl.enqueue_copy(
                    steps.down, memory, self.buffer, wait_for=[computed], is_blocking=False
                )
                steps.down.flush()
                copied.wait()
                put(*place, memory, columns)
        if step.finished is not None:
            step.finished()

    def _read(self, part: Part, memory: np.ndarray) -> None:
        height, width = part.last - part.first, part.high - part.low
        self._steps.matrix.read(part.first, part.last, memory, slice(part.low, part.high))
        memory[height:] = self._steps.infinity
        memory[:height, width:] = self._steps.infinity
