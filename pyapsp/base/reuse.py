"""Memory of large answers and of large buffers of CPUs that nobody uses any more, for later ones.

The system clears each page of new memory at its first use. For the answer of a fast search this
takes longer than the search. So when the last array in the memory of a large answer is gone, its
memory is kept, and the next answer of nearly the same size gets it::

    empty() --> array, views of it --> the last one is deleted --> kept --> empty()

A program that solves one graph after the other so uses the memory of one or two answers. Memory in
use for the third time is also pinned, if the answer comes from a device with memory of its own: the
device then writes the rows itself. To pin memory takes as long as a copy through pinned pieces
(`pyapsp.device.kernels.staging`), so that it does not pay for a single answer. Measured on a host
with a link of 55 GB/s, for 64 MiB: pages cleared and written by 16 threads 2.4 ms, written again
1.5 ms, pinned 2.1 ms, written by the device 1.2 ms.

An array beside a mapped file is mapped from a file, too (`empty_beside`).
"""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable, Hashable
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.base.host import aligned, available_memory, mapped_file

__all__ = ["empty", "empty_beside", "is_new", "pinned"]

# The C library uses the memory of smaller arrays again, but does not pin it.
_LARGE = 2**20
# At most this many bytes are kept, and at most the available memory of the host divided by _PART.
# The memory that has been unused for the longest time is released first.
_KEPT, _PART = 2**30, 16
# Seconds after which the system is asked again: the question takes as long as a small answer.
_ASKED = 1
# Kept memory is at most this many times as large as an answer that gets it.
_SLACK = 1.25
# Memory is pinned from this use on.
_PINNED = 3


_Context = TypeVar("_Context", bound=Hashable)


class _Memory:
    """Memory for one answer after the other.

    Attributes
    ----------
    bytes : (size,) uint8 ndarray
    uses : int
        Number of answers so far.
    pins : dict
        For each context of OpenCL, what ends the pinning; None if the driver does not pin it.
    """

    def __init__(self, size: int) -> None:
        self.bytes, self.uses = aligned((size,), np.uint8), 0
        self.pins: dict[Hashable, Callable[[], None] | None] = {}


class _Use:
    """One use of memory: the base of its arrays, which lives as long as one of them."""

    def __init__(self, memory: _Memory) -> None:
        self.memory, self.__array_interface__ = memory, memory.bytes.__array_interface__


# Unused memory, by its id, in the order in which it became unused. Single operations of a dict need
# no lock, which an answer that the garbage collector deletes in the same thread could not take.
_unused: dict[int, _Memory] = {}


def empty(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return an array for an answer, not initialised, which a CPU device can use as a buffer.

    Raises
    ------
    HostMemoryError
        If the host cannot hold it.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < _LARGE:
        return aligned(shape, dtype)
    memory = _unused_of(size) or _Memory(size)
    memory.uses += 1
    use = _Use(memory)
    weakref.finalize(use, _keep, memory).atexit = False
    return np.asarray(use)[:size].view(dtype).reshape(shape)


def empty_beside(array: np.ndarray, name: str, dtype: DTypeLike) -> np.ndarray:
    """Return an array like another, not initialised: in memory, or in a file beside a memory map.

    Parameters
    ----------
    array : ndarray
    name : str
        Part of the name of the new file: ``FILE.NAME.npy`` for a memory map of FILE.
    dtype : dtype-like

    Raises
    ------
    DiskSpaceError
        If the disk is too small for the file.
    """
    file = getattr(array, "filename", None)
    if file is None or array.size == 0:  # an empty file cannot be mapped
        return empty(array.shape, dtype)
    path = Path(file)
    path = path.with_name(f"{path.name}.{name}.npy")
    return mapped_file(path, dtype, array.shape)


def is_new(array: np.ndarray) -> bool:
    """Return whether no earlier answer was in the memory of an array."""
    memory = _memory_of(array)
    return memory is None or memory.uses == 1


def pinned(
    array: np.ndarray, context: _Context, pin: Callable[[_Context, np.ndarray], Callable[[], None]]
) -> bool:
    """Return whether a device can write an array of `empty` itself; pin its memory if it pays.

    Parameters
    ----------
    array : ndarray
        Or a view of one.
    context : pyopencl.Context
    pin : callable
        `pyapsp.device.kernels.mapped.pin`.

    Raises
    ------
    pyopencl.Error
        If the driver does not pin it. Later calls return False.
    """
    memory = _memory_of(array)
    if memory is None or memory.uses < _PINNED:
        return False
    if context not in memory.pins:
        memory.pins[context] = None
        memory.pins[context] = pin(context, memory.bytes)
    return memory.pins[context] is not None


def _unused_of(size: int) -> _Memory | None:
    """Take unused memory for an answer of this size, that which was used last."""
    for key, memory in reversed(list(_unused.items())):
        if size <= memory.bytes.size <= _SLACK * size and _unused.pop(key, None) is not None:
            return memory
    return None


def _keep(memory: _Memory) -> None:
    """Keep memory that nobody uses any more, and release what is too much."""
    most = _most(int(time.monotonic() / _ASKED))
    if memory.bytes.size > most:  # it must not take the place of others
        return
    _unused[id(memory)] = memory
    while sum(each.bytes.size for each in list(_unused.values())) > most:
        _unused.pop(next(iter(list(_unused)), 0), None)


@lru_cache(1)
def _most(period: int) -> int:
    """Return the bytes that may be kept, by the memory that is available in a period of time."""
    available = available_memory()
    return _KEPT if available is None else min(_KEPT, available // _PART)


def _memory_of(array: np.ndarray) -> _Memory | None:
    base: np.ndarray | _Use | None = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base.memory if isinstance(base, _Use) else None
