"""Rows of an answer on their way from a device to the host.

If the device has memory of its own, large rows come in pieces (`pyapsp.device.kernels.staging`).
Before that, `expected` clears the pages of new rows in other threads while kernels run, because
clearing them takes longer than the copy. Into pinned memory of earlier answers
(`pyapsp.base.reuse`) the device writes the rows itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import CapabilityError
from pyapsp.base.host import cores, threads
from pyapsp.base.reuse import is_new
from pyapsp.device import Device
from pyapsp.device.kernels import Stopwatch, staging
from pyapsp.device.kernels.mapped import is_pinned
from pyapsp.device.kernels.transfer import in_place
from pyapsp.numbers.checks import convert
from pyapsp.paths.device_rows import DeviceRows

__all__ = ["arriving", "clears", "converter", "deliver", "download", "expected", "writes"]

# Bytes that a thread clears at a time, and the smallest page of any system. With 2 MiB, answers
# took up to 13 % longer: between stretches a thread waits for the interpreter's lock.
_STRETCH, _PAGE = 2**23, 2**12
# Rows are converted on the device if it has spare memory for this multiple of them.
_SPARE = 4


def writes(device: Device, array: np.ndarray) -> bool:
    """Return whether a device writes an array of an answer without the help of the host.

    A device with memory of its own does if earlier answers were in the memory of the array.
    """
    return not in_place(device.handle) and is_pinned(device.context, array)


class _Stretch:
    """A part of new memory."""

    def __init__(self, memory: np.ndarray) -> None:
        self._memory, self._lock, self._ended = memory, threading.Lock(), False

    def clear(self) -> None:
        """Clear the pages, unless this has ended."""
        with self._lock:
            if not self._ended:
                self._memory[::_PAGE] = 0

    def end(self) -> None:
        """End this: when the call returns, no thread writes to the memory."""
        self._ended = True
        with self._lock:
            pass


# The stretches of the rows that are expected, by their addresses: the first byte, and after the
# last.
_coming: dict[tuple[int, int], _Stretch] = {}


@contextmanager
def expected(device: Device, *rows: np.ndarray | DeviceRows | None) -> Iterator[None]:
    """Clear the pages of new rows in other threads, during the block or until they are downloaded.

    In the block only `download` and `arriving` may write to the rows, or to some of them. Inside
    such a block, another one for the same rows does nothing.

    Parameters
    ----------
    device : Device
        Where the rows come from.
    *rows : ndarray, DeviceRows or None
        Only arrays that come in pieces are cleared, and not those that are mapped from a file.
    """
    new = [each for each in rows if isinstance(each, np.ndarray) and _is_new(device, each)]
    if not new:
        yield
        return
    stretches = {place: stretch for each in new for place, stretch in _stretches(each)}
    _coming.update(stretches)
    rest = iter(list(stretches.values()))  # threads may share the iterator of a list

    def clear() -> None:
        for stretch in rest:
            stretch.clear()

    try:
        for _ in range(min(max(cores() // 2, 1), len(stretches))):
            threads().submit(clear)
        yield
    finally:
        for place, stretch in stretches.items():
            _coming.pop(place, None)
            stretch.end()


def clears() -> bool:
    """Return whether rows are `expected`, so that other threads may clear pages."""
    return bool(_coming)


def converter(device: Device, rows: np.ndarray | DeviceRows, spare: int) -> DeviceRows | None:
    """Return rows on the device in which an answer is converted; None if the host converts it.

    If the device can write the rows of the host itself, it converts values of another type, or
    those of a wider matrix, in less time than the host.

    Parameters
    ----------
    device : Device
    rows : ndarray or DeviceRows
        C-contiguous. Rows that stay on the device are converted without others.
    spare : int
        Bytes of device memory that the run leaves free. At most a fourth is used, because other
        programs may use the device.
    """
    if not isinstance(rows, np.ndarray) or not staging.suits(device.handle, rows.nbytes):
        return None
    if _SPARE * rows.nbytes > spare or not is_pinned(device.context, rows):
        return None
    try:
        return DeviceRows(device, (rows.shape[0], rows.shape[1]), rows.dtype)
    except CapabilityError:
        return None


def download(
    queue: cl.CommandQueue,
    matrix: cl.Buffer,
    dtype: np.dtype,
    rows: np.ndarray | DeviceRows,
    watch: Stopwatch,
) -> None:
    """Copy rows of the device, and wait for them.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    matrix : pyopencl.Buffer
        At least as many values as the rows, in the same order.
    dtype : numpy.dtype
        The type of its values: that of the rows, or an integer type that they can hold. Infinity
        becomes infinity of the other type.
    rows : (k, n) ndarray or DeviceRows
        C-contiguous.
    watch : Stopwatch
        The time that the host waits is added to its phase "transfer".
    """
    if isinstance(rows, np.ndarray) and staging.suits(queue.device, rows.nbytes):
        with arriving(queue, matrix, dtype, rows, watch, rows.shape[1]):
            return
    queue.finish()  # the time of the kernels is not that of the transfer
    with watch.by_the_host("transfer"):
        if not isinstance(rows, np.ndarray):
            rows.take(queue, matrix, dtype, rows.shape[1])
            return
        _end(rows)
        if dtype == rows.dtype:
            cl.enqueue_copy(queue, rows, matrix)
        else:
            values = np.empty(rows.shape, dtype)
            cl.enqueue_copy(queue, values, matrix)
            convert(values, rows)


def deliver(
    queue: cl.CommandQueue, values: cl.Buffer, row: np.ndarray | DeviceRows, watch: Stopwatch
) -> None:
    """Copy the values of a search, and wait for them.

    Parameters
    ----------
    queue, watch
        As for `download`.
    values : pyopencl.Buffer
        Values of the type of the row.
    row : (n,) ndarray or DeviceRows
        One row.
    """
    if isinstance(row, DeviceRows):
        row.take(queue, values, row.dtype, row.shape[1])
    else:
        download(queue, values, row.dtype, row[np.newaxis], watch)


@contextmanager
def arriving(
    queue: cl.CommandQueue,
    matrix: cl.Buffer,
    dtype: np.dtype,
    rows: np.ndarray,
    watch: Stopwatch,
    columns: int,
    decode: staging.Place | None = None,
    wide: DeviceRows | None = None,
) -> Iterator[Callable[[], None]]:
    """Copy rows of the device in pieces, during the block.

    Parameters
    ----------
    queue, matrix, dtype, rows, watch
        As for `download`.
    columns : int
        Values from row to row of the matrix.
    decode : callable, optional
        Converts words of the matrix, in place of `pyapsp.numbers.checks.convert`; a piece is whole
        rows.
    wide : DeviceRows, optional
        The result of `converter`; the rows come through it.

    Yields
    ------
    callable
        Waits for the rows, as the end of the block does. The block must not download other rows
        before.
    """
    queue.finish()  # the time of the kernels is not that of the transfer
    with ExitStack() as stack:

        def wait() -> None:
            with watch.by_the_host("transfer"):
                stack.close()

        with watch.by_the_host("transfer"):
            _end(rows)
            stage = staging.stage(queue.context)
            if wide is not None:
                wide.take(queue, matrix, dtype, columns)
                stack.enter_context(stage.bringing(queue, wide.buffer, rows))
            elif decode is None and (dtype, columns) == (rows.dtype, rows.shape[1]):
                stack.enter_context(stage.bringing(queue, matrix, rows))
            else:
                given = queue, [(matrix, 0, rows)], dtype, columns, decode or convert
                stack.enter_context(stage.fetching(*given, whole=decode is not None))
        yield wait
        wait()


def _end(rows: np.ndarray) -> None:
    """End the clearing of rows."""
    for stretch in _among(rows):
        stretch.end()


def _among(rows: np.ndarray) -> list[_Stretch]:
    """Return the stretches that hold some of these rows."""
    start = rows.ctypes.data
    stop = start + rows.nbytes
    coming = list(_coming.items())  # other threads may have rows to come, too
    return [stretch for (first, last), stretch in coming if first < stop and last > start]


def _is_new(device: Device, rows: np.ndarray) -> bool:
    own = rows.flags.c_contiguous and not isinstance(rows, np.memmap) and is_new(rows)
    # also those of half the size, which may come in pieces if they are made of few arcs
    return own and staging.suits(device.handle, 2 * rows.nbytes) and not _among(rows)


def _stretches(rows: np.ndarray) -> Iterator[tuple[tuple[int, int], _Stretch]]:
    memory, address = rows.reshape(-1).view(np.uint8), rows.ctypes.data
    for start in range(0, memory.size, _STRETCH):
        part = memory[start : start + _STRETCH]
        yield (address + start, address + start + part.size), _Stretch(part)
