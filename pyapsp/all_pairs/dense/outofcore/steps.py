"""Steps of a device on a matrix in host memory: a part is uploaded, computed and downloaded.

A *step* copies a part of the matrix into a slot, computes on it, and copies it back. A slot is a
device buffer. There are several slots and queues: while one step computes, the next is
uploaded and the previous one is downloaded. A device with memory of its own copies from and to the
matrix itself if its rows are pinned. Those of a file are not: a part of them goes through pinned
memory of some threads, in pieces, so that copies of the host and of the bus overlap.

Transfers overlap with kernels on devices with memory of their own. A CPU device has one slot,
because copies beside kernels only use the time of its cores. Two kinds of copies are not used:
blocking copies, because one driver stops other threads meanwhile; and copies of rectangles, because
in another driver they take 50 times as long as a kernel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock
from typing import TypeAlias

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.outofcore.part import Part
from pyapsp.all_pairs.dense.outofcore.pinning import PinnedRows
from pyapsp.all_pairs.dense.outofcore.shape import Shape
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.device import Device
from pyapsp.device.kernels.mapped import map_buffer, pinned
from pyapsp.numbers.precision import infinity

__all__ = ["Compute", "Step", "Steps"]

# Bytes of pinned memory that a thread copies at once, and the threads of each direction.
_PIECE, _PIECES = 2**24, 6

#: Enqueues the kernels of a step on the buffer of a slot, and returns their events.
Compute: TypeAlias = Callable[[cl.Buffer], list[cl.Event]]


@dataclass(frozen=True)
class Step:
    """What to bring, what to compute, what to take back."""

    # None: the slot is filled with infinity if something is taken back by minimum.
    bring: Part | None
    compute: Compute
    take: Part | None
    minimum: bool = False  # the matrix is replaced by the minimum of it and what is taken back
    finished: Callable[[], None] | None = None  # called when the matrix has it
    turn: int = 0  # the queue for the kernels


class Steps:
    """What runs steps: the slots of a device, and its queues.

    Parameters
    ----------
    device : Device
    matrix : Matrix
    shape : Shape
        How many slots there are, and what each of them holds.
    pinned : PinnedRows or None
        The rows of the matrix, if the device copies them itself.

    Attributes
    ----------
    queues : tuple of pyopencl.CommandQueue
        For the kernels of steps.
    moved : int
        Bytes that came and went.
    """

    def __init__(
        self, device: Device, matrix: Matrix, shape: Shape, pinned: PinnedRows | None = None
    ) -> None:
        self.device, self.matrix, self.pinned = device, matrix, pinned
        self.up, self.down, *queues = (device.queue() for _ in range(2 + shape.queues))
        self.queues: tuple[cl.CommandQueue, ...] = tuple(queues)
        self.item = matrix.dtype.itemsize
        self.infinity = np.array(infinity(matrix.dtype), matrix.dtype)
        self.moved = 0
        self.staging: list[_Staging] = []
        self._slots: list[_Slot] = []
        with ExitStack() as stack:
            if pinned is None and not device.capabilities.unified_memory:
                for queue in (self.up, self.down):
                    self.staging.append(_Staging(queue, matrix, shape))
                    stack.callback(self.staging[-1].release)
            for _ in range(shape.slots):
                self._slots.append(_Slot(self, shape.slot))
                stack.callback(self._slots[-1].release)
            self._stack = stack.pop_all()
        self._loader, self._saver = ThreadPoolExecutor(1), ThreadPoolExecutor(1)

    def close(self) -> None:
        """End the threads and release the slots, each of them, whatever becomes of the others."""
        self._loader.shutdown()
        self._saver.shutdown()
        self._slots.clear()
        self._stack.close()

    @property
    def slot(self) -> cl.Buffer:
        """A slot, for use while no steps run."""
        return self._slots[0].buffer

    def run(self, steps: Iterable[Step]) -> None:
        """Run steps: each is brought while the one before is computed and those before go out."""
        if len(self._slots) == 1:
            [slot] = self._slots
            for step in steps:
                slot.save(step, self._enqueue(step, slot, slot.load(step)))
            return
        free = deque(self._slots)
        coming: deque[tuple[Step, _Slot, Future[cl.Event | None]]] = deque()
        going: deque[tuple[_Slot, Future[None]]] = deque()

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
        queue = self.queues[step.turn]
        if brought is not None:
            cl.enqueue_barrier(queue, wait_for=[brought])
        computed = step.compute(slot.buffer)[-1]
        queue.flush()
        return computed


class _Slot:
    """A device buffer for a part of the matrix, and the way there and back."""

    def __init__(self, steps: Steps, values: int) -> None:
        self._steps = steps
        self.buffer = cl.Buffer(steps.device.context, cl.mem_flags.READ_WRITE, values * steps.item)

    def release(self) -> None:
        self.buffer.release()

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
        if steps.pinned is not None:
            return steps.pinned.bring(steps.up, part, self.buffer)
        if steps.staging:
            return steps.staging[0].bring(part, self.buffer)
        access = cl.map_flags.WRITE_INVALIDATE_REGION
        memory, unmap = map_buffer(steps.up, self.buffer, access, part.values, dtype)
        try:
            _read(steps.matrix, part, part.shaped(memory))
        finally:
            event = unmap()
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
            if steps.pinned is not None:
                steps.pinned.take(steps.down, part, self.buffer, [computed]).wait()
            elif steps.staging:
                steps.staging[1].take(part, self.buffer, computed, put)
            else:
                # one driver waits in the mapping on a core that the kernels need
                computed.wait()
                dtype, read = steps.matrix.dtype, cl.map_flags.READ
                memory, unmap = map_buffer(steps.down, self.buffer, read, part.values, dtype)
                try:
                    put(part.first, part.last, part.shaped(memory), slice(part.low, part.high))
                finally:
                    unmap().wait()
        if step.finished is not None:
            step.finished()


class _Staging:
    """Pinned host memory for one direction: each of some threads copies a piece of a part."""

    def __init__(self, queue: cl.CommandQueue, matrix: Matrix, shape: Shape) -> None:
        self._queue, self._matrix = queue, matrix
        # at least a row
        values = max(_PIECE // matrix.dtype.itemsize, shape.columns, shape.block)
        self._values = min(values, shape.slot)
        count = min(-(-shape.slot // self._values), _PIECES)
        self._pool = ThreadPoolExecutor(count)
        # a driver for CPUs crashes now and then if two threads enqueue copies to a queue at once
        self._lock = Lock()
        # with the copy that may still read it
        self._pieces = SimpleQueue[tuple[np.ndarray, cl.Event | None]]()
        self._free: list[Callable[[], None]] = []
        for _ in range(count):
            memory, free = pinned(queue, self._values, matrix.dtype)
            self._pieces.put((memory, None))
            self._free.append(free)

    def release(self) -> None:
        self._pool.shutdown()
        with ExitStack() as stack:
            for free in self._free:
                stack.callback(free)

    def bring(self, part: Part, buffer: cl.Buffer) -> cl.Event:
        """Copy a part of the matrix into a slot, and return the event of the last command."""

        def copy(place: int, piece: Part) -> None:
            memory, copied = self._pieces.get()
            try:
                if copied is not None:
                    copied.wait()
                _read(self._matrix, piece, piece.shaped(memory))
                values = memory[: piece.values]
                with self._lock:
                    copied = cl.enqueue_copy(
                        self._queue, buffer, values, dst_offset=place, is_blocking=False
                    )
                    self._queue.flush()
            finally:  # after an error others still wait for it
                self._pieces.put((memory, copied))

        self._all(copy, part)
        event: cl.Event = cl.enqueue_marker(self._queue)
        self._queue.flush()
        return event

    def take(
        self, part: Part, buffer: cl.Buffer, computed: cl.Event, put: Callable[..., None]
    ) -> None:
        """Copy a part from its slot into the matrix."""

        def copy(place: int, piece: Part) -> None:
            memory, _ = self._pieces.get()
            try:
                values = memory[: piece.values]
                with self._lock:
                    # a copy that blocks would keep other threads out of the driver
                    copied = cl.enqueue_copy(
                        self._queue, values, buffer, src_offset=place, is_blocking=False
                    )
                    self._queue.flush()
                copied.wait()
                columns = slice(piece.low, piece.high)
                put(piece.first, piece.last, piece.shaped(memory), columns)
            finally:
                self._pieces.put((memory, None))

        computed.wait()
        self._all(copy, part)

    def _all(self, copy: Callable[[int, Part], None], part: Part) -> None:
        """Copy the pieces of a part, each with its place in the slot in bytes."""
        lines, row = self._values // part.width, part.width * self._matrix.dtype.itemsize
        copies = [
            self._pool.submit(copy, low * row, part.piece(low, min(low + lines, part.height)))
            for low in range(0, part.height, lines)
        ]
        wait(copies)
        for each in copies:
            each.result()


def _read(matrix: Matrix, part: Part, memory: np.ndarray) -> None:
    """Copy a part of the matrix, padded with infinity."""
    height, width = part.last - part.first, part.high - part.low
    matrix.read(part.first, part.last, memory, slice(part.low, part.high))
    padding = infinity(matrix.dtype)
    memory[height:] = padding
    memory[:height, width:] = padding
