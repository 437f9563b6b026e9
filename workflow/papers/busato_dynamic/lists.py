"""cuSTINGER and AIM: rows that are arrays of their own, or lists of pages; see `lists.cl`."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike, NDArray

from papers.busato_dynamic.rivals import Batch, Rival, built
from pyapsp.device import DeviceLike, device_errors
from pyapsp.device.kernels import Program, fill
from pyapsp.errors import CapabilityError
from pyapsp.graph import Graph, GraphLike

__all__ = ["Aim", "Custinger"]

_TEXT = Path(__file__).with_name("lists.cl")
# Words of the state.
_TOUCHED, _OUTGROWN, _PAGES, _SETTLED = 1, 2, 3, 4
_ARENAS, _ARENA_BITS = 8, 40
# Edges of the least array of cuSTINGER, and of a page of AIM: the blocks of a Hornet in figures
# 18.7 and 18.8 are not smaller.
_LEAST, _PAGE = 8, 256
# AIM takes this part of the memory of a device, so that others have room beside it.
_PART = 8
_NOTHING = np.zeros(0, np.int32)


class _Lists(Rival):
    """Rows with room behind them; each edge of a batch is looked for in the row of its tail."""

    duplicates = ("ignore",)
    _page: ClassVar[int] = 0
    _arenas: list[cl.Buffer]

    def _build(self) -> Program:
        defines = (("PYAPSP_GROUP", self._group), ("PYAPSP_PAGE", self._page))
        optimise = self._group == 1 or self.device.traits.optimises_barriers
        return built(self.device, _TEXT.read_text("utf-8"), defines, optimise)

    def has_edges(self, tails: ArrayLike, heads: ArrayLike) -> NDArray[np.bool_]:
        """Return whether there is an edge from each tail to its head."""
        batch = self._batch(tails, heads)
        with device_errors(self.device, 4 * batch[2]):
            at = self._seek(batch)
            _ = self._read_state(batch)
            there: NDArray[np.bool_] = self._fetch(at, batch[2]) >= 0
        return there

    def delete_edges(self, tails: ArrayLike, heads: ArrayLike) -> int:
        """Delete edges, and return how many there were.

        Raises
        ------
        GraphError
            An end is no vertex, or the ends are no pairs of integers.
        """
        batch = self._batch(tails, heads)
        if not batch[2]:
            return 0
        with device_errors(self.device, 12 * batch[2]):
            at = self._seek(batch)
            self._claim(batch, at, there=True)
            _ = self._read_state(batch)
            self._write(batch, at, erase=True)
            gone = self._settle(batch[2], whole=True)
        self.m -= gone
        return gone

    def _insert(self, batch: Batch) -> int:
        tails, heads, count = batch
        with device_errors(self.device, 24 * count):
            touched, outgrown = self._touched(count), self._room("outgrown", 8 * count)
            at = self._seek(batch)
            places = self._claim(batch, at, there=False)
            rows = self._used, self._capacity, self._fresh
            self._launch("list_outgrown", count, touched, outgrown, self._state, *rows)
            state = self._read_state(batch)
            try:
                self._grow(outgrown, state)
            except BaseException:
                fill(self.device, self._queue, self._fresh, np.int32(0))
                raise
            self._write(batch, places, erase=False)
            sought = tails, heads, np.int32(count), places, at
            self._launch_groups("list_repeat", count, *sought, *self._rows)
            self._write(batch, at, erase=True)
            return self._settle(count, whole=False)

    @abstractmethod
    def _grow(self, outgrown: cl.Buffer, state: NDArray[np.int32]) -> None:
        """Give memory to rows that have outgrown theirs."""

    def _touched(self, count: int) -> cl.Buffer:
        return self._room("touched", 4 * count)

    def _seek(self, batch: Batch) -> cl.Buffer:
        tails, heads, count = batch
        at = self._room("at", 4 * count)
        sought = tails, heads, np.int32(count), np.int32(self.n), at, self._state
        self._launch_groups("list_seek", count, *sought, *self._rows)
        return at

    def _claim(self, batch: Batch, at: cl.Buffer, *, there: bool) -> cl.Buffer:
        tails, _, count = batch
        places, touched = self._room("places", 4 * count), self._touched(count)
        claimed = tails, np.int32(count), at, np.int32(there), places, touched, self._state
        self._launch("list_claim", count, *claimed, self._used, self._fresh)
        return places

    def _write(self, batch: Batch, places: cl.Buffer, *, erase: bool) -> None:
        tails, heads, count = batch
        written = tails, heads, np.int32(count), places, np.int32(erase)
        self._launch("list_write", count, *written, *self._rows)

    def _settle(self, count: int, *, whole: bool) -> int:
        settled = self._touched(count), np.int32(whole), self._state
        self._launch_groups("list_settle", min(count, self.n), *settled, *self._rows)
        return int(self._fetch(self._state, _SETTLED + 1)[_SETTLED])

    def _packed(self, first: cl.Buffer, heads: cl.Buffer, *, out: bool = True) -> None:
        copied = first, heads, np.int32(self.n), np.int32(out)
        self._launch_groups("list_copy", self.n, *copied, *self._rows)

    def _write_rows(
        self, graph: Graph, capacity: NDArray[np.int64], begin: NDArray[np.int64], more: cl.Buffer
    ) -> None:
        """Write rows whose parts follow each other from their begins on."""
        degrees = np.diff(graph.indptr)
        self._used = self._new(degrees.astype(np.int32))
        self._capacity, self._begin = self._new(capacity.astype(np.int32)), self._new(begin)
        self._last, self._next = self._begin, more
        if self._page:
            self._last = self._new(begin + np.maximum(degrees - 1, 0) // self._page * self._page)
        self._fresh = self._new(np.zeros(self.n, np.int32))
        first = self._sent("first", graph.indptr.astype(np.int64))
        self._packed(first, self._sent("heads", graph.indices.astype(np.int32)), out=False)
        for name in ("first", "heads"):
            del self._scratch[name]
        self._queue.finish()

    @property
    def _rows(self) -> list[cl.Buffer]:
        """The arguments ROWS of the kernels."""
        more = [self._arenas[0]] * (_ARENAS - len(self._arenas))
        own = [self._used, self._capacity, self._begin, self._last, self._fresh, self._next]
        return [*own, *self._arenas, *more]

    @property
    def _buffers(self) -> list[cl.Buffer]:
        own = [self._used, self._capacity, self._begin, self._fresh, *self._arenas]
        return [*own, self._last, self._next] if self._page else own


class Custinger(_Lists):
    """An array for each vertex, with room for as many edges again (cuSTINGER).

    A row that outgrows its array is copied to a new one of twice the size, or of the size that it
    needs. The memory of the old array is not used again. Arrays are parts of up to eight arenas;
    a new one is as large as all before together.
    """

    def _load(self, graph: Graph) -> None:
        capacity = np.maximum(2 * np.diff(graph.indptr), _LEAST)
        begin = np.cumsum(capacity) - capacity
        self._taken = int(capacity.sum())
        self._arenas = [self.device.buffer(4 * max(self._taken, _LEAST))]
        self._write_rows(graph, capacity, begin, self._new(_NOTHING))

    def _grow(self, outgrown: cl.Buffer, state: NDArray[np.int32]) -> None:
        count = int(state[_OUTGROWN])
        if not count:
            return
        sizes = self._fetch(outgrown, 2 * count)[1::2].astype(np.int64)
        needed = int(sizes.sum())
        edges = [arena.size // 4 for arena in self._arenas]
        if self._taken + needed > edges[-1]:
            if len(edges) == _ARENAS:
                raise CapabilityError(f"{needed:,} edges more: the {_ARENAS} arenas are full")
            self._arenas.append(self.device.buffer(4 * max(needed, sum(edges))))
            self._taken = 0
        place = (len(self._arenas) - 1 << _ARENA_BITS) + self._taken
        places = self._sent("to", place + np.cumsum(sizes) - sizes)
        self._taken += needed
        moved = outgrown, places, np.int32(count)
        self._launch_groups("list_move", count, *moved, *self._rows)


class Aim(_Lists):
    """Pages of a pool, linked for each vertex (AIM).

    Parameters
    ----------
    graph, device
        As for `Rival`.
    pool : int, optional
        Bytes of all pages; by default an eighth of the memory of the device. The published system
        takes all.
    """

    _page = _PAGE

    def __init__(
        self, graph: GraphLike, *, pool: int | None = None, device: DeviceLike = None
    ) -> None:
        self._pool = pool
        super().__init__(graph, device=device)

    def _load(self, graph: Graph) -> None:
        able = self.device.capabilities
        usual = min(able.global_memory // _PART, able.max_allocation)
        self._pages = (usual if self._pool is None else self._pool) // (4 * self._page)
        pages = -(-np.diff(graph.indptr) // self._page)
        self._taken = int(pages.sum())
        self._check(self._taken)
        self._arenas = [self.device.buffer(4 * self._page * max(self._pages, 1))]
        links = np.arange(1, self._taken + 1, dtype=np.int32)
        links[np.cumsum(pages)[pages > 0] - 1] = -1
        self._place = self._new(np.array([self._taken], np.int32))
        more = self._new(links, room=self._pages - self._taken)
        self._write_rows(graph, pages * self._page, (np.cumsum(pages) - pages) * self._page, more)

    def _check(self, pages: int) -> None:
        if pages > self._pages:
            raise CapabilityError(f"{pages:,} pages are needed, and the pool has {self._pages:,}")

    def _grow(self, outgrown: cl.Buffer, state: NDArray[np.int32]) -> None:
        needed, count = int(state[_PAGES]), np.int32(state[_OUTGROWN])
        self._check(self._taken + needed)
        self._taken += needed
        self._launch("list_link", int(count), outgrown, count, self._place, *self._rows)
