"""The search of `within`: sparse rows, a block at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.sparse.dijkstra_cpu import HostSearch, has_numba
from pyapsp.base.dry import is_dry
from pyapsp.base.progress import of_sources
from pyapsp.base.reuse import empty
from pyapsp.device.kernels import upload
from pyapsp.device.kernels.transfer import in_place, read_back, shared
from pyapsp.graph import Graph
from pyapsp.numbers.checks import too_large
from pyapsp.numbers.precision import infinity
from pyapsp.paths import PathOptions
from pyapsp.queries.sharing import launched, on_each_device, portions, start
from pyapsp.queries.workers import LOST, STATE, Workers, values_of

__all__ = ["Block", "RangeRows"]

# Values of a block of rows, at least those of one row, on devices with scalar groups (CPUs), where
# a block should stay in the caches, and on others; and sources of the first launch for a work-item.
_VALUES, _FIRST = {True: 2**18, False: 2**22}, 16
# The part of a block that is filled if rows have the same mean length as those before.
_FILLED = 0.8
# Values of rows that are not sparse, and visits of vertices, for which searches on the host take
# less time than a launch on a CPU.
_DENSE, _VISITS = 2**19, 2**15
# Arrays for so many values of rows.
_Room: TypeAlias = "Callable[[int], Block]"
# The place and the length of a row.
_PLACE, _LENGTH = 0, 1


@dataclass(frozen=True)
class Block:
    """Sparse rows, one after the other."""

    lengths: np.ndarray  # (k,) int64: the number of values of each row
    # (c,) int32: those of all rows; in each row in the order of their numbers.
    vertices: np.ndarray
    costs: np.ndarray  # (c,): their distances
    befores: np.ndarray | None  # (c,) int32: their predecessors

    @property
    def arrays(self) -> list[np.ndarray]:
        """The arrays of values."""
        return [each for each in (self.vertices, self.costs, self.befores) if each is not None]

    def grow(self, size: int) -> None:
        """Make the arrays of values longer, without a second copy of large ones."""
        for each in self.arrays:
            each.resize(size, refcheck=False)

    def part(self, some: slice) -> Block:
        """Return some of the values."""
        befores = None if self.befores is None else self.befores[some]
        return Block(self.lengths, self.vertices[some], self.costs[some], befores)

    def put(self, other: Block) -> Block:
        """Copy the values to the arrays of a block; return it with the lengths of this one."""
        for target, array in zip(other.arrays, self.arrays, strict=True):
            target[...] = array
        return replace(other, lengths=self.lengths)


class RangeRows:
    """Sparse rows that are to be computed, a block at a time.

    Parameters
    ----------
    graph : Graph
    options : PathOptions
    sources : (k,) int64 ndarray
    progress : callable or None
        As for `within`.
    answer : int, optional
        Bytes of what is made of the rows, if it is known, for dry runs.
    """

    def __init__(
        self,
        graph: Graph,
        options: PathOptions,
        sources: np.ndarray,
        progress: Callable[[int, int], None] | None,
        answer: int | None = None,
    ) -> None:
        self.graph, self.options, self.sources = graph, options, sources
        self._tell, self._answer = of_sources(progress), answer

    def empty(self, size: int) -> Block:
        """Return arrays for values."""
        befores = np.empty(size, np.int32) if self.options.predecessors else None
        costs = np.empty(size, self.options.dtype)
        return Block(np.empty(0, np.int64), np.empty(size, np.int32), costs, befores)

    def blocks(self, room: _Room | None = None) -> Iterator[tuple[slice, Block]]:
        """Yield the rows of the next sources.

        Parameters
        ----------
        room : callable, optional
            Returns arrays for so many values, to which those of a block go. By default the arrays
            are used again for the next block.
        """
        done, total = 0, self.sources.size
        if not total:
            return
        workers = on_each_device(self._launches, self.options)
        near = self._on_host()
        if near is not None:
            yield slice(0, total), near if room is None else near.put(room(near.vertices.size))
            if self._tell is not None:
                self._tell(total, total)
            return
        start(workers, self._answer)
        while done < total:
            parts, end = [], done
            for count in portions(workers, total - done):
                parts.append(self.sources[end : end + count])
                end += count
            parts = [part for part in parts if part.size]
            found = launched(workers, _Launches.rows_of, parts)
            for worker, part, lengths in zip(workers, parts, found, strict=False):
                rows = lengths.size
                if rows:
                    yield slice(done, done + rows), worker.block(lengths, room)
                    done += rows
                    if self._tell is not None:
                        self._tell(done, total)
                if rows < part.size:  # the rows of other devices come after those that are missing
                    break

    def _on_host(self) -> Block | None:
        """Return all rows by searches on the host, where these take less time than a launch.

        The first search tells. None: the device searches.
        """
        graph, options, sources = self.graph, self.options, self.sources
        shape = sources.size, graph.n
        takes = options.cutoff is not None and not (options.predecessors or options.helpers)
        small = options.device.kind == "cpu" and math.prod(shape) <= _DENSE
        if is_dry() or not (takes and small and has_numba()):
            return None
        search, rows = HostSearch(graph, options), empty(shape, options.dtype)
        if search.fill(sources[:1, None], rows[:1], None) * sources.size > _VISITS:
            return None
        search.fill(sources[1:, None], rows[1:], None)
        places = np.flatnonzero(rows < infinity(options.dtype))
        ends = places.searchsorted(np.arange(1, sources.size + 1) * graph.n)
        vertices = (places % graph.n).astype(np.int32)
        return Block(np.diff(ends, prepend=0), vertices, rows.ravel()[places], None)

    def _launches(self, options: PathOptions) -> _Launches:
        """Return the searches on a device."""
        # at most so many values that ints count them, and those of one row always fit
        each = 4 * (1 + options.predecessors) + options.dtype.itemsize
        size = values_of(options, _VALUES[options.device.traits.scalar_groups], self.graph.n, each)
        return _Launches(self.graph, options, self.sources.size, self.empty, size, 2 * size * each)


class _Launches(Workers):
    """Searches whose rows are packed into arrays of so many values."""

    def __init__(
        self,
        graph: Graph,
        options: PathOptions,
        searches: int,
        empty: _Room,
        values: int,
        spare: int,
    ) -> None:
        super().__init__(graph, options, "queries/ranges.cl", searches, spare, first=_FIRST)
        self._empty, self._values, self._own = empty, values, in_place(self.device.handle)

    @cached_property
    def packed(self) -> Block:
        """Arrays of the host: of a device in its memory, or for a caller that brings none."""
        return self._empty(self._values)

    def allocate(self) -> None:
        """Allocate the rows that are found, and the packed ones."""
        sizes = [self._values * each.itemsize for each in self._empty(0).arrays]
        self._found = [self.device.buffer(size) for size in sizes]
        if self._own:
            self._targets = [shared(self.queue, each) for each in self.packed.arrays]
        else:
            self._targets = [self.device.buffer(size) for size in sizes]
        self._state = self.device.buffer(4 * STATE)

    def block(self, lengths: np.ndarray, room: _Room | None) -> Block:
        """Return the rows of the last launch, of these lengths; `room` as for `RangeRows.blocks`.

        A device with memory of its own has large blocks, and writes where the rows stay.
        """
        some = slice(int(lengths.sum()))
        block = self.packed.part(some) if room is None else room(some.stop)
        if not self._own:
            with self.at_work():
                for target, array in zip(self._targets, block.arrays, strict=True):
                    if array.size:
                        cl.enqueue_copy(self.queue, array, target)
        elif room is not None:
            self.packed.part(some).put(block)
        return replace(block, lengths=lengths)

    def rows_of(self, sources: np.ndarray) -> np.ndarray:
        """Search from these sources; return the lengths of the rows of the first of them."""
        lengths = self.timed(lambda: self._run(sources), sources.size)
        if lengths.size < sources.size:  # there was no room for all
            self.wanted = max(min(sources.size // 2, lengths.size), 1)
        else:
            fits = int(_FILLED * self._values / lengths.mean())
            self.wanted = min(self.wanted, max(fits, 1))
        return lengths

    def _run(self, sources: np.ndarray) -> np.ndarray:
        count, state = sources.size, np.zeros(STATE, np.int32)
        rows = np.full((count, 2), -1, np.int32)
        cl.enqueue_copy(self.queue, self._state, state)
        places = upload(self.queue, rows, self.watch)
        self.launch(
            "within",
            self.count,
            *self.arcs,
            upload(self.queue, sources.astype(np.int32), self.watch),
            np.int32(count),
            self.n,
            self.farthest,
            self.checks,
            *self.memory,
            self._state,
            places,
            *self._found,
            np.int32(self._values),
        )
        cl.enqueue_copy(self.queue, state, self._state)
        cl.enqueue_copy(self.queue, rows, places)
        if state[LOST]:
            raise too_large(self.graph, self.options.dtype)
        without = np.flatnonzero(rows[:, _PLACE] < 0)
        complete = int(without[0]) if without.size else count
        lengths = rows[:complete, _LENGTH].astype(np.int64)
        starts = np.cumsum(lengths) - lengths
        if complete:
            befores = zip(self._found[2:], self._targets[2:], strict=True)
            self.launch(
                "pack_rows",
                complete * self.group,
                places,
                upload(self.queue, starts.astype(np.int32), self.watch),
                *self._found[:2],
                *(buffer for pair in befores for buffer in pair),
                *self._targets[:2],
            )
        if self._own:
            for target, array in zip(self._targets, self.packed.arrays, strict=True):
                read_back(self.queue, target, array)
        return lengths
