"""Copy traces to the device in pieces: while one is mined, the next are copied and read.

With overlap there are three steps at a time, each one unit ahead of the next: reading a piece of
the trace, copying the rows of one kind, and mining rows that were copied::

    read     piece 0  piece 1          piece 2
    copy              0 numeric  0 Boolean  1 numeric  1 Boolean
    mine                         0 numeric  0 Boolean  1 numeric  ...

Source: F. Busato's thesis, 2018, section 20.3.3 and figure 20.2.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import DeviceMemoryError, ParameterError, PrecisionError
from pyapsp.base.host import aligned
from pyapsp.device import Device
from pyapsp.device.kernels import Stopwatch, staging, upload
from pyapsp.device.kernels.transfer import in_place
from pyapsp.mining.checker import Rows
from pyapsp.mining.trace import Trace

__all__ = ["ahead", "copies", "pieces"]

_T = TypeVar("_T")
# Instants that every piece but the last is a multiple of, and bytes of a piece where copies and
# mining overlap: less would leave the device idle between launches.
_STEP, _PIECE = 1024, 2**28
# Words that are copied at a time through pinned memory.
_STRIP = 2**14
_END = object()


def ahead(items: Iterator[_T], *, wanted: bool = True) -> Generator[_T]:
    """Yield items, each computed by another thread while the one before it is in use."""
    if not wanted:
        yield from items
        return
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, _END)
        while (item := coming.result()) is not _END:
            coming = pool.submit(next, items, _END)
            yield item  # type: ignore[misc]


def pieces(
    traces: Iterable[Trace], device: Device, limit: int | None, *, overlap: bool
) -> Iterator[Trace]:
    """Cut traces into pieces that fit the device.

    Raises
    ------
    DeviceMemoryError
        The least piece does not fit.
    ParameterError
        The variables of the traces differ.
    PrecisionError
        The types of their numbers differ.
    """
    capabilities = device.capabilities
    most = min(limit or capabilities.global_memory * 8 // 10, capabilities.global_memory)
    most = max(most // 2, 1) if overlap else most
    first: Trace | None = None
    for trace in traces:
        first = first or trace
        _compare(first, trace)
        largest = max(trace.numeric.nbytes, trace.boolean.nbytes, 1)
        parts = max(-(-trace.nbytes // most), -(-largest // capabilities.max_allocation), 1)
        if overlap and not in_place(device.handle):
            parts = max(parts, trace.nbytes // _PIECE)
        each = max(trace.n // parts // _STEP, 1) * _STEP if parts > 1 else trace.n
        if (needed := trace.nbytes * min(each, trace.n) // trace.n) > most:
            hint = f"a piece of {each} instants is the least; raise the memory limit"
            raise DeviceMemoryError(needed, most, hint)
        for start in range(0, trace.n, each):
            yield trace.part(start, start + each)


def _compare(first: Trace, trace: Trace) -> None:
    for kind in ("boolean", "numeric"):
        if trace.names(kind) != first.names(kind):
            raise ParameterError(f"the {kind} variables of the pieces of a trace differ")
    if trace.numeric_names and trace.dtype != first.dtype:
        raise PrecisionError(
            f"the numbers of a trace begin as {first.dtype} and continue as {trace.dtype}: "
            "give dtype='float64'"
        )


def copies(
    traces: Iterator[Trace], kinds: Iterable[str], queue: cl.CommandQueue, watch: Stopwatch
) -> Iterator[tuple[str, Rows, Trace]]:
    """Yield the rows of each piece on the device, numeric ones first."""
    wanted = tuple(kinds)
    for trace in traces:
        for kind in ("numeric", "boolean"):
            rows = trace.rows(kind)
            if kind in wanted and len(rows):
                used = trace.n if kind == "numeric" else -(-trace.n // 32)
                unknown, count = trace.known is not None, len(rows)
                if kind == "boolean" and trace.known is not None:
                    both = aligned((2 * count, rows.shape[1]), rows.dtype)
                    both[::2], both[1::2] = rows, trace.known
                    rows = both
                buffer = _copy(queue, rows, watch)
                yield kind, Rows(buffer, count, rows.shape[1], used, rows.dtype, unknown), trace


def _copy(queue: cl.CommandQueue, rows: np.ndarray, watch: Stopwatch) -> cl.Buffer:
    """Copy rows to the device, or use their memory if the device is the host's processor."""
    if not staging.suits(queue.device, rows.nbytes):
        rows = rows.view()
        rows.flags.writeable = False
        return upload(queue, rows, watch)
    words = rows.reshape(-1).view(np.uint32)
    strips = -(-words.size // _STRIP)
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_ONLY, 4 * _STRIP * strips)

    def fill(first: int, last: int, piece: np.ndarray) -> None:
        some = words[first * _STRIP : last * _STRIP]
        piece.reshape(-1)[: some.size] = some

    with watch.by_the_host("transfer"):
        stage = staging.stage(queue.context)
        stage.send(queue, staging.Sent(buffer, np.dtype(np.uint32), (strips, _STRIP), fill))
    return buffer
