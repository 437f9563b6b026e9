"""Convert compressed sparse rows to a container, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from pyapsp.dynamic.batch import (
    begin_listed,
    finish,
    rows_of_all,
    rows_of_touched,
    touched_of,
)
from pyapsp.dynamic.blocks import NO_BLOCK
from pyapsp.dynamic.store import HELD, NEED, Store
from pyapsp.dynamic.updates import move, plan, reserve

__all__ = ["load", "pack"]

# Edges that are loaded at a time.
_LOADED = 2**27


def load(store: Store, indptr: NDArray[np.int64], arrays: Sequence[np.ndarray]) -> None:
    """Fill an empty container from compressed sparse rows.

    Parameters
    ----------
    store : Store
    indptr : (n + 1,) int64 ndarray
    arrays : sequence of ndarray
        The items of each column, in the order of the rows; its type can hold them.

    Raises
    ------
    DeviceMemoryError, CapabilityError
        There is no memory for it.
    """
    n, start = indptr.size - 1, 0
    first = store.bring("first", indptr)
    while start < n:
        stop = int(np.searchsorted(indptr, indptr[start] + _LOADED, side="right")) - 1
        stop = max(stop, start + 1)
        _load(store, indptr, arrays, start, stop, first)
        start = stop


def _load(
    store: Store,
    indptr: NDArray[np.int64],
    arrays: Sequence[np.ndarray],
    start: int,
    stop: int,
    first: cl.Buffer,
) -> None:
    """Load the rows of consecutive vertices."""
    low, high = int(indptr[start]), int(indptr[stop])
    if low == high:
        return
    most = stop - start
    begin_listed(store, most)
    arguments = first, store.added, touched_of(store, most), np.int32(start), np.int32(most)
    store.launch("batch_rows", most, *arguments)
    state = plan(store, most, shrink=False)
    reserve(store, state)
    store.execute([*move(store, most, state), finish(store, most, keep=True)])
    store.clear(most)
    rows, tiles = rows_of_touched(store, most), store.tiles(state[NEED : NEED + NO_BLOCK])
    for column, array in enumerate(arrays):
        items = store.bring("loaded", array[low:high], store.columns[column].dtype)
        scalars = rows, store.state, np.int32(HELD), first, np.int64(low), items
        store.launch_column("column_load", tiles, column, *scalars)
    store.queue.finish()


def pack(store: Store, n: int) -> tuple[NDArray[np.int64], list[np.ndarray]]:
    """Return compressed sparse rows, the edges of a row in any order: offsets, and columns."""
    degrees = np.maximum(store.fetch(store.degree, n, np.int32), 0)
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(degrees, out=indptr[1:])
    m, arrays = int(indptr[-1]), []
    if m == 0:
        return indptr, [np.empty(0, column.dtype) for column in store.columns]
    rows, first = rows_of_all(store, n), store.bring("first", indptr)
    for number, column in enumerate(store.columns):
        items = store.scratch("packed", m * column.dtype.itemsize)
        scalars = rows, store.state, np.int32(HELD), first, items
        store.launch_column("column_pack", store.all_items, number, *scalars)
        arrays.append(store.fetch(items, m, column.dtype))
    return indptr, arrays
