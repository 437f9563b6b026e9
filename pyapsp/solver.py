"""`solve`: from anything that is a graph to a `Result`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np

from pyapsp import __version__
from pyapsp.choice import candidates, unmet
from pyapsp.device import choose
from pyapsp.errors import (
    DeviceError,
    DeviceMemoryError,
    ParameterError,
    StallError,
)
from pyapsp.graph import Graph, as_graph
from pyapsp.precision import check_answer, check_diagonal, converted, infinity, resolve
from pyapsp.registry import Answer, Method, Options, Plan
from pyapsp.registry import method as find_method
from pyapsp.result import NO_PREDECESSOR, Result

__all__ = ["explain", "solve"]


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
        ``"auto"``, a method id (see `methods`), or ``pyapsp.method(id, tile=16, ...)``.
    directed : bool
        False: an arc may be walked both ways, at the smaller of the two weights.
    sources : sequence of int, optional
        Only the rows of these vertices.
    cutoff : float, optional
        Report distances above this as unreachable.
    dtype : dtype-like or "auto", optional
        Of the distances: float64 (the default), float32, float16 where the device has it, int64,
        int32, int16 or uint16. ``"auto"`` takes the narrowest integer type that is proved exact
        for this graph, else a float type.
    predecessors : bool
        Also compute the last vertex before j on each path, for `Result.path`.
    out : ndarray, optional
        Where to put the distances: (n, n), or (k, n) for k sources, C-contiguous, of the dtype
        of the distances (which it decides when `dtype` is None). A memory map will do; the
        predecessors of ``fw-outofcore`` then go into a file beside it, ``NAME.predecessors.npy``.
        Its content is undefined after an error.
    device : str, int, Device or pyopencl object, or a list of these, optional
        Which device; see `pyapsp.device.choose`. Of several the first leads, and methods that can
        (``fw-outofcore``) use all.
    memory_limit : int, optional
        Bytes of device memory the run may use.
    checkpoint : path-like, optional
        Folder for checkpoints, for the methods that write them (``fw-outofcore``). A run that
        ended early goes on from there; at the end the checkpoint is removed.
    progress : callable, optional
        Called as ``progress(done, total)``; an exception from it ends the run.
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
    if cutoff is not None and not (isinstance(cutoff, Real) and cutoff >= 0):
        raise ParameterError.of("cutoff", "solve", "a non-negative number", cutoff)
    asked, graph, rows, options, dtype_reason = _request(
        graph,
        method,
        directed=directed,
        sources=sources,
        dtype=dtype,
        predecessors=predecessors,
        out=out,
        device=device,
        memory_limit=memory_limit,
        checkpoint=checkpoint,
        progress=progress,
        check=check,
    )
    chosen_dtype = options.dtype
    plan, chosen, answer, method_reason = _run(asked, graph, options)
    if not answer.checked:
        check_diagonal(graph, np.diagonal(answer.distances))
        if check:
            # Without negative weights what is lost in one row cannot make another one wrong.
            everything = sources is None or graph.has_negative
            check_answer(graph, answer.distances if everything else answer.distances[rows])

    distances, before = answer.distances, answer.predecessors
    if plan.options.dtype != chosen_dtype:
        distances = converted(distances, chosen_dtype, options.out)
    if sources is not None:
        distances = np.take(distances, rows, axis=0, out=out)
        before = None if before is None else before[rows]
    if cutoff is not None:
        # a float type must not round the cutoff
        beyond = distances > (np.float64(cutoff) if chosen_dtype.kind == "f" else cutoff)
        distances[beyond] = infinity(chosen_dtype)
        if before is not None:
            before[beyond] = NO_PREDECESSOR
    stats = _stats(chosen, plan, answer, chosen_dtype, time.perf_counter() - started)
    stats |= {"sources": None if sources is None else len(rows), "cutoff": cutoff}
    reasons = _reasons(plan, chosen, method_reason, chosen_dtype, dtype_reason)
    return Result(distances, before, rows, graph.labels, stats, reasons)


def explain(
    graph: Any,
    method: str | Method = "auto",
    *,
    directed: bool = True,
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
    asked, graph, _, options, dtype_reason = _request(
        graph,
        method,
        directed=directed,
        dtype=dtype,
        predecessors=predecessors,
        out=out,
        device=device,
        memory_limit=memory_limit,
        checkpoint=checkpoint,
    )
    refused: list[DeviceError] = []
    for plan, chosen, reason in _plans(asked, graph, options, refused):
        return "\n".join(_reasons(plan, chosen, reason, options.dtype, dtype_reason))
    raise _least(refused)


def _request(
    graph: Any,
    method: str | Method,
    *,
    directed: bool,
    dtype: Any,
    predecessors: bool,
    out: np.ndarray | None,
    device: Any,
    memory_limit: int | None,
    checkpoint: str | PathLike[str] | None,
    sources: Sequence[int] | np.ndarray | None = None,
    progress: Callable[[int, int], None] | None = None,
    check: bool = True,
) -> tuple[Method | str, Graph, np.ndarray, Options, str]:
    """Check what `solve` was asked for, and resolve it."""
    graph = as_graph(graph)
    if not directed:
        graph = graph.symmetrized()
    rows = _rows(sources, graph.n)
    if memory_limit is not None and not (isinstance(memory_limit, Integral) and memory_limit > 0):
        raise ParameterError.of("memory_limit", "solve", "a positive number of bytes", memory_limit)
    if progress is not None and not callable(progress):
        raise ParameterError.of("progress", "solve", "a function of (done, total)", progress)
    if out is not None and not isinstance(out, np.ndarray):
        raise ParameterError.of("out", "solve", "a NumPy array", type(out).__name__)
    asked = method if isinstance(method, Method) or method == "auto" else find_method(method)
    chosen_device, *helpers = [choose(each) for each in _listed(device)]
    chosen_dtype, reason = resolve(graph, out.dtype if dtype is None and out is not None else dtype)
    if out is not None:
        _check_out(out, (len(rows), graph.n), chosen_dtype)
    options = Options(
        device=chosen_device,
        dtype=chosen_dtype,
        predecessors=predecessors,
        memory_limit=memory_limit,
        out=out if sources is None else None,
        progress=progress,
        helpers=tuple(helpers),
        checkpoint=checkpoint,
        check=check,
    )
    return asked, graph, rows, options, reason


def _reasons(
    plan: Plan, method: Method, reason: str, dtype: np.dtype, dtype_reason: str
) -> tuple[str, ...]:
    """Say what was chosen and why."""
    device = plan.options.device
    return (
        f"method {method.id}: {reason}",
        f"dtype {dtype}: {dtype_reason}",
        f"device {device.id} ({device.name}, {device.platform_name})",
        f"parameters: {_parameters(method, plan)}",
        f"device memory: {plan.device_bytes / 2**20:,.1f} MiB for n = {plan.graph.n:,}",
        *plan.notes,
    )


def _parameters(method: Method, plan: Plan) -> str:
    """Say which parameters were taken, and where from."""
    if not plan.parameters:
        return "none"
    listed = ", ".join(f"{name}={value}" for name, value in plan.parameters.items())
    if method.parameters.keys() == plan.parameters.keys():
        return f"{listed} (as asked)"
    row, origin = plan.tuning, "the default of the method, not tuned"
    if row is not None:
        near = {"device": "this device", "architecture": "this architecture"}
        where = near.get(row["level"], "this kind of device")
        origin = f"tuned for {where}: {row['device']}, {row['dtype']}, n = {row['n']:,}"
    asked = ", ".join(method.parameters)
    return f"{listed} ({f'{asked} as asked; ' if asked else ''}{origin})"


def _rows(sources: Sequence[int] | np.ndarray | None, n: int) -> np.ndarray:
    if sources is None:
        return np.arange(n)
    rows = np.atleast_1d(np.asarray(sources))
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise ParameterError.of("sources", "solve", "a sequence of vertices", sources)
    if rows.size and (rows.min() < 0 or rows.max() >= n):
        outside = rows[(rows < 0) | (rows >= n)][0]
        raise ParameterError.of("sources", "solve", f"vertices in [0, {n})", int(outside))
    return rows.astype(np.int64)


def _plans(
    asked: Method | str, graph: Graph, options: Options, refused: list[DeviceError]
) -> Iterator[tuple[Plan, Method, str]]:
    """Yield the plan of the method asked for, or one after the other of those "auto" may take."""
    if isinstance(asked, Method):
        error = unmet(asked, graph, options)
        if error is not None:
            raise error
        yield asked.plan(graph, options), asked, "as asked"
        return
    found = candidates(graph, options)
    for number, choice in enumerate(found):
        narrow = choice.dtype != options.dtype
        out = None if narrow else options.out
        try:
            plan = choice.method.plan(graph, replace(options, dtype=choice.dtype, out=out))
        except DeviceMemoryError as error:
            refused.append(error)
            continue
        others = "; ".join(map(str, found[number + 1 :])) or "no other"
        reason = f"auto, the shortest predicted time: {choice} (then {others})"
        yield plan, choice.method, reason + (f"; held so, for {choice.proof}" if narrow else "")


def _run(asked: Method | str, graph: Graph, options: Options) -> tuple[Plan, Method, Answer, str]:
    """Run the first plan that neither stalls nor wants more memory than there is."""
    refused: list[DeviceError] = []
    for plan, method, reason in _plans(asked, graph, options, refused):
        try:
            return plan, method, method.run(plan), reason
        except (DeviceMemoryError, StallError) as error:
            refused.append(error)
    raise _least(refused)


def _least(refused: list[DeviceError]) -> DeviceError:
    """Return the error that asks for the least memory."""
    return min(refused, key=lambda error: getattr(error, "needed", math.inf))


def _listed(device: Any) -> list[Any]:
    """Return the devices that were asked for, the main one first."""
    several = isinstance(device, list | tuple)
    if several and not device:
        raise ParameterError.of("device", "solve", "at least one device", device)
    return list(device) if several else [device]


def _check_out(out: np.ndarray, shape: tuple[int, int], dtype: np.dtype) -> None:
    fits = (
        out.shape == shape and out.dtype == dtype and out.flags.c_contiguous and out.flags.writeable
    )
    if not fits:
        rule = f"a writeable C-contiguous {dtype} array of shape {shape}"
        raise ParameterError.of("out", "solve", rule, f"{out.dtype} {out.shape}")


def _stats(
    method: Method, plan: Plan, answer: Answer, dtype: np.dtype, wall_seconds: float
) -> dict[str, Any]:
    """Return the record of the run (design: what `solve`, the workflow and the bench write)."""
    graph, device = plan.graph, plan.options.device
    updates = graph.n**3
    seconds = answer.stats["kernel_seconds"]
    return {
        "schema": 3,
        "pyapsp": __version__,
        "method": method.id,
        "parameters": plan.parameters,
        "tuning": plan.tuning,
        "dtype": dtype.name,
        "held_dtype": plan.options.dtype.name,
        "predecessors": plan.options.predecessors,
        "device": {
            "platform": device.platform_name,
            "name": device.name,
            "kind": device.kind,
            "version": device.version,
            "driver": device.driver_version,
        },
        "kernel_hash": answer.stats["kernel_hash"],
        "graph": {
            "name": graph.name,
            "n": graph.n,
            "m": graph.m,
            "directed": graph.directed,
            "hash": graph.content_hash,
        },
        "build_seconds": plan.build_seconds,
        "kernel_seconds": seconds,
        "transfer_seconds": answer.stats["transfer_seconds"],
        **answer.stats.get("more", {}),
        "wall_seconds": wall_seconds,
        "updates": updates,
        "updates_per_second": updates / seconds if seconds > 0 else None,
        "roof_updates_per_second": None,
        "fraction_of_roof": None,
        "peak_device_bytes": plan.device_bytes,
        "verified": None,
    }
