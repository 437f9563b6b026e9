"""Reading and writing rows of a file, and the file of a memory map."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from io import FileIO

import numpy as np

__all__ = ["POSITIONED", "file_behind", "transfer"]

#: Whether this system has calls that read and write at a given place of a file.
POSITIONED = hasattr(os, "preadv") and hasattr(os, "pwritev")

# Buffers in one call of preadv or pwritev: IOV_MAX of Linux.
_BUFFERS = 1024


def transfer(
    operation: Callable[[int, list[memoryview], int], int],
    file: FileIO,
    offset: int,
    rows: np.ndarray,
) -> None:
    """Copy rows that are contiguous in a file, but need not be contiguous in memory.

    Parameters
    ----------
    operation : callable
        `os.preadv` or `os.pwritev`.
    file : FileIO
    offset : int
        Of the first row in the file, in bytes.
    rows : (k, w) ndarray
        Each row contiguous in memory.

    Raises
    ------
    OSError
        If the operation fails, or the file ends before the last row.
    """
    memory = rows.view(np.uint8)
    if memory.size == 0:
        return
    if memory.flags.c_contiguous:
        memory = memory.reshape(1, -1)
    for first in range(0, len(memory), _BUFFERS):
        buffers = [row.data for row in memory[first : first + _BUFFERS]]
        done = 0
        while done < len(buffers):
            # not more than about 2 GiB at a time, and any less
            count = operation(file.fileno(), buffers[done:], offset)
            if count == 0:
                raise OSError(errno.EIO, "the file ends too early", file.name)
            offset += count
            while done < len(buffers) and count >= buffers[done].nbytes:
                count -= buffers[done].nbytes
                done += 1
            if count:
                buffers[done] = buffers[done][count:]


def file_behind(array: np.ndarray) -> tuple[FileIO | None, int]:
    """Return the file behind a mapped array and the offset of the array in it, or (None, 0).

    Also where the file could not be read and written at a given place: a mapping is then memory.
    """
    mapped = array
    while isinstance(mapped.base, np.ndarray):
        mapped = mapped.base
    if (
        not isinstance(mapped, np.memmap)
        or mapped.filename is None
        or array.size == 0
        or not POSITIONED
    ):
        return None, 0
    # a view has the offset of what it is a view of
    address, origin = (each.__array_interface__["data"][0] for each in (array, mapped))
    offset = mapped.offset + address - origin
    try:
        file = FileIO(mapped.filename, "r+")
    except OSError:
        return None, 0
    # the names of files change: look whether this one shows a byte as the mapping has it
    byte = array.reshape(-1)[:1].view(np.uint8)[:1]
    before = int(byte[0])
    shown = []
    for value in (before ^ 0xFF, before):
        byte[0] = value
        shown.append(os.pread(file.fileno(), 1, offset))
    if shown == [bytes([before ^ 0xFF]), bytes([before])]:
        return file, offset
    file.close()
    return None, 0
