"""Memory that stays on a device from one call to the next: arrays of graphs, and scratch memory.

The arrays of a `Graph` never change. So the buffer with a copy of one is used again by `upload`,
until the array is deleted or the memory is needed.

Only arrays whose memory cannot be written through any other array qualify: a graph that shares the
memory of its caller's arrays is copied in each call.

The buffers of a device take at most the part `_PART` of its memory, or the megabytes in
`PYAPSP_RESIDENT`; the one that has been unused for the longest time is released first. Buffers of
arrays that are pinned (`Residents.pin`) are released only when a run needs the memory.

To allocate and to free the buffers of a search takes a driver 0.5 to 1 ms, as long as a search of a
million vertices. So buffers of `scratch` go back to a pool, which is released after a run that used
more than the budget. The memory of an answer that stays is used again by a later answer of the same
size, within the budget, too.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, TypeVar, cast

import numpy as np
import pyopencl as cl
from pyopencl.tools import ImmediateAllocator, MemoryPool

from pyapsp.base.errors import DeviceMemoryError, ParameterError
from pyapsp.device.failures import clear_locals
from pyapsp.device.model import Device

__all__ = ["Residents", "lent", "release_all", "released_for", "residents", "scratch", "scratches"]

_Answer = TypeVar("_Answer")

# The default budget is the memory of the device divided by this.
_PART = 4
# Smaller arrays are copied in less time than a kernel takes to start.
_LEAST = 2**14
# The largest buffer of the pool, which rounds sizes up by as much as a sixteenth.
_POOLED = 2**28
_VARIABLE = "PYAPSP_RESIDENT"


class _Resident(NamedTuple):
    """A buffer with the values of an array."""

    array: weakref.ref[np.ndarray]
    buffer: cl.Buffer
    bytes: int  # each call asks for it, and not the driver


class Residents:
    """The arrays that stay on a device.

    Parameters
    ----------
    context : pyopencl.Context
        Of one device.
    """

    def __init__(self, context: cl.Context) -> None:
        self._memory = int(context.devices[0].global_mem_size)
        # the allocator lets the driver allocate at once, by a command
        self._queue = cl.CommandQueue(context)
        self._pool = MemoryPool(ImmediateAllocator(self._queue))
        # of answers that were deleted, by their size
        self._spare: dict[int, list[cl.Buffer]] = {}
        # in the order of their last use, by the address of the array and the type of the buffer
        self._kept: dict[tuple[int, str], _Resident] = {}
        self._pins: Counter[int] = Counter()
        self._lock = threading.Lock()
        # arrays to unpin: the garbage collector may call `unpin` in a thread that has the lock
        self._unpinned: deque[Iterable[np.ndarray]] = deque()

    @property
    def budget(self) -> int:
        """The bytes of arrays that are not pinned, and of the pool, at most.

        Raises
        ------
        ParameterError
            If the variable `PYAPSP_RESIDENT` is not a number of megabytes.
        """
        text = os.environ.get(_VARIABLE)
        if text is None:
            return self._memory // _PART
        if not text.isdecimal():
            raise ParameterError.of(_VARIABLE, "the environment", "a number of megabytes", text)
        return int(text) * 2**20

    def scratch(self, size: int) -> cl.Buffer:
        """Return a buffer of at least so many bytes, which goes back to the pool when deleted.

        Then no command may be using it. Its content is undefined.
        """
        before = self._pool.managed_bytes
        buffer = cast(cl.Buffer, self._pool.allocate(size))
        if self._pool.managed_bytes != before:
            self._queue.finish()  # the command leaves the content undefined
        return buffer

    def take(self, size: int) -> cl.Buffer:
        """Return a buffer of so many bytes for an answer; its content is undefined."""
        with suppress(KeyError, IndexError):
            return self._spare[size].pop()
        return cl.Buffer(self._queue.context, cl.mem_flags.READ_WRITE, size)

    def give(self, buffer: cl.Buffer) -> None:
        """Keep a buffer of `take` for a later answer; no command may be using it.

        The garbage collector may call this in a thread that has the lock.
        """
        self._spare.setdefault(buffer.size, []).append(buffer)
        if self._spare_bytes > self.budget:
            self._spare.clear()

    @property
    def _spare_bytes(self) -> int:
        return sum(size * len(some) for size, some in list(self._spare.items()))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Take the lock, and unpin what waits for it."""
        with self._lock:
            if self._unpinned:
                while self._unpinned:
                    self._pins.subtract(map(id, self._unpinned.popleft()))
                self._pins = +self._pins  # without those that are 0
                self._release(self.budget, pinned=False)
            yield

    def find(self, array: np.ndarray, dtype: np.dtype) -> cl.Buffer | None:
        """Return the buffer with the values of an array in a type, if there is one."""
        key = id(array), dtype.str
        with self._lock:
            found = self._kept.pop(key, None)
            if found is None or found.array() is not array:
                return None
            self._kept[key] = found
        return found.buffer

    def add(self, array: np.ndarray, dtype: np.dtype, buffer: cl.Buffer) -> None:
        """Keep a buffer that has the values of an array, if the array never changes.

        No kernel may write to the buffer.
        """
        size: int = buffer.size
        if size < _LEAST or not _is_constant(array):
            return
        budget, key, kept = self.budget, (id(array), dtype.str), self._kept
        if size > budget and id(array) not in self._pins:
            return

        def forget(_: weakref.ref[np.ndarray]) -> None:
            kept.pop(key, None)  # without the lock, which this thread may have

        with self._locked():
            kept[key] = _Resident(weakref.ref(array, forget), buffer, size)
            self._release(budget, pinned=False)

    @property
    def nbytes(self) -> int:
        """The bytes of the buffers of arrays, and of those that no run and no answer uses."""
        with self._locked():
            return self._bytes()

    def _bytes(self) -> int:
        arrays = sum(each.bytes for each in list(self._kept.values()))
        return arrays + self._spare_bytes + self._pool.managed_bytes - self._pool.active_bytes

    def shrink(self, most: int) -> int:
        """Release memory until at most so many bytes are left: what is unused, then arrays.

        Those arrays go first that have been unused for the longest time.

        Returns
        -------
        int
            The bytes that were released.
        """
        with self._locked():
            before = self._bytes()
            if before > most:
                self._free_unused()
            released = before - self._bytes()
            return released + self._release(most, pinned=True)

    def _free_unused(self) -> None:
        """Release the buffers that no run and no answer uses."""
        self._spare.clear()
        if self._pool.held_blocks:
            self._pool.free_held()

    def trim(self) -> None:
        """Release what is unused after a run, if that and the pool are larger than the budget."""
        if self._pool.managed_bytes + self._spare_bytes > self.budget:
            self._free_unused()

    def _release(self, most: int, *, pinned: bool) -> int:
        """Release buffers, or those that are not pinned; the caller has the lock."""
        some = [
            (key, each)
            for key, each in list(self._kept.items())
            if pinned or not self._pins[key[0]]
        ]
        count, released = sum(each.bytes for _, each in some), 0
        # those that are not pinned go first; the order of their last use stays
        for key, each in sorted(some, key=lambda item: item[0][0] in self._pins):
            if count - released <= most:
                break
            if self._kept.pop(key, None) is not None:
                released += each.bytes
        return released

    def bytes_of(self, arrays: Iterable[np.ndarray]) -> int:
        """Return the bytes of the buffers of some arrays."""
        wanted = {id(array) for array in arrays}
        with self._locked():
            kept = list(self._kept.items())
        return sum(each.bytes for key, each in kept if key[0] in wanted)

    def pin(self, arrays: Iterable[np.ndarray]) -> None:
        """Let the buffers of arrays stay beyond the budget; the caller keeps the arrays."""
        with self._locked():
            self._pins.update(map(id, arrays))

    def unpin(self, arrays: Iterable[np.ndarray]) -> None:
        """End the effect of `pin`, before anything else is done here."""
        self._unpinned.append(arrays)

    def remove(self, arrays: Iterable[np.ndarray]) -> None:
        """Release the buffers of arrays that nobody pins."""
        with self._locked():
            unwanted = {id(array) for array in arrays} - self._pins.keys()
            for key in list(self._kept):
                if key[0] in unwanted:
                    self._kept.pop(key, None)


def _is_constant(array: np.ndarray) -> bool:
    """Return whether the values of an array never change: no array with its memory is writeable."""
    each: object = array
    while isinstance(each, np.ndarray):
        if each.flags.writeable:
            return False
        if each.base is None:
            return True
        each = each.base
    return isinstance(each, bytes)


_all: dict[cl.Context, Residents] = {}
_making = threading.Lock()


def residents(context: cl.Context) -> Residents:
    """Return the arrays that stay on the device of a context."""
    found = _all.get(context)
    if found is None:
        with _making:
            found = _all.setdefault(context, Residents(context))
    return found


def scratch(device: Device, size: int) -> cl.Buffer:
    """Return a buffer for the duration of a run, as `Device.buffer`.

    Its size may be larger. No command may be using it when it is deleted.
    """
    return scratches(device, [size])[0]


def scratches(device: Device, sizes: Iterable[int]) -> list[cl.Buffer]:
    """Return buffers of these sizes, each as that of `scratch`."""
    most = _POOLED if _pools(device) else -1
    there = residents(device.context)
    return [there.scratch(size) if size <= most else device.buffer(size) for size in sizes]


def lent(device: Device, size: int, owner: object) -> tuple[cl.Buffer, Callable[[], object]]:
    """Return the memory of an answer that stays, which a later answer uses after its owner.

    Parameters
    ----------
    device : Device
    size : int
        Bytes; exactly so many.
    owner : object
        When it is deleted, no command may be using the memory.

    Returns
    -------
    buffer : pyopencl.Buffer
    leave : callable
        Ends this: the driver frees the memory when neither objects nor commands use it.
    """
    if not _pools(device) or size > _POOLED:
        # on a queue of the caller, the memory of a `Device.buffer` is not waited for
        return cl.Buffer(device.context, cl.mem_flags.READ_WRITE, size), lambda: None
    there = residents(device.context)
    buffer = there.take(size)
    returns = weakref.finalize(owner, there.give, buffer)
    returns.atexit = False
    return buffer, returns.detach


def _pools(device: Device) -> bool:
    """Return whether the driver takes long to allocate memory: a CPU has that of the host."""
    return not device.traits.scalar_groups


def release_all() -> int:
    """Release the buffers of all devices; return their bytes."""
    return sum(each.shrink(0) for each in list(_all.values()))


def released_for(run: Callable[[], _Answer]) -> _Answer:
    """Return what a run returns; if it gets no memory, release all buffers and repeat it.

    Other programs, or other devices of the run, may leave less memory than planned.

    Raises
    ------
    DeviceMemoryError
        There are no buffers to release, or the memory is not enough without them.
    """
    try:
        return run()
    except DeviceMemoryError as error:
        clear_locals(error)
        if not release_all():
            raise
        return run()
