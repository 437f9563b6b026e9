"""The buffers of a container on its device, and the launches of its kernels."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from pyapsp.base.errors import DeviceMemoryError
from pyapsp.base.host import available_memory
from pyapsp.device import Device, device_errors
from pyapsp.device.kernels import Program, build_warps
from pyapsp.device.kernels.transfer import send
from pyapsp.dynamic.blocks import ARENAS, NEW, NO_BLOCK, BlockArrays, room
from pyapsp.dynamic.columns import Column

__all__ = [
    "BAD",
    "EQUAL",
    "FREED",
    "HELD",
    "KEPT",
    "LEFT",
    "LOOPS",
    "NEED",
    "REMOVED",
    "SLOTS",
    "TOUCHED",
    "Argument",
    "Command",
    "Scalar",
    "Store",
]

# Places in the state, see the kernel file.
BAD, TOUCHED, KEPT, REMOVED, LOOPS, EQUAL, SLOTS = range(7)
HELD, NEED, LEFT, FREED = 16, 80, 144, 208
_CLEAR = np.zeros(FREED, np.int32)
_CLEAR[BAD] = np.iinfo(np.int32).max

# Groups of a launch for each compute unit, and the work-items of a group of a GPU. A CPU runs
# groups of one work-item.
_GROUPS, _GROUP, _UNITS = 16, 256, 4
# How many items ahead a CPU prefetches.
_AHEAD = 16
_TILE = {True: 4096, False: 2048}
_ROOMS = np.array([room(kind) for kind in range(NO_BLOCK)])
_HEADS = np.dtype(np.int32)


#: What kernels get.
Argument: TypeAlias = cl.Buffer | np.int32 | np.uint32 | np.int64 | np.float32 | np.float64
Scalar = TypeVar("Scalar", bound=np.generic)
#: The launch of a kernel that was built before, with its arguments.
Command: TypeAlias = Callable[[], object]


def _finish(queue: cl.CommandQueue) -> None:
    """Wait for the commands of a queue; on a lost device there are none."""
    with suppress(cl.Error):
        queue.finish()


class Store:
    """Vertices, block arrays and scratch memory on a device.

    Parameters
    ----------
    device : Device
    bits : int
        Binary logarithm of the slots of a region.
    least : int
        The smallest class of blocks.
    steps : int
        1: sizes of blocks are powers of two; 2: also 3/2 of them.
    columns : list of Column
        Of an edge, besides its head.
    limit : int or None
        The most bytes of arenas.

    Attributes
    ----------
    blocks : BlockArrays
    degree, place : pyopencl.Buffer
        For each vertex, see the kernel file.
    room : int
        Vertices that they have room for; at first none.
    alone : bool
        Whether groups have one work-item.
    remaining : list of callable
        Commands that make the container whole, in order: an update that failed left them.
    """

    def __init__(
        self,
        device: Device,
        bits: int,
        least: int,
        steps: int,
        columns: list[Column],
        limit: int | None,
    ) -> None:
        self.device, self.queue = device, device.queue()
        self.least, self.steps, self.limit = least, steps, limit
        self.columns = [Column(_HEADS, ("head",)), *columns]
        self._bits = bits
        self.alone = alone = device.traits.scalar_groups
        self._group = 1 if alone else _GROUP
        self._tile = _TILE[alone]
        self._many = device.capabilities.compute_units * (_UNITS if alone else _GROUPS)
        widest = max(column.dtype.itemsize for column in self.columns)
        largest = max(device.capabilities.max_allocation // widest >> bits, 1)
        self.blocks = BlockArrays(bits, largest, self._open, self._close)
        self._arenas: dict[int, list[cl.Buffer]] = {}
        self._scratch: dict[str, cl.Buffer] = {}
        self._regions: cl.Buffer | None = None
        self._programs: dict[tuple[str | int, ...], Program] = {}
        self._sent: list[np.ndarray] = []
        self.remaining: list[Command] = []
        weakref.finalize(self, _finish, self.queue).atexit = False  # before buffers are freed
        self._trees = self.allocate(4)
        self._state = self.allocate(4 * FREED)
        self.room = 0
        self.degree = self.place = self.allocate(4)

    def allocate(self, size: int) -> cl.Buffer:
        """Return a new buffer. No command that uses it may be running when it is freed.

        Raises
        ------
        DeviceMemoryError
            There is no memory for it.
        """
        with device_errors(self.device, size):
            buffer = self.device.buffer(max(size, 4))
            # some drivers allocate at the first use, which may be in the middle of an update
            cl.enqueue_fill_buffer(self.queue, buffer, np.zeros(1, np.int8), 0, 1)
            return buffer

    def upload(self, array: np.ndarray) -> cl.Buffer:
        """Return a new buffer with the content of an array."""
        buffer = self.allocate(array.nbytes)
        if array.nbytes:
            cl.enqueue_copy(self.queue, buffer, array)
        return buffer

    def scratch(self, name: str, size: int) -> cl.Buffer:
        """Return memory for a batch, which is kept for the next one."""
        buffer = self._scratch.get(name)
        if buffer is None or buffer.size < size:
            if buffer is not None:
                self.queue.finish()
                del self._scratch[name], buffer
            buffer = self._scratch[name] = self.allocate(max(size, 64))
        return buffer

    def release_scratch(self) -> None:
        """Free the memory for batches."""
        self.queue.finish()
        self._scratch.clear()

    def bring(self, name: str, array: np.ndarray, dtype: np.dtype | None = None) -> cl.Buffer:
        """Copy an array to scratch memory, as values of a type that can hold them.

        An array of the stride 0 is one value, which the device repeats.
        """
        dtype = array.dtype if dtype is None else dtype
        buffer = self.scratch(name, array.size * dtype.itemsize)
        if array.size and array.strides == (0,):
            value = array[:1].astype(dtype)
            cl.enqueue_fill_buffer(self.queue, buffer, value, 0, value.nbytes * array.size)
        elif array.size:
            send(self.queue, (buffer, array, dtype))
        return buffer

    def fill(self, buffer: cl.Buffer, value: int, count: int) -> None:
        """Set ints of a buffer to a value."""
        if count:
            cl.enqueue_fill_buffer(self.queue, buffer, np.full(1, value, np.int32), 0, 4 * count)

    def fetch(
        self, buffer: cl.Buffer, count: int, dtype: type[Scalar] | np.dtype[Scalar]
    ) -> NDArray[Scalar]:
        """Copy the first values of a buffer to the host, when all commands before it are done."""
        array = np.empty(count, dtype)
        if array.nbytes:
            cl.enqueue_copy(self.queue, array, buffer)
            self._sent.clear()
        return array

    def make_room(self, n: int, beside: int) -> None:
        """Have room for n vertices; those that are new have the degree -1.

        Parameters
        ----------
        n : int
        beside : int
            The bytes of the host that the caller will allocate for them.

        Raises
        ------
        DeviceMemoryError
            The device or the host has no memory for them, and nothing was allocated.
        """
        if n <= self.room:
            return
        # some drivers allocate more than there is, and the first kernel would swap
        memory, needed = self.device.capabilities, 8 * n
        if needed > memory.global_memory or 4 * n > memory.max_allocation:
            hint = f"{n:,} vertices take 8 bytes each, in two buffers"
            most = min(memory.global_memory, 2 * memory.max_allocation)
            raise DeviceMemoryError(needed, most, hint)
        on_host, available = beside + needed * memory.unified_memory, available_memory()
        if available is not None and on_host > available:
            hint = f"the host cannot hold {n:,} vertices"
            raise DeviceMemoryError(on_host, available, hint)
        fresh = [self.allocate(4 * n), self.allocate(4 * n)]
        for old, new in zip((self.degree, self.place), fresh, strict=True):
            self.fill(new, -1, n)
            if self.room:
                cl.enqueue_copy(self.queue, new, old, byte_count=4 * self.room)
        self.queue.finish()
        self.degree, self.place = fresh
        self.room = n

    @property
    def added(self) -> cl.Buffer:
        """A counter for each vertex, 0 between batches."""
        added = self._scratch.get("added")
        if added is None or added.size < 4 * self.room:
            added = self.scratch("added", 4 * self.room)
            try:
                self.fill(added, 0, added.size // 4)
            except BaseException:
                del self._scratch["added"]
                raise
        return added

    # -- arenas ----------------------------------------------------------------------------------

    def _open(self, arena: int, regions: int) -> None:
        slots = regions << self._bits
        size = sum(slots * column.dtype.itemsize for column in self.columns)
        if self.limit is not None and size + self.bytes_of_arenas > self.limit:
            hint = "the limit of this container would be exceeded"
            raise DeviceMemoryError(size, self.limit - self.bytes_of_arenas, hint)
        self._arenas[arena] = [
            self.allocate(slots * column.dtype.itemsize) for column in self.columns
        ]

    def _close(self, arena: int) -> None:
        self.queue.finish()
        del self._arenas[arena]

    @property
    def bytes_of_arenas(self) -> int:
        """Bytes of all arenas."""
        return sum(buffer.size for buffers in self._arenas.values() for buffer in buffers)

    @property
    def bytes_of_scratch(self) -> int:
        """Bytes of the memory for batches."""
        return sum(buffer.size for buffer in self._scratch.values())

    @property
    def bytes_of_trees(self) -> int:
        """Bytes of the Vec-Trees, the table of regions and the state."""
        table = 0 if self._regions is None else self._regions.size
        return self._trees.size + table + self._state.size

    def arenas(self, column: int, known: int | None = None) -> list[cl.Buffer]:
        """Return the arguments of a kernel for a column; it knows all arenas, or so many."""
        known = self._known() if known is None else known
        any_ = next(iter(self._arenas.values()))[column] if self._arenas else self._trees
        return [
            self._arenas[arena][column] if arena in self._arenas else any_ for arena in range(known)
        ]

    def _known(self) -> int:
        """Return the number of arenas that kernels must know.

        Most containers have fewer than four; so an update that opens one compiles no kernels.
        """
        return 4 if max(self._arenas, default=0) < 4 else ARENAS

    @property
    def known_to_readers(self) -> int:
        """The number of arenas that kernels know which only read.

        In a container that was loaded there is one, so that a row is found without its region.
        """
        return 1 if self.blocks.alone else self._known()

    # -- kernels ---------------------------------------------------------------------------------

    def defines(self) -> dict[str, str | int]:
        """Return the macros of all kernels."""
        return {
            "PYAPSP_GROUP": self._group,
            "PYAPSP_WARP": min(self._group, 32),
            "PYAPSP_BITS": self._bits,
            "PYAPSP_ARENAS": self._known(),
            "PYAPSP_TILE": self._tile,
            "PYAPSP_AHEAD": _AHEAD * self.device.traits.prefetches * (self._group == 1),
        }

    def program(self, name: str, **defines: str | int) -> Program:
        """Return a program for the arenas that there are."""
        key = name, self._known(), *defines.values()
        if key not in self._programs:
            file, macros = f"dynamic/{name}.cl", self.defines() | defines
            optimise = self._group == 1 or self.device.traits.optimises_barriers
            self._programs[key] = build_warps(self.device, file, macros, optimise=optimise)
        return self._programs[key]

    def tiles(self, counts: NDArray[np.int32]) -> int:
        """Return the work-items for rows, from the number of rows of each class with blocks."""
        return int((-(-counts * _ROOMS // self._tile)).sum()) * self._group

    @property
    def all_items(self) -> int:
        """The most work-items of a launch, for work that the host does not know."""
        return self._many * self._group

    def launch(self, name: str, items: int, *arguments: Argument) -> None:
        """Enqueue a kernel for a number of work-items, or fewer that share the work.

        Its name begins with that of its file.
        """
        self.command(name, items, *arguments)()

    def launch_column(self, name: str, items: int, column: int, *arguments: Argument) -> None:
        """Enqueue a kernel for a column; its arguments end with the regions and the arenas."""
        self.column_command(name, items, column, *arguments)()

    def launch_items(self, name: str, items: int, column: int, *arguments: Argument) -> None:
        """Enqueue a kernel for items of a column that are in no arena."""
        self._command(self._columns_program(column), name, items, arguments)()

    def command(self, name: str, items: int, *arguments: Argument) -> Command:
        """Return what enqueues a kernel as `launch` does."""
        return self._command(self.program(name.partition("_")[0]), name, items, arguments)

    def column_command(
        self, name: str, items: int, column: int, *arguments: Argument, beside_heads: bool = False
    ) -> Command:
        """Return what enqueues a kernel as `launch_column` does.

        With `beside_heads` the arenas of the heads come behind those of the column.
        """
        arenas = self.arenas(column) + (self.arenas(0) if beside_heads else [])
        program, all_ = self._columns_program(column), (*arguments, self.regions, *arenas)
        return self._command(program, name, items, all_)

    def _columns_program(self, column: int) -> Program:
        return self.program("columns", PYAPSP_ITEM=self.columns[column].type)

    def _command(
        self, program: Program, name: str, items: int, arguments: Sequence[Argument]
    ) -> Command:
        groups = max(min(-(-items // self._group), self._many), 1)
        size = (groups * self._group,), (self._group,)
        return partial(program.kernel(name), self.queue, *size, *arguments)

    def execute(self, commands: Sequence[Command]) -> None:
        """Execute commands; those that the driver refuses remain, before the others."""
        self.remaining[:0] = commands
        self._execute(len(commands))

    def settle(self) -> None:
        """Execute the commands that remain; nothing may read the container before."""
        self._execute(len(self.remaining))

    def _execute(self, count: int) -> None:
        for _ in range(count):
            self.remaining[0]()
            del self.remaining[0]

    # -- state -----------------------------------------------------------------------------------

    @property
    def state(self) -> cl.Buffer:
        """The state of a batch."""
        return self._state

    @property
    def trees(self) -> cl.Buffer:
        """The words of the Vec-Trees."""
        return self._trees

    @property
    def regions(self) -> cl.Buffer:
        """The table of regions, as the manager has it."""
        table = self.blocks.table
        if self._regions is None or self._regions.size < table.nbytes:
            # the state ends with a number for each region
            more = max(len(table) * 5 // 4, 64)
            state = self.allocate(4 * (FREED + more))
            self.fill(state, 0, FREED + more)
            cl.enqueue_copy(self.queue, state, self._state, byte_count=self._state.size)
            regions = self.allocate(16 * more)
            self.queue.finish()
            self._state, self._regions, self.blocks.changed = state, regions, True
        if self.blocks.changed:
            if table.size:
                self._send(self._regions, table.copy())
            self.blocks.changed = False
        return self._regions

    def clear(self, touched: int = 0) -> None:
        """Clear the state, but for the freed blocks; set the number of vertices of a batch."""
        start = _CLEAR.copy()
        start[TOUCHED] = touched
        self._send(self._state, start)

    def clear_rows(self) -> None:
        """Set the numbers of rows in the state to 0, for a new list."""
        zero = np.zeros(1, np.int32)
        cl.enqueue_fill_buffer(self.queue, self._state, zero, 4 * HELD, 4 * (NEED - HELD))

    def _send(self, buffer: cl.Buffer, array: np.ndarray) -> None:
        """Copy a small array, which is kept until `fetch` has waited for it."""
        cl.enqueue_copy(self.queue, buffer, array, is_blocking=False)
        self._sent.append(array)

    def read_state(self) -> NDArray[np.int32]:
        """Wait for the kernels, and return the state; tell the manager what was freed."""
        regions = len(self.blocks.table)
        known = 0 if self._regions is None else min(self._regions.size // 16, regions)
        state = self.fetch(self._state, FREED + known, np.int32)
        freed = state[FREED:]
        if freed.any():
            zero = np.zeros(1, np.int32)
            cl.enqueue_fill_buffer(self.queue, self._state, zero, 4 * FREED, 4 * known)
            self.blocks.release(freed)
        return state

    def reserve(self, need: NDArray[np.int32]) -> None:
        """Take blocks of each class; their places are in the scratch memory "fresh".

        Raises
        ------
        DeviceMemoryError, CapabilityError
            There is no memory. Then nothing is taken.
        """
        count = int(need.sum())
        fresh = self.scratch("fresh", 4 * count)
        if count == 0:
            return
        takes = self.blocks.reserve(need.tolist())
        try:
            words = 4 * self.blocks.words
            if self._trees.size < words:
                trees = self.allocate(words * 5 // 4)
                cl.enqueue_copy(self.queue, trees, self._trees, byte_count=self._trees.size)
                self.queue.finish()
                self._trees = trees
            sent, regions = self.scratch("takes", takes.nbytes), self.regions
            # rows that get these blocks need these kernels
            self.program("manager").kernel("manager_place")
            for column in range(len(self.columns)):
                self._columns_program(column).kernel("column_move")
            self._send(sent, takes)
            arguments = sent, np.int32(len(takes)), regions, self.trees, fresh
            self.launch("manager_take", len(takes) * self._group, *arguments)
        except BaseException:
            # what was not taken from a Vec-Tree is free again when the manager counts it
            amounts = (takes[:, 1] & (NEW - 1)).astype(np.int64)
            freed = np.bincount(takes[:, 0], amounts, len(self.blocks.table))
            self.blocks.release(freed.astype(np.int64))
            self.blocks.give_back()
            raise
