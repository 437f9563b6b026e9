"""`solve`: all-pairs shortest paths of any graph-like object, as a `Result`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.all_pairs.request import Arguments, requested
from pyapsp.base.dry import is_dry
from pyapsp.base.errors import ParameterError
from pyapsp.base.host import reserve
from pyapsp.device import DeviceLike
from pyapsp.graph import GraphLike, Vertices, Weight
from pyapsp.graph.device_matrix import DeviceMatrix
from pyapsp.paths.device_result import DeviceResult
from pyapsp.paths.device_rows import DeviceRows
from pyapsp.paths.result import Result
from pyapsp.registry import Method, runs
from pyapsp.registry.ranks import on_ranks
from pyapsp.registry.record import reasons

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["explain", "solve"]


def solve(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    directed: bool = True,
    weight: Weight = ...,
    sources: Vertices | None = None,
    cutoff: float | None = None,
    dtype: DTypeLike | None = None,
    predecessors: bool = False,
    out: np.ndarray | str | PathLike[str] | None = None,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    check: bool = True,
    keep: Literal["host", "device"] = "host",
    fallback: bool = True,
    comm: MPI.Comm | None = None,
) -> Result:
    """Compute shortest paths between all pairs of vertices.

    Parameters
    ----------
    graph : Graph or graph-like
        A `Graph`, the path of a graph file, a SciPy sparse array, a NumPy array (0 and inf mean
        "no arc"; in a masked array only masked entries do), an array of PyOpenCL or with DLPack, a
        NetworkX or igraph graph, or a pandas edge list. n vertices, weights of any sign. A
        `pyopencl.array.Array` is solved on its device, in its context.
    method : str or Method
        ``"auto"``, a method id (see `methods`), or ``pyapsp.method(id, tile=16, ...)``. Before
        "auto" uses a method for the first time with a driver, it tests the method on small graphs,
        and skips it if a distance is wrong. A method that is named is used without this test. The
        choice depends on the graph, the options, the device and the tuning database alone.
    directed : bool
        False: an arc may be walked both ways, at the smaller of the two weights.
    weight : hashable, callable or None, optional
        The edge attribute of NetworkX or igraph, or the column of a data frame or of a file, with
        the weight. A function is called as ``weight(tail, head, attributes)`` for each edge, and
        returns the weight, or None for no edge. None: all weights are 1. By default ``"weight"``;
        if nothing is called so and there are other numbers, it is an error.
    sources : sequence of int, optional
        Return only the rows of these vertices, in this order; a vertex may occur twice. The sparse
        methods compute only these rows. The dense methods compute all rows.
    cutoff : float, optional
        Report vertices farther than this as unreachable, without predecessors. Both are compared
        as numbers of the dtype: a vertex at the cutoff is not farther. Methods may stop at this
        distance. A distance that is too large for its type is no error if it is above the
        cutoff. With negative weights, a path to a nearer vertex may lead through a vertex beyond
        the cutoff; `Result.path` then raises an error.
    dtype : dtype-like or "auto", optional
        Type of the distances: float64 (the default), float32, float16 if the device supports it,
        int64, int32, int16 or uint16. ``"auto"`` selects the narrowest integer type that is proved
        exact for this graph, or else a float type.
    predecessors : bool
        Also compute the last vertex before j on each path, for `Result.path`. Of several, it is the
        one with the smallest number, except with `fw-naive`, `fw-blocked` and `apsp-bfs`, and
        behind arcs of weight zero. Rounding may make another path the shortest.
    out : ndarray, optional
        Array for the distances: shape (n, n), or (k, n) for k sources, C-contiguous, of the dtype
        of the distances. If `dtype` is None, the dtype of this array is used. It may be a memory
        map. Then ``fw-outofcore``, ``fw-multidevice`` and the sparse methods write predecessors
        into a file beside it, ``NAME.predecessors.npy``, and keep no n x n array in memory. After
        an error the content is undefined.
    device : str, int, Device or pyopencl object, or a list of these, optional
        Which device; see `pyapsp.device.choose`. The first device of a list is the main one.
        ``fw-multidevice`` and ``fw-outofcore`` can use several; so can the methods that search,
        but for ``dijkstra-cpu``: they share the sources, and the rows are those of one device. The
        memory limit is that of each.
    memory_limit : int, optional
        Bytes of device memory the run may use.
    checkpoint : path-like, optional
        Folder for checkpoints. Only ``fw-outofcore`` writes them. A run that was interrupted
        continues from its checkpoint. The checkpoint is removed when the run is complete.
    progress : callable, optional
        Called as ``progress(done, total)``. Methods that search from sources count sources. An
        exception that it raises ends the run. So does Ctrl-C, within about a second.
    check : bool
        Check whether a distance is too large for its type, unless the weights alone rule it out.
        The check takes O(n m) time on the host.
    keep : {"host", "device"}
        ``"device"``: return a `DeviceResult`. Its distances stay in the memory of the device, and
        are copied to the host when they are asked for. Predecessors are on the host.
    fallback : bool
        Whether the next method may run if the one that "auto" chose stalls, or if the driver lacks
        memory for it. Then there is a `FallbackWarning`, and the record has the cause. Distances of
        another method may differ by rounding. False raises the error.
    comm : mpi4py.MPI.Comm, optional
        Share the work among the ranks of this communicator: all of them make this call, with the
        same arguments. Only the graph of rank 0 is used, and only its `progress` is called. Ranks
        on a host take its devices in turns. Dense graphs are solved by ``fw-outofcore``, whose
        checkpoints another number of ranks can resume. `out` is None, or the name of a file
        ``OUT.npy`` or a folder ``OUT.rows``; see `pyapsp.open_rows`.

    Returns
    -------
    Result
        With `comm`: the rows of this rank; all rows, mapped, if `out` is a file; none if it is a
        folder.

    Raises
    ------
    GraphError
        If the graph is not one: NaN weights, wrong shapes, vertices out of range; or if `weight`
        must be given.
    FormatError
        If a graph file is malformed; the message has path and line.
    ParameterError
        If an argument has a value that is not allowed.
    NegativeCycleError
        If there is a negative cycle; the error has the vertices of one.
    PrecisionError
        If the dtype cannot hold the weights or the distances.
    NoDeviceError, CapabilityError, DeviceMemoryError
        If there is no device, the device does not support the request, or its memory is too small.
    DiskSpaceError
        If `out` is a memory map, and its disk is too small.
    RankError
        If another rank has failed, or its process has ended.

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
    arguments = Arguments(
        method=method,
        directed=directed,
        weight=weight,
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
        keep=keep,
        fallback=fallback,
    )
    if comm is not None:
        return cast("Result", on_ranks("solve")(comm, graph, arguments, started))
    if isinstance(out, str | PathLike):
        raise ParameterError.of("out", "solve", "a NumPy array, without comm", out)
    request = requested(graph, arguments, sends=not is_dry())
    if out is not None and not is_dry():
        reserve(out)
    try:
        solved = runs.solve(request, started)
    finally:
        if request.input is not graph and isinstance(request.input, DeviceMatrix):
            request.input.release()
    answer, rows = solved.answer, request.options.rows(request.input.n)
    about = (
        *(rows, request.input.labels, solved.record_of(graph), solved.reasons),
        request.input.is_converted,
    )
    if isinstance(answer.distances, DeviceRows):
        return DeviceResult(answer.distances, answer.predecessors, *about)
    return Result(answer.distances, answer.predecessors, *about)


def explain(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    directed: bool = True,
    weight: Weight = ...,
    sources: Vertices | None = None,
    cutoff: float | None = None,
    dtype: DTypeLike | None = None,
    predecessors: bool = False,
    out: np.ndarray | None = None,
    device: DeviceLike | Sequence[DeviceLike] = None,
    memory_limit: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    keep: Literal["host", "device"] = "host",
) -> str:
    """Describe what `solve` would do, and why: method, type, parameters, memory, predicted time.

    This builds kernels, but does not solve the problem.
    Parameters and errors are those of `solve`.

    Returns
    -------
    str
        Several lines, the same as `Result.explain` returns after the run.
    """
    arguments = Arguments(
        method=method,
        directed=directed,
        weight=weight,
        sources=sources,
        cutoff=cutoff,
        dtype=dtype,
        predecessors=predecessors,
        out=out,
        device=device,
        memory_limit=memory_limit,
        checkpoint=checkpoint,
        keep=keep,
    )
    request = requested(graph, arguments)
    candidates = runs.Candidates(request)
    planned = next(iter(candidates))
    return "\n".join(reasons(request, planned.choice, planned.plan, candidates.refused()))
