"""Updates of a container: lists of commands that are prepared before the first change.

Memory is allocated, blocks are reserved and kernels are built before edges change, so an update
that cannot be made leaves the graph as it was. Those commands that a driver refuses are executed by
the next call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import CapabilityError, DeviceMemoryError
from pyapsp.dynamic.batch import (
    Batch,
    EndsLike,
    Entered,
    begin,
    check,
    enter,
    finish,
    place_all,
    place_new,
    rows_of_all,
    rows_of_touched,
    sent,
    touched_of,
)
from pyapsp.dynamic.blocks import CLASSES, NO_BLOCK
from pyapsp.dynamic.store import EQUAL, KEPT, LEFT, LOOPS, NEED, REMOVED, Command, Store

__all__ = [
    "Update",
    "Watch",
    "delete",
    "delete_at",
    "insert",
    "move",
    "plan",
    "put",
    "reserve",
    "shrink",
]


@dataclass(frozen=True)
class Update:
    """An update that is prepared: `commands` write it, and add or delete so many stored edges."""

    edges: int
    commands: Sequence[Command]
    most: int = 0  # vertices that a deletion touches, at most


class Watch(Protocol):
    """What reads the rows of a batch that change, while they have the old edges and the new ones.

    New edges are behind the others, which the degrees count; those to delete are marked.
    """

    def measure(self, batch: Batch, *, deleting: bool) -> None:
        """Enqueue what adds to the state before it is read; raise an error if it cannot count."""

    def reserve(self, batch: Batch, state: NDArray[np.int32]) -> None:
        """Have all memory that `read` needs, or raise an error."""

    def read(self, batch: Batch, entered: Entered, rows: cl.Buffer, *, deleting: bool) -> None:
        """Enqueue the kernels."""


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
    batch = sent(store, n, ends, values, directed=directed)
    if batch.count == 0:
        return Update(0, ())
    update = duplicates == "update"
    begin(store, batch)
    if duplicates == "keep":
        where = place_all(store, batch)
    else:
        entered = enter(store, batch, last=update)
        where = place_new(store, batch, entered, update=update)
    if watch is not None:
        watch.measure(batch, deleting=False)
    state = plan(store, batch.most, shrink=False)
    check(store, batch, state)
    if state[NEED + NO_BLOCK]:
        raise CapabilityError("a vertex would have more than 2^31 edges")
    if watch is not None:
        watch.reserve(batch, state)
    reserve(store, state)
    # the same edges in larger blocks
    store.execute(move(store, batch.most, state))
    written, placed = (batch.tails, where), (store.place, np.int32(batch.count))
    writes = [
        store.column_command("column_write", batch.count, column, *written, items, *placed)
        for column, items in enumerate((batch.heads, *batch.items))
    ]
    # heads behind those that the degrees count, and over the same ones: no edge changes
    writes.pop(0)()
    if watch is not None and state[KEPT]:
        store.clear_rows()
        rows = rows_of_touched(store, batch.most, new=True)
        watch.read(batch, entered, rows, deleting=False)
    if update and state[EQUAL]:
        store.clear_rows()
        rows = rows_of_touched(store, batch.most)
        writes = _update_equal(store, batch, entered, rows) + writes
    writes.append(finish(store, batch.most, keep=True))
    new = batch.count - state[LOOPS] if duplicates == "keep" else state[KEPT]
    return Update(int(new), writes)


def _update_equal(store: Store, batch: Batch, entered: Entered, rows: cl.Buffer) -> list[Command]:
    """Return what writes the items to all edges that are equal, of which `where` has one."""
    entries = batch.tails, batch.heads, entered.table, entered.filter, entered.mask
    listed = rows, store.state, *entries
    return [
        store.column_command(
            "column_update", store.all_items, column, *listed, values, beside_heads=True
        )
        for column, values in enumerate(batch.items, start=1)
    ]


def plan(store: Store, most: int, *, shrink: bool) -> NDArray[np.int32]:
    """Find the touched vertices that need other blocks, and return the state.

    Parameters
    ----------
    store : Store
    most : int
        The most vertices of the batch.
    shrink : bool
        Whether smaller blocks are wanted, not larger ones.
    """
    touched, goals = touched_of(store, most), store.scratch("goals", 16 * most)
    arguments = touched, store.degree, store.added, store.place, store.regions, store.state, goals
    store.launch(
        "manager_plan", most, *arguments, *map(np.int32, (store.least, store.steps, shrink))
    )
    return store.read_state()


def reserve(store: Store, state: NDArray[np.int32]) -> None:
    """Take the blocks of a plan, and memory for the list of rows.

    Parameters
    ----------
    store : Store
    state : ndarray of int32
        That of `plan`.

    Raises
    ------
    DeviceMemoryError, CapabilityError
        There is no memory. Then nothing is taken.
    """
    need = state[NEED : NEED + CLASSES]
    store.scratch("moves", 16 * int(need.sum()))
    store.reserve(need[:NO_BLOCK])


def move(store: Store, most: int, state: NDArray[np.int32]) -> list[Command]:
    """Return what moves rows to the blocks that were reserved: all of it must be executed.

    Parameters
    ----------
    store : Store
    most : int
        The most vertices of the batch.
    state : ndarray of int32
        That of `plan`.
    """
    need, left = (state[place : place + CLASSES] for place in (NEED, LEFT))
    if not need.any():
        return []
    goals, fresh, moves = (store.scratch(name, 0) for name in ("goals", "fresh", "moves"))
    arguments = touched_of(store, most), goals, fresh, store.degree, store.place, store.regions
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
    batch = sent(store, n, ends, directed=directed)
    if batch.count == 0:
        return Update(0, ())
    most = batch.most
    begin(store, batch)
    entered, removed = enter(store, batch), _removed(store, most)
    if watch is not None:
        watch.measure(batch, deleting=True)
    table = entered.table, entered.filter
    marked = batch.tails, batch.heads, *table, removed, entered.mask, np.int32(0)
    arguments = entered.rows, store.state, *marked, store.regions
    mark = store.command("deletion_mark", store.all_items, *arguments, *store.arenas(0))
    state = _marked(store, entered.rows, removed, most, mark)
    check(store, batch, state)
    total = int(state[REMOVED])
    if watch is not None and total:
        watch.reserve(batch, state)
        watch.read(batch, entered, entered.rows, deleting=True)
    closed = _closed(store, entered.rows, removed, most, total, stable)
    return Update(total, [*closed, finish(store, most, keep=False)], most)


def delete_at(store: Store, n: int, doomed: NDArray[np.bool_]) -> Update:
    """Prepare the deletion of the edges from and to some vertices, and of the vertices.

    Raises
    ------
    DeviceMemoryError
        There is no memory for it.
    """
    flags = store.bring("doomed", doomed.view(np.uint8))
    vertices = np.flatnonzero(doomed).astype(np.int32)
    numbers = store.bring("vertices", vertices)
    rows, removed = rows_of_all(store, n), _removed(store, n)
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
    # a block may be larger than necessary
    with suppress(cl.MemoryError, DeviceMemoryError, CapabilityError):
        state = plan(store, most, shrink=True)
        if state[NEED : NEED + CLASSES].any():
            reserve(store, state)
            store.execute(move(store, most, state))
            store.read_state()
            store.blocks.give_back()
