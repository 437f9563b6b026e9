"""`row_blocks`: the answer some rows at a time, for graphs whose matrix does not fit anywhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pyapsp import runs
from pyapsp.device import let_go
from pyapsp.distances.request import requested
from pyapsp.distances.solver import check_rows, rows_of
from pyapsp.errors import DeviceError, DeviceMemoryError, ParameterError, StallError
from pyapsp.host import available_memory
from pyapsp.paths import AllPairsOptions, Rows
from pyapsp.progress import of_sources
from pyapsp.registry import Method, Request
from pyapsp.result import Result
from pyapsp.runs import Planned

if TYPE_CHECKING:
    from pyapsp.paths import AllPairsMethod
    from pyapsp.sparse.source_blocks import SourceBlocks

__all__ = ["row_blocks"]

# Where the caller does not say: bytes of distances that a block has at least, and the part of the
# memory of the host that it may take.
_BLOCK, _PART = 64 * 2**20, 8


def row_blocks(
    graph: Any,
    method: str | Method = "auto",
    *,
    directed: bool = True,
    sources: Sequence[int] | np.ndarray | None = None,
    block: int | None = None,
    cutoff: float | None = None,
    dtype: Any = None,
    predecessors: bool = False,
    device: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    check: bool = True,
) -> Generator[Result, None, None]:
    """Compute shortest paths, and hand them out some rows at a time.

    For graphs whose n x n distances do not fit: the memory is O(block n), with the sparse methods,
    and the graph goes to the device once. Floyd-Warshall gives slices of its one answer; ``"auto"``
    takes it only where the host holds that.

    Parameters
    ----------
    block : int, optional
        Rows at a time. Unless given, as many as the method solves at once, or more to make 64 MiB.
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of rows; an exception from it ends the
        run. Floyd-Warshall calls it with its rounds, before the first rows.
    graph, method, directed, sources, cutoff, dtype, predecessors, device, memory_limit, check
        As for `solve`.

    Yields
    ------
    Result
        The rows of the next sources, in their order. Times in `Result.stats` are those of all rows
        so far, and so is the number of sources.

    Raises
    ------
    PyApspError
        As `solve`: for arguments at once, otherwise with the first rows. A distance past the range
        of its type shows with the rows that it is in.

    Notes
    -----
    Device memory is free after the last rows, or when the generator is closed or forgotten.

    Examples
    --------
    >>> import numpy as np, pyapsp
    >>> weights = np.array([[0, 7, 1], [0, 0, 0], [0, 2, 0]])
    >>> for rows in pyapsp.row_blocks(weights, block=2):
    ...     print(rows.sources, rows.distances.max(axis=1))
    [0 1] [ 3. inf]
    [2] [inf]
    """
    if block is not None and not (isinstance(block, Integral) and block > 0):
        raise ParameterError.of("block", "row_blocks", "a positive number of rows", block)
    request = requested(
        graph,
        method,
        "row_blocks",
        directed=directed,
        sources=sources,
        cutoff=cutoff,
        dtype=dtype,
        predecessors=predecessors,
        device=device,
        memory_limit=memory_limit,
        progress=progress,
        check=check,
        copy=True,
    )
    # sources that are named: rows are wanted, not a matrix
    rows = request.options.rows(request.input.n)
    request = replace(request, options=replace(request.options, sources=rows))
    return _blocks(request, None if block is None else int(block), time.perf_counter())


def _blocks(request: Request, block: int | None, started: float) -> Generator[Result, None, None]:
    """Follow the first plan that gives a block without stalling or wanting too much memory."""
    refused: list[DeviceError] = []

    def part(options: AllPairsOptions) -> AllPairsOptions:
        """Return the options of the first block."""
        if block is None or options.sources is None:
            return options
        return replace(options, sources=options.sources[:block])

    for planned in runs.plans(request, refused, part):
        follow = _searched if cast("AllPairsMethod", planned.method).by_source else _sliced
        results = follow(request, planned, block, started)
        try:
            first = next(results, None)
        except DeviceError as error:
            let_go(error)
            if not isinstance(error, DeviceMemoryError | StallError):
                raise
            refused.append(error)
            continue
        try:
            if first is not None:
                yield first
            del first  # or it stays as long as the generator
            yield from results
        finally:  # without which Python 3.12 keeps all this after close()
            results.close()
        return
    raise runs.least(refused)


def _searched(
    request: Request, planned: Planned, block: int | None, started: float
) -> Generator[Result, None, None]:
    """Compute each block when it is asked for."""
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
    """Compute all rows, and give some of them, which do not keep the others."""
    answer = planned.method.run(planned.plan)
    assert isinstance(answer, Rows)
    check_rows(request, answer)
    sources = request.options.rows(request.input.n)
    each = block or _rows_of(request, 1)
    for start in range(0, sources.size, each):
        some = slice(start, start + each)
        found = rows_of(request, planned.plan.options, answer, sources[some])
        yield _result(request, planned, *found, some, answer.stats, started)


def _rows_of(request: Request, size: int) -> int:
    """Return how many rows make a block, if a method solves some at once."""
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
    stats: dict[str, Any],
    started: float,
) -> Result:
    done, told = some.start + len(distances), planned.plan.options
    if told.sources is not None:
        told = replace(told, sources=request.options.sources[:done])
    work = request.problem.work(request.input, told, None)
    seconds = time.perf_counter() - started
    about = runs.record(request, planned.method.id, planned.plan, stats, work, seconds)
    rows, labels = request.options.rows(request.input.n)[some], request.input.labels
    reasons = runs.reasons(request, planned)
    return Result(distances, before, rows, labels, about | {"sources": done}, reasons)
