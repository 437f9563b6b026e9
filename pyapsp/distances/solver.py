"""`solve`: from anything that is a graph to a `Result`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from pyapsp import runs
from pyapsp.checks import check_answer, check_diagonal, converted
from pyapsp.distances.request import requested
from pyapsp.errors import DeviceError
from pyapsp.host import reserve
from pyapsp.paths import AllPairsOptions, Rows
from pyapsp.registry import Method, Plan, Request
from pyapsp.result import Result

__all__ = ["check_rows", "explain", "rows_of", "settle", "solve"]


def solve(
    graph: Any,
    method: str | Method = "auto",
    *,
    directed: bool = True,
    sources: Sequence[int] | np.ndarray | None = None,
    cutoff: float | None = None,
    dtype: Any = None,
    predecessors: bool = False,
    out: np.ndarray | None = None,
    device: Any = None,
    memory_limit: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    check: bool = True,
) -> Result:
    """Compute shortest paths between all pairs of vertices.

    Parameters
    ----------
    graph : Graph or graph-like
        A `Graph`, the path of a graph file, a SciPy sparse array, a NumPy array (0 and inf mean
        "no arc"; in a masked array only masked entries do), a NetworkX or igraph graph, or a
        pandas edge list. n vertices, weights of any sign.
    method : str or Method
        ``"auto"``, a method id (see `methods`), or ``pyapsp.method(id, tile=16, ...)``. "auto"
        tries a method on small graphs before it first takes it on a driver, and passes over one
        that is wrong there; a method that is asked for runs.
    directed : bool
        False: an arc may be walked both ways, at the smaller of the two weights.
    sources : sequence of int, optional
        Only the rows of these vertices, in this order; one may come twice. The sparse methods
        compute no others.
    cutoff : float, optional
        Report vertices farther than this as unreachable, without predecessors. Methods may stop
        there, and a distance past the range of its type is no error if it is above. Where weights
        are negative a path to a nearer vertex may lead over one of them: `Result.path` says so.
    dtype : dtype-like or "auto", optional
        Of the distances: float64 (the default), float32, float16 where the device has it, int64,
        int32, int16 or uint16. ``"auto"`` takes the narrowest integer type that is proved exact
        for this graph, else a float type.
    predecessors : bool
        Also compute the last vertex before j on each path, for `Result.path`.
    out : ndarray, optional
        Where to put the distances: (n, n), or (k, n) for k sources, C-contiguous, of the dtype
        of the distances (which it decides when `dtype` is None). A memory map will do; the
        predecessors of ``fw-outofcore`` and of the sparse methods then go into a file beside it,
        ``NAME.predecessors.npy``, and nothing of n x n is in memory. Its content is undefined after
        an error.
    device : str, int, Device or pyopencl object, or a list of these, optional
        Which device; see `pyapsp.device.choose`. Of several the first leads, and methods that can
        (``fw-outofcore``) use all.
    memory_limit : int, optional
        Bytes of device memory the run may use.
    checkpoint : path-like, optional
        Folder for checkpoints, for the methods that write them (``fw-outofcore``). A run that
        ended early goes on from there; at the end the checkpoint is removed.
    progress : callable, optional
        Called as ``progress(done, total)``, by the methods that search from sources with the
        number of sources; an exception from it ends the run.
    check : bool
        Look whether a distance passed the range of its type, in the cases where the weights
        alone do not rule it out. Costs O(n m) on the host.

    Returns
    -------
    Result

    Raises
    ------
    GraphError
        If the graph is not one: NaN weights, wrong shapes, vertices out of range.
    FormatError
        If a graph file is malformed; with path and line.
    ParameterError
        If an argument is outside its rule.
    NegativeCycleError
        If there is a negative cycle; it carries one.
    PrecisionError
        If the dtype cannot hold the weights or the distances.
    NoDeviceError, CapabilityError, DeviceMemoryError
        If there is no device, or it cannot do this, or not in its memory.
    DiskSpaceError
        If `out` is a memory map, and its disk is too small.

    Examples
    --------
    >>> import numpy as np, pyapsp
    >>> weights = np.array([[0, 7, 1], [0, 0, 0], [0, 2, 0]])
    >>> pyapsp.solve(weights).distances
    array([[ 0.,  3.,  1.],
           [inf,  0., inf],
           [inf,  2.,  0.]])
    """
    started = time.perf_counter()
    request = requested(
        graph,
        method,
        directed=directed,
        sources=sources,
        cutoff=cutoff,
        dtype=dtype,
        predecessors=predecessors,
        out=out,
        device=device,
        memory_limit=memory_limit,
        checkpoint=checkpoint,
        progress=progress,
        check=check,
    )
    if out is not None:
        reserve(out)
    solved = runs.solve(request, started)
    answer, rows = solved.answer, request.options.rows(request.input.n)
    return Result(
        answer.distances,
        answer.predecessors,
        rows,
        request.input.labels,
        solved.record,
        solved.reasons,
    )


def explain(
    graph: Any,
    method: str | Method = "auto",
    *,
    directed: bool = True,
    sources: Sequence[int] | np.ndarray | None = None,
    cutoff: float | None = None,
    dtype: Any = None,
    predecessors: bool = False,
    out: np.ndarray | None = None,
    device: Any = None,
    memory_limit: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
) -> str:
    """Say what `solve` would do, and why: method, type, parameters, memory, predicted time.

    Kernels are built and devices may be measured, but nothing is solved. Parameters and errors are
    those of `solve`.

    Returns
    -------
    str
        Several lines, as `Result.explain` gives them after the run.
    """
    request = requested(
        graph,
        method,
        directed=directed,
        sources=sources,
        cutoff=cutoff,
        dtype=dtype,
        predecessors=predecessors,
        out=out,
        device=device,
        memory_limit=memory_limit,
        checkpoint=checkpoint,
    )
    refused: list[DeviceError] = []
    for planned in runs.plans(request, refused):
        return "\n".join(runs.reasons(request, planned))
    raise runs.least(refused)


def settle(request: Request, plan: Plan, answer: Rows) -> Rows:
    """Return the rows, type and cutoff that were asked for.

    Raises
    ------
    NegativeCycleError, PrecisionError
        As `solve`.
    """
    check_rows(request, answer)
    rows = request.options.sources if plan.options.sources is None else None
    distances, before = rows_of(request, plan.options, answer, rows, request.options.out)
    return replace(answer, distances=distances, predecessors=before)


def check_rows(request: Request, answer: Rows) -> None:
    """Look for negative cycles and clipped distances, unless the method has.

    Raises
    ------
    NegativeCycleError, PrecisionError
        As `solve`.
    """
    graph, distances, sources = request.input, answer.distances, request.options.sources
    if answer.checked:
        return
    check_diagonal(graph, np.diagonal(distances))
    if request.options.must_check(graph):
        # Without negative weights what is lost in one row cannot make another one wrong.
        everything = sources is None or graph.has_negative
        check_answer(graph, distances if everything else distances[sources])


def rows_of(
    request: Request,
    told: AllPairsOptions,
    answer: Rows,
    rows: np.ndarray | None = None,
    out: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return distances and predecessors in the type and up to the cutoff asked for.

    Parameters
    ----------
    request : Request
    told : AllPairsOptions
        Those of the plan.
    answer : Rows
        To it.
    rows : (k,) int64 ndarray, optional
        Which rows of the answer; all unless given.
    out : (k, n) ndarray, optional
        Where to put the distances.
    """
    options, distances, before = request.options, answer.distances, answer.predecessors
    if rows is not None:
        here = out if distances.dtype == options.dtype else None
        # they are in range; looking for that again would cost a copy
        distances = np.take(distances, rows, axis=0, out=here, mode="clip")
        before = None if before is None else before[rows]
    if distances.dtype != options.dtype:
        distances = converted(distances, options.dtype, out)
    if told.cutoff is None:
        options.hide(distances, before)
    return distances, before
