"""`row_blocks`: the distances in blocks of rows, for matrices that do not fit in memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.all_pairs.request import Arguments, requested
from pyapsp.all_pairs.settle import check_rows, rows_of
from pyapsp.base.changed import changed
from pyapsp.base.errors import DeviceError, ParameterError
from pyapsp.base.files import check_suffix
from pyapsp.base.host import available_memory
from pyapsp.base.json import Record
from pyapsp.base.progress import of_sources
from pyapsp.device import DeviceLike
from pyapsp.graph import GraphLike, Vertices, Weight, validation
from pyapsp.graph.io.stores import written_store
from pyapsp.graph.names import check_savable
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions, Rows
from pyapsp.paths.result import Result
from pyapsp.registry import Method, Request, Stats
from pyapsp.registry.record import reasons, record
from pyapsp.registry.runs import Candidates, Planned

if TYPE_CHECKING:
    from pyapsp.all_pairs.sparse.source_blocks import SourceBlocks
    from pyapsp.paths import AllPairsMethod

__all__ = ["RowBlocks", "row_blocks"]

# Default size of a block: at least this many bytes of distances, and at most one eighth of the
# memory of the host.
_BLOCK, _PART = 64 * 2**20, 8


def row_blocks(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    directed: bool = True,
    weight: Weight = ...,
    sources: Vertices | None = None,
    block: int | None = None,
    cutoff: float | None = None,
    dtype: DTypeLike | None = None,
    predecessors: bool = False,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    check: bool = True,
    fallback: bool = True,
) -> RowBlocks:
    """Compute shortest paths, and yield them in blocks of rows.

    Use this if the n x n distances do not fit in memory. The sparse methods need O(block n) memory,
    and copy the graph to the device once. Floyd-Warshall computes the whole matrix and yields
    slices of it; ``"auto"`` selects it only if the matrix fits in the memory of the host.

    Parameters
    ----------
    block : int, optional
        Rows of a block. Default: the number that the method solves at once, or more until a block
        has 64 MiB.
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of rows; an exception that it raises
        ends the run. Floyd-Warshall calls it with the number of rounds, before the first block.
    graph, method, directed, weight, sources, cutoff, dtype, predecessors
        As for `solve`.
    device, memory_limit, check
        As for `solve`.
    fallback : bool
        As for `solve`; another method takes over only before the first block.

    Returns
    -------
    RowBlocks
        A generator of the rows of the next sources, in their order; each block is a `Result`. The
        times and the number of sources in `Result.stats` are totals over all blocks so far. Its
        ``save`` writes all of them to a Zarr store.

    Raises
    ------
    PyApspError
        As `solve`. Errors of arguments are raised by the call, other errors by the first block.
        If a distance is too large for its type, the block with its row raises the error.

    Notes
    -----
    Device memory is released after the last block, or when the generator is closed or deleted.

    Examples
    --------
    >>> import numpy as np, pyapsp
    >>> weights = np.array([[0, 7, 1], [0, 0, 0], [0, 2, 0]])
    >>> for rows in pyapsp.row_blocks(weights, block=2):
    ...     print(rows.sources, rows.distances.max(axis=1))
    [0 1] [ 3. inf]
    [2] [inf]
    """
    if block is not None:
        block = validation.integer("block", "row_blocks", block, 1)
    arguments = Arguments(
        method=method,
        directed=directed,
        weight=weight,
        sources=sources,
        cutoff=cutoff,
        dtype=dtype,
        predecessors=predecessors,
        device=device,
        memory_limit=memory_limit,
        progress=progress,
        check=check,
        fallback=fallback,
    )
    request = requested(graph, arguments, "row_blocks", copy=True)
    # with explicit sources, methods compute rows and not a matrix
    rows = request.options.rows(request.input.n)
    request = replace(request, options=replace(request.options, sources=rows))
    blocks = _blocks(request, None if block is None else int(block), time.perf_counter())
    return RowBlocks(blocks, request)


class RowBlocks(Generator[Result, None, None]):
    """The result of `row_blocks`: yields the rows of the next sources, in their order."""

    def __init__(self, blocks: Generator[Result, None, None], request: Request) -> None:
        self._blocks, self._request, self._done = blocks, request, 0
        self._lost = False

    def send(self, value: None) -> Result:
        """Return the next block, as `next` does."""
        self._check()
        rows = self._blocks.send(value)
        self._done += rows.sources.size
        return rows

    def throw(self, *error: Any) -> Result:
        """Raise an error where the last block was yielded."""
        return self._blocks.throw(*error)

    def close(self) -> None:
        """Release the memory of the device."""
        self._blocks.close()

    def _check(self) -> None:
        if self._lost:
            raise ParameterError("save failed, and its rows are lost: call row_blocks again")

    def save(self, path: str | PathLike[str]) -> int:
        """Write the rows that have not been yielded to a Zarr store, and return their number.

        Each block goes to the disk as it ends. The package zarr must be installed.

        Parameters
        ----------
        path : path-like
            ``NAME.zarr``, a new folder. Its arrays are ``distances``, with the dimensions
            ``source`` and ``target``, whose labels are the arrays ``source`` and ``target``; and
            ``predecessors``, numbers of vertices, if they are computed. They are compressed.
            `xarray.open_zarr` reads it. Unreachable vertices have the `Result.infinity` of the
            type, which is the attribute ``infinity``.

        Raises
        ------
        FileExistsError
            If there is a file or folder of this name.
        GraphError
            If labels are neither all integers nor all strings.
        PyApspError
            As `row_blocks`; or zarr is not installed.
        """
        self._check()
        check_suffix(path, "RowBlocks.save", ".zarr", others="Result.save of each block")
        options, graph = self._request.options, self._request.input
        check_savable(graph.labels, "labels", "result")
        names = np.arange(graph.n) if graph.labels is None else graph.labels
        rows, before, dtype = ("source", "target"), {}, options.dtype
        if options.predecessors:
            before["predecessors"] = np.empty((0, graph.n), np.int32)
        dimensions = {"distances": rows, "predecessors": rows, **{name: (name,) for name in rows}}
        limit = {"infinity": infinity(dtype)} if dtype.kind in "iu" else {}
        left = options.sources[self._done :]
        try:
            with written_store(path, limit, dimensions) as store:
                store.add(distances=np.empty((0, graph.n), dtype), **before)
                for block in self:
                    if block.predecessors is not None:
                        before["predecessors"] = block.predecessors
                    store.add(distances=block.distances, **before)
                store.others = {"source": names[left], "target": names}
        except BaseException:
            self._lost = left.size > options.sources.size - self._done
            raise
        return int(left.size)


def _blocks(request: Request, block: int | None, started: float) -> Generator[Result, None, None]:
    """Use the first plan that yields a block without a stall and without a lack of memory."""

    def part(options: AllPairsOptions) -> AllPairsOptions:
        """Return the options of the first block."""
        if block is None or options.sources is None:
            return options
        return replace(options, sources=options.sources[:block])

    candidates = Candidates(request, part)
    for planned in candidates:
        try:
            first, results = planned.in_room(partial(_begun, request, planned, block, started))
        except DeviceError as error:
            candidates.refuse(error)
            continue
        try:
            if first is not None:
                yield first
            del first  # or the generator would keep it in memory
            yield from results
        finally:  # otherwise Python 3.12 keeps these objects after close()
            results.close()
        return


def _begun(
    request: Request, planned: Planned, block: int | None, started: float
) -> tuple[Result | None, Generator[Result, None, None]]:
    """Return the first block, and what computes the others."""
    follow = _searched if cast("AllPairsMethod", planned.method).by_source else _sliced
    results = follow(request, planned, block, started)
    return next(results, None), results


def _searched(
    request: Request, planned: Planned, block: int | None, started: float
) -> Generator[Result, None, None]:
    """Compute each block when the caller asks for it."""
    method = cast("SourceBlocks", planned.method)
    n, options = request.input.n, request.options
    sources = options.rows(n)
    session, tell = method.start(planned.plan), of_sources(options.progress)

    def block_of(some: slice) -> Result:
        rows = sources[some]
        distances = np.empty((rows.size, n), options.dtype)
        before = np.empty((rows.size, n), np.int32) if options.predecessors else None
        session.fill(rows, distances, before)
        return _result(request, planned, distances, before, some, session.stats(), started)

    each = block or _rows_of(request, session.size)
    for start in range(0, sources.size, each):
        yield block_of(slice(start, start + each))
        if tell is not None:
            tell(min(start + each, sources.size), sources.size)


def _sliced(
    request: Request, planned: Planned, block: int | None, started: float
) -> Generator[Result, None, None]:
    """Compute all rows, and yield copies of some, which do not keep the whole matrix in memory."""
    answer = planned.method.run(planned.plan)
    assert isinstance(answer, Rows)
    check_rows(request, answer)
    sources = request.options.rows(request.input.n)
    each = block or _rows_of(request, 1)
    for start in range(0, sources.size, each):
        some = slice(start, start + each)
        rows = rows_of(request, planned.plan.options, answer, sources[some])
        yield _result(request, planned, *rows, some, answer.stats, started)


def _rows_of(request: Request, size: int) -> int:
    """Return the number of rows of a block, for a method that solves `size` rows at once."""
    options = request.options
    row = max(request.input.n * (options.dtype.itemsize + 4 * options.predecessors), 1)
    available = available_memory()
    most = sys.maxsize if available is None else max(1, available // _PART // row)
    return int(min(size * max(1, _BLOCK // (size * row)), most))


def _result(
    request: Request,
    planned: Planned,
    distances: np.ndarray,
    before: np.ndarray | None,
    some: slice,
    stats: Stats,
    started: float,
) -> Result:
    done, options = some.start + len(distances), planned.plan.options
    if options.sources is not None:
        options = replace(options, sources=request.options.sources[:done])
    work = request.problem.work(request.input, options, None)
    seconds = time.perf_counter() - started
    rows, labels = request.options.rows(request.input.n)[some], request.input.labels
    lines, plan = reasons(request, planned.choice, planned.plan), changed(planned.plan, state=None)

    def describe() -> Record:
        about = record(request, planned.method.id, plan, stats, work, seconds)
        return about | {"sources": done}

    # as `Solved.record_of`: until it is made, the graph is kept
    about = describe() if request.input.is_converted else describe
    return Result(distances, before, rows, labels, about, lines, request.input.is_converted)
