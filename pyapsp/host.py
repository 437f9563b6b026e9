"""Memory of the host: how much there is, copies within it, and arrays that are files."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["available_memory", "copy", "cores", "empty_beside", "flush"]

# Bytes of a copy that are worth a thread, and the most threads: more than one core's worth of
# copying is what the memory can take, and first touches of new memory are slow on each.
_SHARE, _THREADS = 2**22, 8


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int | None:
    """Return the bytes that the host can give; None where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return 1024 * int(found[0]) if found else None


def copy(target: np.ndarray, source: np.ndarray) -> None:
    """Copy an array into another of its shape, on several cores where it is large."""
    threads = max(min(cores(), _THREADS, target.nbytes // _SHARE), 1)
    share = max(-(-len(target) // threads), 1)
    parts = [slice(start, start + share) for start in range(share, len(target), share)]
    done = [_threads().submit(np.copyto, target[part], source[part]) for part in parts]
    np.copyto(target[:share], source[:share])
    for each in done:
        each.result()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, "pyapsp-copy")


def empty_beside(array: np.ndarray, name: str, dtype: DTypeLike) -> np.ndarray:
    """Return an array of the same shape: in memory, or in a file if the other is one.

    Parameters
    ----------
    array : ndarray
    name : str
        Of the file FILE of a memory map this makes ``FILE.NAME.npy``.
    dtype : dtype-like

    Returns
    -------
    ndarray
        Its content is undefined.
    """
    file = getattr(array, "filename", None)
    if file is None or array.size == 0:  # an empty file cannot be mapped
        return np.empty(array.shape, dtype)
    path = Path(file)
    path = path.with_name(f"{path.name}.{name}.npy")
    return np.lib.format.open_memmap(path, "w+", np.dtype(dtype), array.shape)


def flush(*arrays: np.ndarray | None) -> None:
    """Write what memory maps among the arrays hold, so that it need not stay in memory."""
    for array in arrays:
        if isinstance(array, np.memmap):
            array.flush()
