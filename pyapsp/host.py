"""Memory of the host: how much there is, and arrays that are files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["available_memory", "empty_beside", "flush"]


def available_memory() -> int | None:
    """Return the bytes that the host can give; None where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return 1024 * int(found[0]) if found else None


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
