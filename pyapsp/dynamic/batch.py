"""A batch of edges: what a caller gives, checked, on the device, and matched with the rows.

A batch is copied to the device, with the reverse of each edge if they are undirected. Its tails are
listed, and its edges get places in their rows: all of them, or those that a hash table and one look
at the rows find to be new. Nothing here changes an edge. What a batch counts of a vertex is cleared
at its end, or by the next call if it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, cast

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.dynamic.columns import packed
from pyapsp.dynamic.store import BAD, Command, Store
from pyapsp.graph import validation

__all__ = [
    "Batch",
    "EndsLike",
    "Entered",
    "arrays_of",
    "begin",
    "begin_listed",
    "check",
    "enter",
    "find",
    "finish",
    "place_all",
    "place_new",
    "rows_of_all",
    "rows_of_touched",
    "sent",
    "touched_of",
]

#: Ends of edges, as a caller gives them.
EndsLike: TypeAlias = ArrayLike | cl_array.Array

_NONE = np.iinfo(np.int32).max
# Places of the hash table for each edge, at least.
_PLACES = 2
# The vertices of a batch are found among all if those are at most so many for each edge.
_FEW = 8


@dataclass(frozen=True)
class Batch:
    """Edges on the device, as `count` ints for each end; `items` are of the other columns.

    If `mirrored`, the reverse of each edge comes behind it.
    """

    n: int  # vertices of the container
    tails: cl.Buffer
    heads: cl.Buffer
    items: Sequence[cl.Buffer]
    count: int
    mirrored: bool = False

    @property
    def most(self) -> int:
        """The most vertices that can be tails."""
        return min(self.count, self.n)


@dataclass(frozen=True)
class Entered:
    """A batch in its hash table, and the rows of its tails; the kernel file explains both."""

    table: cl.Buffer
    filter: cl.Buffer
    slot: cl.Buffer
    mask: np.uint32  # places of the table, less 1
    rows: cl.Buffer


def sent(
    store: Store,
    n: int,
    ends: tuple[EndsLike, EndsLike],
    values: Mapping[str, ArrayLike] | None = None,
    *,
    directed: bool = True,
) -> Batch:
    """Check edges, and return them on the device.

    Parameters
    ----------
    store : Store
    n : int
        Number of vertices; kernels check whether the ends are vertices (`check`).
    ends : (EndsLike, EndsLike)
        Tails and heads: of the host, or both arrays of the device.
    values : mapping of str to array_like, optional
        Weights and properties, see `columns.packed`. Without it there are no items.
    directed : bool
        False adds the reverse of each edge.

    Raises
    ------
    GraphError
        The ends are no integers, or there are not as many tails as heads or values.
    ParameterError
        A type cannot hold a value, or an array of the device is of another context or type.
    DeviceMemoryError
        There is no memory for them.
    """
    tails, heads = ends
    pair: list[NDArray[np.int32] | cl_array.Array]
    if isinstance(tails, cl_array.Array) or isinstance(heads, cl_array.Array):
        pair = [_resident(store, "tails", tails), _resident(store, "heads", heads)]
        _check_counts(pair[0].size, pair[1].size)
    else:
        pair = [*arrays_of(tails, heads)]
    count = validation.integer("edges", "a batch", pair[0].size, 0, 2**29)
    items = []
    if values is not None:
        items = packed("Hornet.insert_edges", store.columns[1:], values, count)
    buffers = [
        store.bring(f"end {number}", array)
        if isinstance(array, np.ndarray)
        else cast(cl.Buffer, array.base_data)
        for number, array in enumerate(pair)
    ]
    brought = [store.bring(f"item {number}", array) for number, array in enumerate(items)]
    batch = Batch(n, buffers[0], buffers[1], brought, count)
    if count == 0 or (directed and isinstance(pair[0], np.ndarray)):
        return batch
    return _copied(store, batch, mirrored=not directed)


def arrays_of(tails: ArrayLike, heads: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return ends of edges as int32; kernels check whether they are vertices.

    Raises
    ------
    GraphError
        They are no integers, or there are not as many tails as heads.
    """
    ends = []
    for name, values in (("tails", tails), ("heads", heads)):
        array = validation.integers(f"the {name} of the edges", values)
        vertices = np.ascontiguousarray(array, np.int32)
        if array.dtype != np.int32 and (beyond := vertices != array).any():
            edge = int(beyond.argmax())
            raise GraphError(
                f"the {name} of the edges must be vertices: edge number {edge} has {array[edge]}"
            )
        ends.append(vertices)
    _check_counts(ends[0].size, ends[1].size)
    return ends[0], ends[1]


def _check_counts(tails: int, heads: int) -> None:
    if tails != heads:
        raise GraphError(f"{tails} tails do not go with {heads} heads")


def _resident(store: Store, name: str, array: EndsLike) -> cl_array.Array:
    """Check the ends of edges that are on the device, and wait for them."""
    if not (
        isinstance(array, cl_array.Array)
        and array.context == store.device.context
        and array.dtype == np.int32
        and array.ndim == 1
        # kernels get the whole buffer: no part of one, and no steps
        and not array.offset
        and array.flags.c_contiguous
    ):
        rule = "a whole pyopencl array of int32 in the context of this container, as the other"
        raise ParameterError.of(name, "Hornet", rule, type(array).__name__)
    array.finish()
    return array


def _copied(store: Store, batch: Batch, *, mirrored: bool) -> Batch:
    """Return a copy of a batch; if `mirrored`, with the reverse of each edge behind it.

    A caller may change its arrays of the device after the call, when commands still read the batch.
    """
    count, all_ = np.int32(batch.count), batch.count << mirrored
    tails, heads = (store.scratch(name, 4 * all_) for name in ("own 0", "own 1"))
    ends = batch.tails, batch.heads, tails, heads
    store.launch("batch_copy", batch.count, *ends, count, np.int32(mirrored))
    if not mirrored:
        return replace(batch, tails=tails, heads=heads)
    items = []
    for number, values in enumerate(batch.items, start=1):
        size = store.columns[number].dtype.itemsize
        items.append(store.scratch(f"both item {number}", size * all_))
        store.launch_items("column_mirror", batch.count, number, values, items[-1], count)
    return Batch(batch.n, tails, heads, items, all_, mirrored=True)


def begin(store: Store, batch: Batch) -> None:
    """Begin a batch that may be refused: then its counts remain to be cleared.

    Parameters
    ----------
    store : Store
    batch : Batch
    """
    _begin(store, batch.most)
    store.remaining.append(partial(store.fill, store.added, 0, store.room))


def begin_listed(store: Store, count: int) -> None:
    """Begin with vertices that are listed already, or will be by the caller.

    Parameters
    ----------
    store : Store
    count : int
        Number of vertices in `touched_of`.
    """
    _begin(store, count, count)


def _begin(store: Store, most: int, touched: int = 0) -> None:
    """Clear the state, and have the memory that no batch may lack half-way."""
    _ = store.regions, store.added, store.scratch("goals", 16 * most)
    store.clear(touched)


def touched_of(store: Store, most: int) -> cl.Buffer:
    """Return the list of the vertices of a batch, in any order; the state has their number.

    Parameters
    ----------
    store : Store
    most : int
        The most vertices of the batch.
    """
    return store.scratch("touched", 4 * most)


def enter(store: Store, batch: Batch, *, last: bool = False) -> Entered:
    """Enter a batch into a hash table, in which equal edges meet, and list the rows of its tails.

    Parameters
    ----------
    store : Store
    batch : Batch
    last : bool
        Whether the last one of equal edges counts, not the first one.
    """
    count = batch.count
    size = 1 << max((_PLACES * count - 1).bit_length(), 6)
    table, slot = store.scratch("table", 4 * size), store.scratch("slot", 4 * count)
    filter_ = store.scratch("filter", size)
    touched, mask = touched_of(store, batch.most), np.uint32(size - 1)
    store.fill(table, -1, size)
    store.fill(filter_, 0, size // 4)
    arguments = batch.tails, batch.heads, store.degree, store.added, table, slot, filter_, touched
    listed = not _in_order(store, batch)
    sizes = np.int32(batch.n), np.int32(count), mask, np.int32(last), np.int32(listed)
    store.launch("batch_enter", count, *arguments, store.state, *sizes)
    if not listed:
        _order(store, batch)
    return Entered(table, filter_, slot, mask, rows_of_touched(store, batch.most))


def _in_order(store: Store, batch: Batch) -> bool:
    """Return whether `_order` lists the touched vertices: on a CPU, if they may be many of all.

    It reads a counter of every vertex. Then rows are read and moved in the order of memory.
    """
    return store.alone and _FEW * batch.count >= batch.n


def _order(store: Store, batch: Batch) -> None:
    touched, n = touched_of(store, batch.most), batch.n
    store.launch("batch_order", n, store.added, touched, store.state, np.int32(n))


def rows_of_touched(store: Store, most: int, *, new: bool = False) -> cl.Buffer:
    """Return the list of the rows of the touched vertices, by the classes of their blocks.

    Parameters
    ----------
    store : Store
    most : int
        The most vertices of the batch.
    new : bool
        Whether the new edges of the batch count, too.
    """
    touched, rank = touched_of(store, most), store.scratch("rank", 4 * most)
    rows, regions = store.scratch("rows", 16 * most), store.regions
    store.launch("batch_hold", most, touched, store.place, regions, rank, store.state)
    vertices = store.degree, store.added, store.place
    arguments = touched, rank, *vertices, regions, store.state, rows, np.int32(new)
    store.launch("batch_list", most, *arguments)
    return rows


def rows_of_all(store: Store, n: int) -> cl.Buffer:
    """Begin with all vertices, and return the list of their rows.

    Parameters
    ----------
    store : Store
    n : int
        Number of vertices.
    """
    store.bring("touched", np.arange(n, dtype=np.int32))
    begin_listed(store, n)
    return rows_of_touched(store, n)


def _match(store: Store, batch: Batch, entered: Entered) -> cl.Buffer:
    """Return the place in its row of each edge that is there."""
    at = store.scratch("at", 4 * batch.count)
    store.fill(at, _NONE, batch.count)
    ends = batch.tails, batch.heads
    table = entered.table, entered.filter
    arguments = entered.rows, store.state, *ends, *table, at, entered.mask
    store.launch("batch_match", store.all_items, *arguments, store.regions, *store.arenas(0))
    return at


def place_all(store: Store, batch: Batch) -> cl.Buffer:
    """Give all edges places behind those of their tails, and return them.

    Parameters
    ----------
    store : Store
    batch : Batch

    Returns
    -------
    pyopencl.Buffer
        The place of each edge in the row of its tail; -1 for the reverse of a loop.
    """
    count, where = batch.count, store.scratch("where", 4 * batch.count)
    touched, listed = touched_of(store, batch.most), not _in_order(store, batch)
    arguments = batch.tails, batch.heads, store.degree, store.added, where, touched
    sizes = map(np.int32, (batch.n, count, batch.mirrored, listed))
    store.launch("batch_count", count, *arguments, store.state, *sizes)
    if not listed:
        _order(store, batch)
    return where


def place_new(store: Store, batch: Batch, entered: Entered, *, update: bool) -> cl.Buffer:
    """Give the edges that are not in their rows places behind those of their tails.

    Parameters
    ----------
    store : Store
    batch : Batch
    entered : Entered
        Its table.
    update : bool
        Whether the edges that are there are to be written, too.

    Returns
    -------
    pyopencl.Buffer
        The place of each edge that is to be written in the row of its tail; -1 for the others.
    """
    count, where = batch.count, store.scratch("where", 4 * batch.count)
    places = entered.table, entered.slot, _match(store, batch, entered), where
    selected = batch.tails, store.degree, store.added, *places, store.state
    store.launch("batch_select", count, *selected, np.int32(count), np.int32(update))
    return where


def check(store: Store, batch: Batch, state: NDArray[np.int32]) -> None:
    """Raise the error for the first edge of a batch that has no vertices.

    Parameters
    ----------
    store : Store
    batch : Batch
    state : ndarray of int32
        As it was read after the kernels that looked at the ends.

    Raises
    ------
    GraphError
        There is such an edge.
    """
    edge = int(state[BAD])
    if edge == _NONE:
        return
    ends_of_edge = np.empty(2, np.int32)
    for number, ends in enumerate((batch.tails, batch.heads)):
        cl.enqueue_copy(store.queue, ends_of_edge[number : number + 1], ends, src_offset=4 * edge)
    position = edge // 2 if batch.mirrored else edge
    tail, head = ends_of_edge.tolist()
    there = f"vertices in 0..{batch.n - 1} that are not deleted"
    rule = there if batch.n else "vertices, and there is none"
    raise GraphError(
        f"the ends of edges must be {rule}: edge number {position} goes from {tail} to {head}"
    )


def finish(store: Store, most: int, *, keep: bool) -> Command:
    """Return what counts the new edges of the touched vertices, or forgets them.

    Parameters
    ----------
    store : Store
    most : int
        The most vertices of the batch.
    keep : bool
        Whether their degrees count the new edges.
    """
    arguments = touched_of(store, most), store.degree, store.added, store.state, np.int32(keep)
    return store.command("batch_finish", most, *arguments)


def find(store: Store, n: int, ends: tuple[EndsLike, EndsLike]) -> NDArray[np.bool_]:
    """Return whether each edge is there. Arguments and errors are those of `sent` and `check`."""
    batch = sent(store, n, ends)
    if batch.count == 0:
        return np.zeros(0, bool)
    answer = store.scratch("answer", batch.count)
    begin(store, batch)
    entered = enter(store, batch)
    at = _match(store, batch, entered)
    arguments = entered.table, entered.slot, at, store.state, answer, np.int32(batch.count)
    store.launch("batch_answer", batch.count, *arguments)
    check(store, batch, store.read_state())
    store.remaining = [finish(store, batch.most, keep=False)]
    store.settle()
    return store.fetch(answer, batch.count, np.bool_)
