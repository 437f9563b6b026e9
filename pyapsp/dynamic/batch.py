"""Batches of edges: their checks, their copy on the device, and the kernels of an update, in order.

Memory is allocated and blocks are reserved before the first change. So a batch that fails leaves
the graph as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import CapabilityError, DeviceMemoryError, GraphError, ParameterError
from pyapsp.dynamic.blocks import CLASSES, NO_BLOCK
from pyapsp.dynamic.columns import packed
from pyapsp.dynamic.store import BAD, EQUAL, KEPT, LEFT, LOOPS, NEED, REMOVED, Store
from pyapsp.graph import validation

__all__ = [
    "Batch",
    "EndsLike",
    "Entered",
    "Watch",
    "arrays_of",
    "begin",
    "delete",
    "delete_at",
    "find",
    "finish",
    "insert",
    "move",
    "plan",
    "put",
    "reserve",
    "rows_of_touched",
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

    tails: cl.Buffer
    heads: cl.Buffer
    items: Sequence[cl.Buffer]
    count: int
    mirrored: bool = False


@dataclass(frozen=True)
class Entered:
    """A batch in its hash table, and the rows of its tails."""

    table: cl.Buffer
    filter: cl.Buffer
    slot: cl.Buffer
    mask: np.uint32
    rows: cl.Buffer


class Watch(Protocol):
    """What reads the rows of a batch that change, while they have the old edges and the new ones.

    New edges are behind the others, which the degrees count; those to delete are marked.
    """

    def measure(self, batch: Batch, touched: cl.Buffer, most: int, *, deleting: bool) -> None:
        """Enqueue what adds to the state before it is read; raise an error if it cannot count."""

    def reserve(self, batch: Batch, state: NDArray[np.int32]) -> None:
        """Have all memory that `read` needs, or raise an error."""

    def read(self, batch: Batch, entered: Entered, rows: cl.Buffer, *, deleting: bool) -> None:
        """Enqueue the kernels."""


def _sent(
    store: Store,
    ends: tuple[EndsLike, EndsLike],
    values: Mapping[str, ArrayLike] | None = None,
    *,
    directed: bool = True,
) -> Batch:
    """Check edges, and return them on the device; undirected ones with their reverses.

    Without `values` there are no items.
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
    sent = [store.bring(f"item {number}", array) for number, array in enumerate(items)]
    batch = Batch(buffers[0], buffers[1], sent, count)
    return batch if directed or count == 0 else _mirrored(store, batch)


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


def _mirrored(store: Store, batch: Batch) -> Batch:
    """Return a batch with the reverse of each edge behind it."""
    count = np.int32(batch.count)
    tails, heads = (store.scratch(name, 8 * batch.count) for name in ("both 0", "both 1"))
    items = []
    for number, values in enumerate(batch.items, start=1):
        size = store.columns[number].dtype.itemsize
        items.append(store.scratch(f"both item {number}", 2 * size * batch.count))
        store.launch_items("column_mirror", batch.count, number, values, items[-1], count)
    store.launch("batch_mirror", batch.count, batch.tails, batch.heads, tails, heads, count)
    return Batch(tails, heads, items, 2 * batch.count, mirrored=True)


def begin(store: Store, most: int, touched: int = 0) -> None:
    """Clear the state, and have the memory that no batch may lack half-way."""
    _ = store.regions, store.added, store.scratch("goals", 16 * most)
    store.clear(touched)


def _enter(store: Store, n: int, batch: Batch, *, last: bool = False) -> Entered:
    count = batch.count
    size = 1 << max((_PLACES * count - 1).bit_length(), 6)
    table, slot = store.scratch("table", 4 * size), store.scratch("slot", 4 * count)
    filter_ = store.scratch("filter", size)
    touched, mask = _touched(store, n, count), np.uint32(size - 1)
    store.fill(table, -1, size)
    store.fill(filter_, 0, size // 4)
    arguments = batch.tails, batch.heads, store.degree, store.added, table, slot, filter_, touched
    listed = not _in_order(store, n, count)
    sizes = np.int32(n), np.int32(count), mask, np.int32(last), np.int32(listed)
    store.launch("batch_enter", count, *arguments, store.state, *sizes)
    if not listed:
        _order(store, n, touched)
    return Entered(table, filter_, slot, mask, rows_of_touched(store, min(count, n)))


def _in_order(store: Store, n: int, count: int) -> bool:
    """Return whether `_order` lists the touched vertices: on a CPU, if they may be many of all.

    It reads a counter of every vertex. Then rows are read and moved in the order of memory.
    """
    return store.alone and _FEW * count >= n


def _order(store: Store, n: int, touched: cl.Buffer) -> None:
    store.launch("batch_order", n, store.added, touched, store.state, np.int32(n))


def _touched(store: Store, n: int, count: int) -> cl.Buffer:
    return store.scratch("touched", 4 * min(count, n))


def rows_of_touched(store: Store, most: int) -> cl.Buffer:
    """Return the list of the rows of the touched vertices."""
    touched, rank = store.scratch("touched", 4 * most), store.scratch("rank", 4 * most)
    rows, regions = store.scratch("rows", 16 * most), store.regions
    store.launch("batch_hold", most, touched, store.place, regions, rank, store.state)
    vertices = store.degree, store.added, store.place
    store.launch("batch_list", most, touched, rank, *vertices, regions, store.state, rows)
    return rows


def _match(store: Store, batch: Batch, entered: Entered) -> cl.Buffer:
    """Return the place in its row of each edge that is there."""
    at = store.scratch("at", 4 * batch.count)
    store.fill(at, _NONE, batch.count)
    ends = batch.tails, batch.heads
    table = entered.table, entered.filter
    arguments = entered.rows, store.state, *ends, *table, at, entered.mask
    store.launch("batch_match", store.all_items, *arguments, store.regions, *store.arenas(0))
    return at


def finish(store: Store, touched: cl.Buffer, most: int, *, keep: bool) -> None:
    """Count the new edges of the touched vertices, or forget them."""
    arguments = touched, store.degree, store.added, store.state, np.int32(keep)
    store.launch("batch_finish", most, *arguments)


def _refusal(store: Store, n: int, batch: Batch, edge: int) -> GraphError:
    """Return the error for an edge that has no vertices."""
    ends_of_edge = np.empty(2, np.int32)
    for number, ends in enumerate((batch.tails, batch.heads)):
        cl.enqueue_copy(store.queue, ends_of_edge[number : number + 1], ends, src_offset=4 * edge)
    position = edge // 2 if batch.mirrored else edge
    tail, head = ends_of_edge.tolist()
    rule = f"vertices in 0..{n - 1} that are not deleted" if n else "vertices, and there is none"
    return GraphError(
        f"the ends of edges must be {rule}: edge number {position} goes from {tail} to {head}"
    )


def insert(
    store: Store,
    n: int,
    ends: tuple[EndsLike, EndsLike],
    values: Mapping[str, ArrayLike],
    duplicates: str,
    *,
    directed: bool,
    watch: Watch | None = None,
) -> int:
    """Insert edges, and return how many are new.

    Parameters
    ----------
    store : Store
    n : int
        Number of vertices.
    ends : (EndsLike, EndsLike)
        Tails and heads: of the host, or both arrays of the device.
    values : mapping of str to array_like
        Weights and properties, see `columns.packed`.
    duplicates : {"ignore", "update", "keep"}
    directed : bool
        False inserts the reverse of each edge, too.
    watch : Watch, optional
        With a look for duplicates.

    Raises
    ------
    GraphError
        The ends are no integers or no vertices, or there are not as many tails as heads or values.
    ParameterError
        A type cannot hold a value, or an array of the device is of another context or type.
    DeviceMemoryError, CapabilityError
        There is no memory for them.
    """
    batch = _sent(store, ends, values, directed=directed)
    if batch.count == 0:
        return 0
    count, most = batch.count, min(batch.count, n)
    touched, where = _touched(store, n, count), store.scratch("where", 4 * count)
    begin(store, most)
    try:
        if duplicates == "keep":
            arguments = batch.tails, batch.heads, store.degree, store.added, where, touched
            listed = not _in_order(store, n, count)
            sizes = map(np.int32, (n, count, batch.mirrored, listed))
            store.launch("batch_count", count, *arguments, store.state, *sizes)
            if not listed:
                _order(store, n, touched)
        else:
            update = duplicates == "update"
            entered = _enter(store, n, batch, last=update)
            places = entered.table, entered.slot, _match(store, batch, entered), where
            selected = batch.tails, store.degree, store.added, *places, store.state
            store.launch("batch_select", count, *selected, np.int32(count), np.int32(update))
        if watch is not None:
            watch.measure(batch, touched, most, deleting=False)
        state = plan(store, touched, most, shrink=False)
        if state[BAD] != _NONE:
            raise _refusal(store, n, batch, int(state[BAD]))
        if state[NEED + NO_BLOCK]:
            raise CapabilityError("a vertex would have more than 2^31 edges")
        if watch is not None:
            watch.reserve(batch, state)
        reserve(store, state)
    except BaseException:
        finish(store, touched, most, keep=False)
        raise
    if duplicates == "update" and state[EQUAL]:
        _update_equal(store, batch, entered)
    move(store, touched, most, state)
    for column, sent in enumerate((batch.heads, *batch.items)):
        written = batch.tails, where, sent, store.place, np.int32(count)
        store.launch_column("column_write", count, column, *written)
    if watch is not None and state[KEPT]:
        store.clear_rows()
        watch.read(batch, entered, rows_of_touched(store, most), deleting=False)
    finish(store, touched, most, keep=True)
    return count - int(state[LOOPS]) if duplicates == "keep" else int(state[KEPT])


def _update_equal(store: Store, batch: Batch, entered: Entered) -> None:
    """Write the items of a batch to all edges that are equal, of which `where` has one."""
    entries = batch.tails, batch.heads, entered.table, entered.filter, entered.mask
    for column, values in enumerate(batch.items, start=1):
        arguments = entered.rows, store.state, *entries, values
        store.launch_column("column_update", store.all_items, column, *arguments, beside_heads=True)


def plan(store: Store, touched: cl.Buffer, most: int, *, shrink: bool) -> NDArray[np.int32]:
    """Find the vertices that need other blocks, and return the state."""
    goals = store.scratch("goals", 16 * most)
    arguments = touched, store.degree, store.added, store.place, store.regions, store.state, goals
    store.launch(
        "manager_plan", most, *arguments, *map(np.int32, (store.least, store.steps, shrink))
    )
    return store.read_state()


def reserve(store: Store, state: NDArray[np.int32]) -> None:
    """Take the blocks of a plan, and memory for the list of rows."""
    need = state[NEED : NEED + CLASSES]
    store.scratch("moves", 16 * int(need.sum()))
    store.reserve(need[:NO_BLOCK])


def move(store: Store, touched: cl.Buffer, most: int, state: NDArray[np.int32]) -> None:
    """Move rows to the blocks that were reserved."""
    need, left = (state[place : place + CLASSES] for place in (NEED, LEFT))
    if not need.any():
        return
    goals, fresh, moves = (store.scratch(name, 0) for name in ("goals", "fresh", "moves"))
    arguments = touched, goals, fresh, store.degree, store.place, store.regions
    store.launch("manager_place", most, *arguments, store.trees, store.state, moves)
    if left[:NO_BLOCK].any():
        for column in range(len(store.columns)):
            moved = moves, store.state, np.int32(LEFT)
            store.launch_column("column_move", store.tiles(left[:NO_BLOCK]), column, *moved)


def delete(
    store: Store,
    n: int,
    ends: tuple[EndsLike, EndsLike],
    *,
    directed: bool,
    stable: bool,
    watch: Watch | None = None,
) -> int:
    """Delete edges, and return how many there were, with all that are equal.

    With `stable` the edges that stay keep their order. Ends and errors are those of `insert`.
    """
    batch = _sent(store, ends, directed=directed)
    if batch.count == 0:
        return 0
    most = min(batch.count, n)
    touched = _touched(store, n, batch.count)
    begin(store, most)
    try:
        entered, removed = _enter(store, n, batch), _removed(store, most)
        if watch is not None:
            watch.measure(batch, touched, most, deleting=True)
        table = entered.table, entered.filter
        marked = batch.tails, batch.heads, *table, removed, entered.mask, np.int32(0)
        arguments = entered.rows, store.state, *marked, store.regions
        store.launch("deletion_mark", store.all_items, *arguments, *store.arenas(0))
        state = _divide(store, entered.rows, removed, most)
        if state[BAD] != _NONE:
            raise _refusal(store, n, batch, int(state[BAD]))
        if watch is not None and state[REMOVED]:
            try:
                watch.reserve(batch, state)
            except BaseException:
                _unmark(store, entered.rows, removed)
                raise
            watch.read(batch, entered, entered.rows, deleting=True)
        return _close_gaps(store, entered.rows, touched, most, int(state[REMOVED]), stable)
    finally:
        finish(store, touched, most, keep=False)


def delete_at(store: Store, n: int, doomed: NDArray[np.bool_]) -> int:
    """Delete the edges from and to some vertices, and the vertices; return how many edges.

    Raises
    ------
    DeviceMemoryError
        There is no memory for it.
    """
    touched = store.bring("touched", np.arange(n, dtype=np.int32))
    flags = store.bring("doomed", doomed.view(np.uint8))
    vertices = np.flatnonzero(doomed).astype(np.int32)
    numbers = store.bring("vertices", vertices)
    begin(store, n, n)
    rows, removed = rows_of_touched(store, n), _removed(store, n)
    arguments = rows, store.state, flags, removed, store.regions, *store.arenas(0)
    store.launch("deletion_mark_vertices", store.all_items, *arguments)
    state = _divide(store, rows, removed, n)
    total = _close_gaps(store, rows, touched, n, int(state[REMOVED]))
    put(store, numbers, vertices.size, there=False)
    return total


def put(store: Store, vertices: cl.Buffer, count: int, *, there: bool) -> None:
    """Let there be vertices without edges, or not."""
    value = np.int32(0 if there else -1)
    store.launch("batch_vertices", count, vertices, store.degree, np.int32(count), value)


def _removed(store: Store, most: int) -> cl.Buffer:
    """Return a counter of edges for each row."""
    removed = store.scratch("removed", 4 * most)
    store.fill(removed, 0, most)
    _ = store.scratch("begin", 4 * most), store.scratch("counts", 8 * most)
    return removed


def _divide(store: Store, rows: cl.Buffer, removed: cl.Buffer, most: int) -> NDArray[np.int32]:
    first = store.scratch("begin", 4 * most)
    store.launch("deletion_divide", most, rows, store.state, removed, first)
    return store.read_state()


def _close_gaps(
    store: Store, rows: cl.Buffer, touched: cl.Buffer, most: int, total: int, stable: bool = False
) -> int:
    """Delete the marked edges, and let rows that have become short have smaller blocks."""
    if total == 0:
        return 0
    removed = store.scratch("removed", 4 * most)
    if stable:
        for column in reversed(range(len(store.columns))):
            arguments = rows, store.state, removed
            store.launch_column(
                "column_squeeze", store.all_items, column, *arguments, beside_heads=True
            )
    else:
        _fill_gaps(store, rows, removed, most, total)
    store.launch("deletion_shorten", most, rows, store.state, removed, store.degree)
    state = plan(store, touched, most, shrink=True)
    if state[NEED : NEED + CLASSES].any():
        try:
            reserve(store, state)
        except (DeviceMemoryError, CapabilityError):
            return total  # a block may be larger than necessary
        move(store, touched, most, state)
        store.read_state()
        store.blocks.give_back()
    return total


def _fill_gaps(store: Store, rows: cl.Buffer, removed: cl.Buffer, most: int, total: int) -> None:
    """Fill the gaps of rows by their last edges."""
    first = store.scratch("begin", 4 * most)
    counts = store.scratch("counts", 8 * most)
    try:
        gaps, fillers = (store.scratch(name, 4 * total) for name in ("gaps", "fillers"))
    except BaseException:
        _unmark(store, rows, removed)
        raise
    store.fill(counts, 0, 2 * most)
    store.fill(gaps, -1, total)
    arguments = rows, store.state, removed, first, counts, gaps, fillers, store.regions
    store.launch("deletion_gaps", store.all_items, *arguments, *store.arenas(0))
    for column in range(len(store.columns)):
        store.launch_column("column_fill", total, column, gaps, fillers, np.int32(total))


def _unmark(store: Store, rows: cl.Buffer, removed: cl.Buffer) -> None:
    """Take the marks of edges away."""
    any_ = store.trees
    undo = any_, any_, any_, any_, removed, np.uint32(0), np.int32(1), store.regions
    store.launch("deletion_mark", store.all_items, rows, store.state, *undo, *store.arenas(0))


def find(store: Store, n: int, ends: tuple[EndsLike, EndsLike]) -> NDArray[np.bool_]:
    """Return whether each edge is there. Ends and errors are those of `insert`."""
    batch = _sent(store, ends)
    if batch.count == 0:
        return np.zeros(0, bool)
    most = min(batch.count, n)
    touched, answer = _touched(store, n, batch.count), store.scratch("answer", batch.count)
    begin(store, most)
    try:
        entered = _enter(store, n, batch)
        at = _match(store, batch, entered)
        arguments = entered.table, entered.slot, at, store.state, answer, np.int32(batch.count)
        store.launch("batch_answer", batch.count, *arguments)
        state = store.read_state()
        if state[BAD] != _NONE:
            raise _refusal(store, n, batch, int(state[BAD]))
        return store.fetch(answer, batch.count, np.bool_)
    finally:
        finish(store, touched, most, keep=False)
