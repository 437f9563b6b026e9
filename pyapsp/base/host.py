"""Memory of the host: its size, parallel copies, and memory-mapped files."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.base.errors import HostMemoryError
from pyapsp.base.files import disk_space

__all__ = [
    "aligned",
    "as_type",
    "available_memory",
    "copy",
    "cores",
    "flush",
    "installed_memory",
    "is_aligned",
    "mapped_file",
    "reserve",
    "share",
    "shares_memory",
    "threads",
]

# Bytes of a copy for each thread, and the largest number of threads. Several cores copy faster than
# one, because one core does not use the full bandwidth, and page faults of new memory are slow.
_SHARE, _THREADS = 2**22, 16
# Errors of file systems that cannot reserve space, and bytes of zeros to write at once instead.
_CANNOT_RESERVE, _ZEROS = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP), 2**24
# The largest vector type of OpenCL has 16 values of 8 bytes, and a buffer is aligned to it.
_ALIGNED = 128
# The system is asked for its available memory before an array of this part of all memory is made.
_LARGE_PART = 16
_NO_ROOM = "ask for fewer rows, for blocks of rows, or for a narrower dtype"
_MORE_ROOM = "make room for the file of the matrix"


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int | None:
    """Return the bytes of available host memory; None if the system does not report them."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return 1024 * int(found[0]) if found else None


@cache
def installed_memory() -> int | None:
    """Return the bytes of host memory, in use or not; None if the system does not report them."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def aligned(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return a new array, not initialised, whose memory a CPU device can use as a buffer.

    Raises
    ------
    HostMemoryError
        If the host cannot hold it.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = _memory(size + _ALIGNED)
    start = -memory.__array_interface__["data"][0] % _ALIGNED  # `ctypes` makes an object for it
    return memory[start : start + size].view(dtype).reshape(shape)


def _memory(size: int) -> np.ndarray:
    """Return new bytes. The system may promise more than there is, and end the process later."""
    installed = installed_memory()
    if installed is not None and size > installed // _LARGE_PART:
        available = available_memory()
        if available is not None and size > available:
            raise HostMemoryError(size, _NO_ROOM)
    try:
        return np.empty(size, np.uint8)
    except MemoryError:
        raise HostMemoryError(size, _NO_ROOM) from None


def is_aligned(array: np.ndarray) -> bool:
    """Return whether a CPU device can use the memory of an array as a buffer, in vectors too."""
    return array.flags.c_contiguous and array.ctypes.data % _ALIGNED == 0


def copy(target: np.ndarray, source: np.ndarray) -> None:
    """Copy an array into another of the same shape; several cores copy a large array."""

    def part(first: int, last: int) -> None:
        np.copyto(target[first:last], source[first:last])

    share(part, len(target), target.nbytes)


def as_type(array: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Return an array in a type that holds its values; several cores convert a large array."""
    if array.dtype == dtype:
        return array
    if array.nbytes < _SHARE:
        return array.astype(dtype)
    found = np.empty(array.shape, dtype)

    def part(first: int, last: int) -> None:
        np.copyto(found[first:last], array[first:last], casting="unsafe")

    share(part, len(array), found.nbytes)
    return found


def share(work: Callable[[int, int], None], count: int, size: int) -> None:
    """Call ``work(first, last)`` for ranges of `count` rows, in several threads if they are large.

    Parameters
    ----------
    work : callable
    count : int
        Number of rows.
    size : int
        Bytes of all rows.
    """
    several = parts(size)
    if several == 1:
        work(0, count)
        return
    each = max(-(-count // several), 1)
    starts = range(each, count, each)
    done = [threads().submit(work, start, min(start + each, count)) for start in starts]
    try:
        work(0, min(each, count))
    finally:
        wait(done)
    for other in done:
        other.result()


def parts(size: int) -> int:
    """Return the number of threads in which `share` works on rows of so many bytes."""
    several = min(size // _SHARE, _THREADS)
    # the number of cores is asked of the system
    return min(several, cores()) if several > 1 else 1


def threads() -> ThreadPoolExecutor:
    """Return the threads for copies; a task must not wait for another."""
    return _threads(os.getpid())


@cache
def _threads(process: int) -> ThreadPoolExecutor:
    """Return the threads of a process; one that was forked has none of its parent's."""
    return ThreadPoolExecutor(min(cores(), _THREADS), "pyapsp-copy")


def mapped_file(path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> np.ndarray:
    """Create a NumPy file, reserve its space on the disk, and map it into memory.

    On a full disk, a write to a mapping without reserved space would end the process by a signal.

    Parameters
    ----------
    path : Path
        An existing file is replaced; what is mapped of the old file does not change. After an
        error the file is removed.
    dtype : dtype-like
    shape : tuple of int

    Returns
    -------
    numpy.memmap
        It is filled with zeros.

    Raises
    ------
    DiskSpaceError
        If the disk is full.
    OSError
        If the file cannot be written.
    """
    needed = np.dtype(dtype).itemsize * math.prod(shape)
    with disk_space(path.parent, needed, _MORE_ROOM):
        try:
            path.unlink(missing_ok=True)
            array = np.lib.format.open_memmap(path, "w+", np.dtype(dtype), shape)
            try:
                if not _reserve(path, os.stat(path).st_size):
                    _rewrite(path)
            except BaseException:
                del array  # the space is released only when the file is not mapped
                raise
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return array


def reserve(array: np.ndarray) -> None:
    """Reserve the space of a memory-mapped file, if its file system supports that.

    Parameters
    ----------
    array : ndarray
        A memory map or a view of one. For other arrays, and for copy-on-write maps, nothing is
        done.

    Raises
    ------
    DiskSpaceError
        If the disk is full.
    """
    mapped = _owner(array)
    if not isinstance(mapped, np.memmap) or mapped.mode not in ("r+", "w+"):
        return
    path, needed = mapped.filename, mapped.offset + mapped.nbytes
    # do nothing if the file was moved or truncated after it was mapped
    if path and os.path.isfile(path) and os.stat(path).st_size >= needed:
        with disk_space(path, needed, _MORE_ROOM):
            _reserve(path, needed)


def shares_memory(source: object, array: np.ndarray) -> bool:
    """Return whether a write to an array may change something.

    Parameters
    ----------
    source : object
        An array, or an object with arrays as attributes, for instance a sparse array of SciPy.
        Files that are mapped are memory.
    array : ndarray
    """
    parts = [source, *getattr(source, "__dict__", {}).values()]
    return any(_overlap(part, array) for part in parts if isinstance(part, np.ndarray))


def _overlap(first: np.ndarray, second: np.ndarray) -> bool:
    one, other = _file(first), _file(second)
    if one is None or other is None:
        return np.may_share_memory(first, second)
    return os.path.samefile(one, other)


def _file(array: np.ndarray) -> str | None:
    """Return the file that an array is mapped from, if there is one."""
    owner = _owner(array)
    path = owner.filename if isinstance(owner, np.memmap) else None
    return path if path and os.path.exists(path) else None


def _owner(array: np.ndarray) -> np.ndarray:
    """Return the array that has the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _reserve(path: str | os.PathLike[str], size: int) -> bool:
    """Reserve the space of the first bytes of a file; return whether the system supports it."""
    if not hasattr(os, "posix_fallocate"):
        return False
    with open(path, "r+b", buffering=0) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            if error.errno not in _CANNOT_RESERVE:
                raise
            return False
    return True


def _rewrite(path: Path) -> None:
    """Write the content of a file again, so that its holes become zeros on the disk."""
    with open(path, "r+b", buffering=0) as file:
        content = file.read(_ZEROS)
        while content:
            file.seek(-len(content), os.SEEK_CUR)
            file.write(content)
            content = file.read(_ZEROS)


def flush(*arrays: np.ndarray | None) -> None:
    """Write the memory maps among the arrays to disk, so that their pages can be released."""
    for array in arrays:
        if isinstance(array, np.memmap):
            array.flush()
