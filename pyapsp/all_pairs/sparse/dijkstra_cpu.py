"""dijkstra-cpu: Dijkstra's algorithm on all cores of the host, the baseline of other methods.

It is compiled by Numba, so that threads run in parallel. SciPy's Dijkstra uses one core, and takes
two to five times as long as this one on one core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from pyapsp.all_pairs.sparse.source_blocks import TunableBlocks
from pyapsp.base.compiled import compiled
from pyapsp.base.errors import CapabilityError, PyApspError
from pyapsp.base.host import cores
from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Facts, Graph
from pyapsp.graph.compressed import SearchRows
from pyapsp.graph.rows import sealed
from pyapsp.numbers.arithmetic import check_type
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions, PathOptions, Weights
from pyapsp.registry import Parameters, Plan, register

__all__ = ["DijkstraCpu", "HostSearch", "Threads", "has_numba"]

# A thread takes _CHUNK sources at a time, _TURNS times in a block. After each block
# `Options.progress` is called.
_CHUNK, _TURNS = 8, 8
# Searches that visit fewer vertices than this in all, about 0.3 ms, use no other threads.
_ALONE = 4096
# More visits than any search makes.
_ALL = 2**63 - 1
# The type of sums, for types without arithmetic in Numba or with too small a range.
_WIDER = {
    np.dtype(narrow): np.dtype(wide)
    for narrow, wide in (("int16", "int32"), ("uint16", "int32"), ("float16", "float32"))
}


@register
class DijkstraCpu(TunableBlocks):
    """Dijkstra's algorithm with a heap, one source for each thread of the host.

    The device is not used. A heap node has four children, not two as in the thesis. So the heap has
    half as many levels, and the keys of children are adjacent in memory.

    Source: E. W. Dijkstra, Numerische Mathematik 1, 1959; F. Okuyama's thesis, 2013, section 3.5.
    """

    id = "dijkstra-cpu"
    summary = "Dijkstra with a heap on every core of the host, one source for each thread"
    source = "Dijkstra 1959, doi:10.1007/BF01386390; Okuyama 2013, section 3.5"
    requires = Weights(non_negative=True)
    multidevice = False
    choices: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "threads": tuple(sorted({1, 2, 4, 8, 16, 32, 64, 128, 256, cores()})),
    }

    def unmet(self, about: Graph | Facts, options: AllPairsOptions) -> PyApspError | None:
        """Return the error of what the method needs; it needs Numba."""
        if not has_numba():
            return CapabilityError("dijkstra-cpu needs Numba; install the extra 'sparse' of pyapsp")
        return super().unmet(about, options)

    def full(self, options: AllPairsOptions, rows: int) -> float:
        """Return the number of sources: there are no vectors."""
        return rows

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield one thread for each core."""
        yield {"threads": cores()}

    def buffers(self, graph: Graph, options: AllPairsOptions, parameters: Parameters) -> list[int]:
        """Return an empty list, because no device memory is used."""
        return []

    def prepare(self, graph: Graph, options: AllPairsOptions, parameters: Parameters) -> _Compiled:
        """Compile the search for the types of this graph and answer.

        Raises
        ------
        CapabilityError
            If Numba is not installed, or the device does not support the type. All methods have
            the same types on a device, and answers are verified on the device.
        """
        if (error := self.unmet(graph, options)) is not None:  # johnson plans without asking
            raise error
        check_type(options.device, options.dtype)
        return _compiled(_type_of_sums(options.dtype))

    def hides(self, plan: Plan[Graph, AllPairsOptions, _Compiled]) -> bool:
        """Return whether sums are not rounded afterwards: then those beyond are never stored."""
        return plan.options.dtype != np.float16

    def open(self, plan: Plan[Graph, AllPairsOptions, _Compiled], watch: Stopwatch) -> Threads:
        """Convert the weights."""
        return Threads(plan.input, plan.options, plan.parameters.integer("threads"))


class HostSearch:
    """Searches of one thread in a graph, up to the cutoff of the options, in their type.

    Parameters
    ----------
    graph : Graph or SearchRows
        Without negative weights.
    options : PathOptions
    """

    def __init__(self, graph: Graph | SearchRows, options: PathOptions) -> None:
        compiled = _compiled(_type_of_sums(options.dtype))
        self._search, self._dtype = compiled.search, compiled.dtype
        weights = graph.weights.astype(options.dtype, copy=False)
        weights = sealed(weights.astype(self._dtype, copy=False))
        self._arcs = graph.indptr, graph.indices, weights
        self._ends = self._dtype.type(infinity(options.dtype)), self._dtype.type(_farthest(options))

    def fill(
        self,
        sources: np.ndarray,
        distances: np.ndarray,
        predecessors: np.ndarray | None,
        *,
        cells: bool = False,
        most: int = _ALL,
    ) -> int:
        """Compute rows; return the number of vertices that were visited.

        Parameters
        ----------
        sources : (k, s) int64 ndarray
            A row has the distances from the nearest of s different vertices.
        distances : (k, n) ndarray
        predecessors : (k, n) int32 ndarray or None
        cells : bool
            Whether `predecessors` is an array for the nearest sources instead: of several the
            smallest, if every arc makes a path longer.
        most : int
            The number of visits after which the search stops; then rows are not complete.
        """
        right = distances.dtype == self._dtype
        wide = distances if right else np.empty(distances.shape, self._dtype)
        before = _NOTHING if predecessors is None else predecessors
        visited = self._search(*self._arcs, sources, wide, before, cells, *self._ends, most)
        if not right:
            with np.errstate(over="ignore"):  # a distance too large for float16 becomes inf
                distances[...] = wide
        return int(visited)


class Threads:
    """Searches from the sources of a block, one in each thread."""

    def __init__(self, graph: Graph | SearchRows, options: PathOptions, threads: int) -> None:
        self._search, self._threads = HostSearch(graph, options), threads
        self.size = threads * _CHUNK * _TURNS

    def solve_block(
        self, sources: np.ndarray, distances: np.ndarray, predecessors: np.ndarray | None
    ) -> None:
        """Compute the rows of a block of sources."""

        def solve(some: slice) -> int:
            before = None if predecessors is None else predecessors[some]
            return self._search.fill(sources[some, None], distances[some], before)

        # searches up to a cutoff may end sooner than a thread starts; the first one tells
        visited = solve(slice(0, 1))
        others = sources.size - 1
        chunk = min(_CHUNK, -(-others // self._threads)) or 1
        chunks = [slice(start, start + chunk) for start in range(1, sources.size, chunk)]
        if self._threads == 1 or visited * others < _ALONE:
            for some in chunks:
                solve(some)
            return
        with ThreadPoolExecutor(self._threads) as pool:
            for done in [pool.submit(solve, some) for some in chunks]:
                done.result()


_NOTHING = np.empty((0, 0), np.int32)
# With numbers of Python, which have a sign, Numba makes floats of unsigned ones.
_ZERO, _ONE, _CHILDREN = map(np.uintp, (0, 1, 4))


def has_numba() -> bool:
    """Return whether Numba is installed."""
    return find_spec("numba") is not None


def _type_of_sums(dtype: np.dtype) -> np.dtype:
    return _WIDER.get(dtype, dtype)


def _farthest(options: PathOptions) -> np.generic:
    """Return the largest sum that is within the cutoff; a sum for float16 may be rounded to it."""
    farthest = options.farthest_in(options.dtype)
    return np.nextafter(farthest, np.inf) if options.dtype == np.float16 else farthest


@dataclass(frozen=True)
class _Compiled:
    search: Callable[..., int]
    dtype: np.dtype
    hash: str


@cache
def _compiled(dtype: np.dtype) -> _Compiled:
    """Return the search for distances of this type.

    A signal such as SIGINT raises an exception in the main thread. During the import of Numba, or
    its first compilation, that would leave unusable modules, and all later calls would fail. So
    another thread does both, and the exception is raised when it has finished.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_compile, dtype).result()


def _compile(dtype: np.dtype) -> _Compiled:
    import numba

    search = compiled(_search)
    # one search, so that Numba compiles now; to Numba, read-only arrays are another type
    alone = Graph.from_arcs(1, [], [])
    arcs = alone.indptr, alone.indices, sealed(np.empty(0, dtype))
    row, ends = np.empty((1, 1), dtype), (dtype.type(1), dtype.type(1))
    search(*arcs, np.zeros((1, 1), np.int64), row, _NOTHING, False, *ends, _ALL)
    return _Compiled(search, dtype, f"numba {numba.__version__}")


def _search(
    first: np.ndarray,
    heads: np.ndarray,
    weights: np.ndarray,
    sources: np.ndarray,
    distances: np.ndarray,
    predecessors: np.ndarray,
    cells: bool,
    infinity: np.generic,
    farthest: np.generic,
    most: int,
) -> int:
    """Do the searches of `HostSearch.fill`, up to the distance `farthest`.

    With an array of shape (0, 0) predecessors are not computed. The heap holds vertices and their
    distances; `place` is the index of a vertex in it. It is read only if a shorter distance than a
    finite one was found: then the vertex is in the heap, because weights are not negative. So it
    need not be cleared, which would take longer than a search of few vertices. Indices are
    unsigned: at each access, Numba looks whether an index with a sign is below zero, which takes a
    third of the time.
    """
    n = np.uintp(first.size - 1)
    keys = np.empty(n, distances.dtype)
    heap = np.empty(n, np.uint32)
    place = np.empty(n, np.uint32)
    visited = 0
    for row in range(len(sources)):
        distance = distances[row]
        distance[:] = infinity
        if predecessors.size > 0:
            predecessors[row, :] = -9999
        size = _ZERO
        for source in sources[row]:
            distance[source] = 0
            if cells:
                predecessors[row, source] = source
            heap[size], keys[size], place[source] = source, 0, size
            size += _ONE
        while size > _ZERO and visited < most:
            u, nearest = np.uintp(heap[0]), keys[0]
            size -= _ONE
            visited += 1
            last, key, hole = heap[size], keys[size], _ZERO
            while True:
                child = _CHILDREN * hole + _ONE
                if child >= size:
                    break
                least = keys[child]
                for other in range(child + _ONE, min(child + _CHILDREN, size)):
                    if keys[other] < least:
                        child, least = np.uintp(other), keys[other]
                if least >= key:
                    break
                moved = heap[child]
                heap[hole], keys[hole], place[moved] = moved, least, hole
                hole = child
            if size > _ZERO:
                heap[hole], keys[hole], place[last] = last, key, hole
            for arc in range(np.uintp(first[u]), np.uintp(first[u + _ONE])):
                v = np.uintp(heads[arc])
                length = nearest + weights[arc]
                if length >= distance[v]:
                    if length == distance[v] and predecessors.size > 0:
                        if cells:
                            predecessors[row, v] = min(predecessors[row, u], predecessors[row, v])
                        elif nearest < length:  # else v may be before u
                            predecessors[row, v] = min(np.int32(u), predecessors[row, v])
                    continue
                if length > farthest:
                    continue
                hole = size if distance[v] == infinity else np.uintp(place[v])
                distance[v] = length
                if predecessors.size > 0:
                    predecessors[row, v] = predecessors[row, u] if cells else u
                if hole == size:
                    size += _ONE
                while hole > _ZERO:
                    parent = (hole - _ONE) // _CHILDREN
                    if keys[parent] <= length:
                        break
                    moved = heap[parent]
                    heap[hole], keys[hole], place[moved] = moved, keys[parent], hole
                    hole = parent
                heap[hole], keys[hole], place[v] = v, length, hole
    return visited
