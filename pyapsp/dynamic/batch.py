"""Batches of edges: their checks, their copy on the device, and the kernels of an update, in order.

Memory is allocated, blocks are reserved and kernels are built before the first change. So a batch
that fails leaves the graph as it was. An update is prepared as a list of commands: those that a
driver refuses are executed by the next call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias, cast

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import CapabilityError, DeviceMemoryError, GraphError, ParameterError
from pyapsp.dynamic.blocks import CLASSES, NO_BLOCK
from pyapsp.dynamic.columns import packed
from pyapsp.dynamic.store import BAD, EQUAL, KEPT, LEFT, LOOPS, NEED, REMOVED, Command, Store
from pyapsp.graph import validation

__all__ = [
    "Batch",
    "EndsLike",
    "Entered",
    "Update",
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
    "shrink",
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


@dataclass(frozen=True)
class Update:
    """An update that is prepared: `commands` write it, and add or delete so many stored edges.

    A deletion touches at most so many vertices.
    """

    edges: int
    commands: Sequence[Command]
    most: int = 0


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


def _begin(store: Store, most: int) -> None:
    """Begin a batch that may be refused: then its counts remain to be cleared."""
    begin(store, most)
    store.remaining.append(partial(store.fill, store.added, 0, store.room))


def _in_order(store: Store, n: int, count: int) -> bool:
    """Return whether `_order` lists the touched vertices: on a CPU, if they may be many of all.

    It reads a counter of every vertex. Then rows are read and moved in the order of memory.
    """
    return store.alone and _FEW * count >= n


def _order(store: Store, n: int, touched: cl.Buffer) -> None:
    store.launch("batch_order", n, store.added, touched, store.state, np.int32(n))


def _touched(store: Store, n: int, count: int) -> cl.Buffer:
    return store.scratch("touched", 4 * min(count, n))


def rows_of_touched(store: Store, most: int, *, new: bool = False) -> cl.Buffer:
    """Return the list of the rows of the touched vertices; with `new`, with their new edges."""
    touched, rank = store.scratch("touched", 4 * most), store.scratch("rank", 4 * most)
    rows, regions = store.scratch("rows", 16 * most), store.regions
    store.launch("batch_hold", most, touched, store.place, regions, rank, store.state)
    vertices = store.degree, store.added, store.place
    arguments = touched, rank, *vertices, regions, store.state, rows, np.int32(new)
    store.launch("batch_list", most, *arguments)
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


def finish(store: Store, touched: cl.Buffer, most: int, *, keep: bool) -> Command:
    """Return what counts the new edges of the touched vertices, or forgets them."""
    arguments = touched, store.degree, store.added, store.state, np.int32(keep)
    return store.command("batch_finish", most, *arguments)


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
) -> Update:
    """Prepare the insertion of edges.

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
        return Update(0, ())
    count, most, update = batch.count, min(batch.count, n), duplicates == "update"
    touched, where = _touched(store, n, count), store.scratch("where", 4 * count)
    _begin(store, most)
    if duplicates == "keep":
        arguments = batch.tails, batch.heads, store.degree, store.added, where, touched
        listed = not _in_order(store, n, count)
        sizes = map(np.int32, (n, count, batch.mirrored, listed))
        store.launch("batch_count", count, *arguments, store.state, *sizes)
        if not listed:
            _order(store, n, touched)
    else:
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
    # the same edges in larger blocks
    store.execute(move(store, touched, most, state))
    written, placed = (batch.tails, where), (store.place, np.int32(count))
    writes = [
        store.column_command("column_write", count, column, *written, sent, *placed)
        for column, sent in enumerate((batch.heads, *batch.items))
    ]
    # heads behind those that the degrees count, and over the same ones: no edge changes
    writes.pop(0)()
    if watch is not None and state[KEPT]:
        store.clear_rows()
        rows = rows_of_touched(store, most, new=True)
        watch.read(batch, entered, rows, deleting=False)
    if update and state[EQUAL]:
        store.clear_rows()
        rows_of_touched(store, most)
        writes = _update_equal(store, batch, entered) + writes
    writes.append(finish(store, touched, most, keep=True))
    loops = int(state[LOOPS])
    return Update(count - loops if duplicates == "keep" else int(state[KEPT]), writes)


def _update_equal(store: Store, batch: Batch, entered: Entered) -> list[Command]:
    """Return what writes the items to all edges that are equal, of which `where` has one."""
    entries = batch.tails, batch.heads, entered.table, entered.filter, entered.mask
    listed = entered.rows, store.state, *entries
    return [
        store.column_command(
            "column_update", store.all_items, column, *listed, values, beside_heads=True
        )
        for column, values in enumerate(batch.items, start=1)
    ]


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


def move(store: Store, touched: cl.Buffer, most: int, state: NDArray[np.int32]) -> list[Command]:
    """Return what moves rows to the blocks that were reserved: all of it must be executed."""
    need, left = (state[place : place + CLASSES] for place in (NEED, LEFT))
    if not need.any():
        return []
    goals, fresh, moves = (store.scratch(name, 0) for name in ("goals", "fresh", "moves"))
    arguments = touched, goals, fresh, store.degree, store.place, store.regions
    placed = *arguments, store.trees, store.state, moves
    commands = [store.command("manager_place", most, *placed)]
    if left[:NO_BLOCK].any():
        items, moved = store.tiles(left[:NO_BLOCK]), (moves, store.state, np.int32(LEFT))
        for column in range(len(store.columns)):
            commands.append(store.column_command("column_move", items, column, *moved))
    return commands


def delete(
    store: Store,
    n: int,
    ends: tuple[EndsLike, EndsLike],
    *,
    directed: bool,
    stable: bool,
    watch: Watch | None = None,
) -> Update:
    """Prepare the deletion of edges, with all that are equal; `shrink` comes after it.

    With `stable` the edges that stay keep their order. Ends and errors are those of `insert`.
    """
    batch = _sent(store, ends, directed=directed)
    if batch.count == 0:
        return Update(0, ())
    most = min(batch.count, n)
    touched = _touched(store, n, batch.count)
    _begin(store, most)
    entered, removed = _enter(store, n, batch), _removed(store, most)
    if watch is not None:
        watch.measure(batch, touched, most, deleting=True)
    table = entered.table, entered.filter
    marked = batch.tails, batch.heads, *table, removed, entered.mask, np.int32(0)
    arguments = entered.rows, store.state, *marked, store.regions
    mark = store.command("deletion_mark", store.all_items, *arguments, *store.arenas(0))
    state = _marked(store, entered.rows, removed, most, mark)
    if state[BAD] != _NONE:
        raise _refusal(store, n, batch, int(state[BAD]))
    total = int(state[REMOVED])
    if watch is not None and total:
        watch.reserve(batch, state)
        watch.read(batch, entered, entered.rows, deleting=True)
    closed = _closed(store, entered.rows, removed, most, total, stable)
    return Update(total, [*closed, finish(store, touched, most, keep=False)], most)


def delete_at(store: Store, n: int, doomed: NDArray[np.bool_]) -> Update:
    """Prepare the deletion of the edges from and to some vertices, and of the vertices.

    Raises
    ------
    DeviceMemoryError
        There is no memory for it.
    """
    store.bring("touched", np.arange(n, dtype=np.int32))
    flags = store.bring("doomed", doomed.view(np.uint8))
    vertices = np.flatnonzero(doomed).astype(np.int32)
    numbers = store.bring("vertices", vertices)
    begin(store, n, n)
    rows, removed = rows_of_touched(store, n), _removed(store, n)
    arguments = rows, store.state, flags, removed, store.regions, *store.arenas(0)
    mark = store.command("deletion_mark_vertices", store.all_items, *arguments)
    total = int(_marked(store, rows, removed, n, mark)[REMOVED])
    gone = put(store, numbers, vertices.size, there=False)
    return Update(total, [*_closed(store, rows, removed, n, total), gone], n)


def put(store: Store, vertices: cl.Buffer, count: int, *, there: bool) -> Command:
    """Return what lets there be vertices without edges, or not."""
    value = np.int32(0 if there else -1)
    return store.command("batch_vertices", count, vertices, store.degree, np.int32(count), value)


def _removed(store: Store, most: int) -> cl.Buffer:
    """Return a counter of edges for each row."""
    removed = store.scratch("removed", 4 * most)
    store.fill(removed, 0, most)
    _ = store.scratch("begin", 4 * most), store.scratch("counts", 8 * most)
    return removed


def _marked(
    store: Store, rows: cl.Buffer, removed: cl.Buffer, most: int, mark: Command
) -> NDArray[np.int32]:
    """Mark edges, count those of each row, and return the state; what takes marks away remains."""
    any_, undo = store.trees, (np.uint32(0), np.int32(1))
    arguments = rows, store.state, any_, any_, any_, any_, removed, *undo, store.regions
    unmark = store.command("deletion_mark", store.all_items, *arguments, *store.arenas(0))
    store.remaining.insert(0, unmark)
    mark()
    first = store.scratch("begin", 4 * most)
    store.launch("deletion_divide", most, rows, store.state, removed, first)
    return store.read_state()


def _closed(
    store: Store,
    rows: cl.Buffer,
    removed: cl.Buffer,
    most: int,
    total: int,
    stable: bool = False,
) -> list[Command]:
    """Return what deletes the marked edges."""
    if total == 0:
        return []
    if stable:
        arguments, columns = (rows, store.state, removed), reversed(range(len(store.columns)))
        closed = [
            store.column_command(
                "column_squeeze", store.all_items, column, *arguments, beside_heads=True
            )
            for column in columns
        ]
    else:
        closed = _filled(store, rows, removed, most, total)
    shortened = rows, store.state, removed, store.degree
    return [*closed, store.command("deletion_shorten", most, *shortened)]


def _filled(
    store: Store, rows: cl.Buffer, removed: cl.Buffer, most: int, total: int
) -> list[Command]:
    """Return what fills the gaps of rows by their last edges."""
    first = store.scratch("begin", 4 * most)
    counts = store.scratch("counts", 8 * most)
    gaps, fillers = (store.scratch(name, 4 * total) for name in ("gaps", "fillers"))
    store.fill(counts, 0, 2 * most)
    store.fill(gaps, -1, total)
    arguments = rows, store.state, removed, first, counts, gaps, fillers, store.regions
    store.launch("deletion_gaps", store.all_items, *arguments, *store.arenas(0))
    filled = gaps, fillers, np.int32(total)
    return [
        store.column_command("column_fill", total, column, *filled)
        for column in range(len(store.columns))
    ]


def shrink(store: Store, most: int) -> None:
    """Let rows that a deletion has made short have smaller blocks, if there is memory for them."""
    touched = store.scratch("touched", 4 * most)
    # a block may be larger than necessary
    with suppress(cl.MemoryError, DeviceMemoryError, CapabilityError):
        state = plan(store, touched, most, shrink=True)
        if state[NEED : NEED + CLASSES].any():
            reserve(store, state)
            store.execute(move(store, touched, most, state))
            store.read_state()
            store.blocks.give_back()


def find(store: Store, n: int, ends: tuple[EndsLike, EndsLike]) -> NDArray[np.bool_]:
    """Return whether each edge is there. Ends and errors are those of `insert`."""
    batch = _sent(store, ends)
    if batch.count == 0:
        return np.zeros(0, bool)
    most = min(batch.count, n)
    touched, answer = _touched(store, n, batch.count), store.scratch("answer", batch.count)
    _begin(store, most)
    entered = _enter(store, n, batch)
    at = _match(store, batch, entered)
    arguments = entered.table, entered.slot, at, store.state, answer, np.int32(batch.count)
    store.launch("batch_answer", batch.count, *arguments)
    state = store.read_state()
    if state[BAD] != _NONE:
        raise _refusal(store, n, batch, int(state[BAD]))
    store.remaining = [finish(store, touched, most, keep=False)]
    store.settle()
    return store.fetch(answer, batch.count, np.bool_)
