"""Checks of an answer: by a certificate, and by comparison with SciPy.

`certificate` needs no other solver: distances that satisfy three local conditions are right. It
runs on the device in O(n m). `against_scipy` solves the graph again on the host. `oracle` combines
both to check many answers for one graph.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyopencl as cl
import scipy

from pyapsp.base.errors import GraphError, PrecisionError
from pyapsp.device import Device, DeviceLike, choose, device_errors
from pyapsp.device.kernels import build
from pyapsp.graph import Graph, GraphLike, Weight, as_graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.checks import check_weights
from pyapsp.numbers.precision import (
    Tolerance,
    infinity,
    largest_finite,
    tolerance,
    tolerance_for,
)
from pyapsp.paths import PathOptions, Rows
from pyapsp.paths.result import Result
from pyapsp.registry import Check

__all__ = ["Check", "against_distances", "against_scipy", "certificate", "oracle", "spread"]

_FAULTS = (
    "the distance of a vertex to itself is not 0",
    "an arc gives a shorter path",
    "no path has this length",
    "the predecessors are no shortest path",
)
# Work-items of a group; a driver that chooses compiles a kernel again for each number of vertices.
_GROUP = 64
# Rows are sent to the device in blocks of about this many bytes, and at most this many rows, since
# drivers limit the second dimension of a launch.
_BLOCK_BYTES, _ROWS = 64 * 2**20, 2**15
# Limit of the arcs that SciPy relaxes to compute the expected rows: about a second.
_ORACLE_ARCS = 2 * 10**7
# Limit of the arcs that its Bellman-Ford reads, n times all of them: about two seconds.
_ORACLE_READS = 5 * 10**8
# float64 holds all whole numbers up to this one.
_EXACT = 2**53


def certificate(
    graph: GraphLike, result: Result, *, weight: Weight = ..., device: DeviceLike = None
) -> Check:
    """Check an answer by three conditions that together prove that the distances are right.

    An arc from u to v is tight if ``d(u) + w(u, v) = d(v)``. The conditions are: d(i, i) = 0; no
    arc shortens a distance; every vertex with a finite distance is reached from the source by tight
    arcs. If there are predecessors, each must be the tail of a tight arc, and they must lead back
    to the source.

    Parameters
    ----------
    graph : Graph or graph-like
        The graph that was solved (symmetrized, if it was solved with ``directed=False``).
    result : Result
        The answer; any subset of rows.
    weight : hashable, callable or None, optional
        As for `pyapsp.solve`.
    device : optional
        The device that checks; see `pyapsp.device.choose`.

    Returns
    -------
    Check

    Raises
    ------
    GraphError
        If the numbers of vertices of the answer and of the graph differ.

    Notes
    -----
    It takes O(n) work for each arc, and memory for the arcs and a block of rows. An answer with a
    cutoff is incomplete, so that the certificate fails.
    """
    graph = as_graph(graph, weight=weight, copy=False)
    distances, n = result.distances, graph.n
    if distances.ndim != 2 or distances.shape[1] != n:
        raise GraphError(f"the answer has {distances.shape[-1]} vertices, the graph has {n}")
    allowed = tolerance(graph, distances)
    chosen = choose(device)
    try:
        check_weights(graph, distances.dtype)
    except PrecisionError as error:  # these cannot be sums of such weights
        fault: str | None = str(error)
    else:
        each = min(max(_BLOCK_BYTES // (max(n, 1) * distances.dtype.itemsize), 1), _ROWS)
        with device_errors(chosen, _BLOCK_BYTES + 16 * graph.m):
            checker = _Checker(chosen, graph, distances.dtype, allowed)
            faults = (
                checker.check(
                    distances[block],
                    None if result.predecessors is None else result.predecessors[block],
                    result.sources[block],
                )
                for start in range(0, len(distances) if n else 0, each)
                for block in [slice(start, start + each)]
            )
            fault = next((fault for fault in faults if fault is not None), None)
    return Check(fault is None, fault, "its certificate")


class _Checker:
    """The arcs on the device, and the kernels that check rows with them."""

    def __init__(self, device: Device, graph: Graph, dtype: np.dtype, allowed: Tolerance) -> None:
        defines = arithmetic_defines(device, dtype)
        slack = np.dtype(np.float32) if dtype == np.float16 else dtype
        defines["PYAPSP_SLACK"] = "float" if dtype == np.float16 else defines["PYAPSP_VALUE"]
        self.program = build(device, "paths/certificate.cl", defines)
        self.queue, self.dtype, self.n = device.queue(), dtype, graph.n
        self.group = min(_GROUP, device.capabilities.max_work_group_size)
        entering = graph.reversed()
        weights = entering.weights.astype(dtype)
        self.arcs = [
            self._buffer(entering.indptr.astype(np.int64)),
            self._buffer(entering.indices.astype(np.int32)),
            self._buffer(weights),
        ]
        self.slack = (slack.type(allowed.relative), slack.type(allowed.absolute))
        # with positive weights tight arcs form no cycle, because distances grow along them
        self.falling = allowed.exact and graph.min_weight is not None and graph.min_weight > 0

    def _buffer(self, array: np.ndarray) -> cl.Buffer:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        # OpenCL has no empty buffers; this one is never read
        host = np.ascontiguousarray(array) if array.size else np.zeros(1, array.dtype)
        return cl.Buffer(self.queue.context, flags, hostbuf=host)

    def _launch(
        self, name: str, shape: tuple[int, int], *arguments: cl.Buffer | np.generic | None
    ) -> None:
        items = -(-shape[0] // self.group) * self.group, shape[1]
        self.program.kernel(name)(self.queue, items, (self.group, 1), *arguments)

    def check(
        self, distances: np.ndarray, before: np.ndarray | None, sources: np.ndarray
    ) -> str | None:
        """Return the first fault of a block of rows as text, or None."""
        count, n = len(distances), np.int32(self.n)
        shape = (self.n, count)
        rows = self._buffer(distances)
        source = self._buffer(sources.astype(np.int32))
        fault = np.full((len(_FAULTS), count), np.iinfo(np.int32).max, dtype=np.int32)
        faults = self._buffer(fault)
        rest = (n, np.int32(count))
        self._launch(
            "certificate_relax", shape, rows, source, *self.arcs, faults, *rest, *self.slack
        )
        if not self.falling:
            marked = np.zeros(shape[::-1], dtype=np.int32)
            marked[np.arange(count), sources] = 1
            marks = self._buffer(marked)
            self._mark_attained(shape, rows, marks)
            self._launch("certificate_unmarked", shape, rows, marks, faults, *rest)
        if before is not None:
            paths = self._buffer(before.astype(np.int32))
            self._launch(
                "certificate_walk",
                shape,
                rows,
                source,
                paths,
                *self.arcs,
                faults,
                *rest,
                *self.slack,
            )
        cl.enqueue_copy(self.queue, fault, faults)
        kinds, at = np.nonzero(fault < self.n)
        if kinds.size == 0:
            return None
        kind, row = kinds[0], at[0]
        i, j = int(sources[row]), int(fault[kind, row])
        text = f"{_FAULTS[kind]}: row {i}, column {j}, distance {distances[row, j]}"
        return text if before is None else f"{text}, predecessor {before[row, j]}"

    def _mark_attained(self, shape: tuple[int, int], rows: cl.Buffer, marks: cl.Buffer) -> None:
        """Mark the vertices that tight arcs reach from the sources."""
        changed = np.ones(1, dtype=np.int32)
        flag = self._buffer(changed)
        while changed[0]:
            cl.enqueue_copy(self.queue, flag, np.zeros(1, dtype=np.int32))
            self._launch(
                "certificate_attain",
                shape,
                rows,
                *self.arcs,
                marks,
                flag,
                np.int32(self.n),
                *self.slack,
            )
            cl.enqueue_copy(self.queue, changed, flag)


def against_scipy(graph: GraphLike, result: Result, *, weight: Weight = ...) -> Check:
    """Compare distances with those of SciPy in float64.

    Parameters
    ----------
    graph, result, weight
        As for `certificate`.

    Returns
    -------
    Check
        The distances must be equal if sums are exact, and equal up to rounding otherwise.

    Notes
    -----
    SciPy uses Dijkstra for non-negative weights, else Johnson.
    """
    graph = as_graph(graph, weight=weight, copy=False)
    return against_distances(graph, result, scipy_distances(graph, result.sources))


def scipy_distances(graph: Graph, sources: np.ndarray) -> np.ndarray:
    """Return SciPy's rows of these sources, in float64; inf if there is no path.

    SciPy uses Dijkstra for non-negative weights, else Johnson.
    """
    if sources.size == 0 or graph.m == 0:  # SciPy takes no matrix without arcs
        return np.where(sources[:, None] == np.arange(graph.n), 0.0, np.inf)
    matrix = graph.to_scipy().astype(np.float64)
    csgraph = scipy.sparse.csgraph
    solver = csgraph.johnson if graph.has_negative else csgraph.dijkstra
    return np.asarray(solver(matrix, directed=True, indices=sources))


def against_distances(graph: Graph, result: Result, expected: np.ndarray) -> Check:
    """Compare distances with given ones.

    Parameters
    ----------
    graph : Graph
        The graph that was solved.
    result : Result
        The answer; any subset of rows.
    expected : ndarray of float64
        The same rows of the true distances, inf if there is no path.

    Returns
    -------
    Check
        The distances must be equal if sums are exact, and equal up to rounding otherwise.
    """
    distances = result.distances
    allowed, worst, fault = _tolerance(graph, distances), 0.0, None
    each = max(_BLOCK_BYTES // (8 * max(graph.n, 1)), 1)
    for start in range(0, len(distances), each):
        rows = slice(start, start + each)
        found, right = distances[rows], expected[rows]
        reached = found < infinity(distances.dtype)
        difference = np.zeros(right.shape)
        # if only one side has a path, the difference is infinite
        difference[reached != np.isfinite(right)] = np.inf
        both = reached & np.isfinite(right)
        np.subtract(found, right, where=both, out=difference)
        np.abs(difference, out=difference)
        limit = allowed.relative * np.abs(right, where=both, out=np.zeros(right.shape))
        wrong = difference > limit + allowed.absolute
        worst = max(worst, float(difference.max(initial=0)))
        if fault is None and wrong.any():
            row, j = np.argwhere(wrong)[0]
            i = result.sources[start + row]
            fault = f"from {i} to {j} it found {found[row, j]}, not {right[row, j]}"
    return Check(fault is None, fault, "SciPy", worst)


def _tolerance(graph: Graph, distances: np.ndarray) -> Tolerance:
    """Return the tolerance of an answer beside one of SciPy, which is float64."""
    if distances.dtype.kind == "f":
        return tolerance(graph, distances)
    if graph.n * int(graph.max_magnitude or 0) < _EXACT:
        return Tolerance(0.0, 0.0)
    largest, complete = largest_finite(distances), len(distances) == graph.n
    return tolerance_for(graph, np.dtype(np.float64), largest, complete=complete)


def oracle(graph: Graph, options: PathOptions) -> Callable[[Rows], Check]:
    """Return a function that checks rows of distances.

    It compares rows with SciPy's: all, an evenly spread sample if all would take long, or none if
    there are negative weights in a graph so large that one row would take long. With a sample,
    with predecessors, or if SciPy's float64 does not hold the integers of the answer, the
    certificate must hold as well. It is computed once for each type; later answers need only be
    equal to one with a certificate. With a cutoff there is none: rows are compared in any case.

    Parameters
    ----------
    graph : Graph
    options : PathOptions
        ``sources`` and ``cutoff`` of the answers, and the device that checks certificates.

    Returns
    -------
    callable
        From `Rows` to a `Check`.
    """
    sources = options.rows(graph.n)
    most = max(_ORACLE_ARCS // max(graph.m, 1), 1)
    if graph.has_negative and graph.n * graph.m > _ORACLE_READS and options.cutoff is None:
        most = 0
    some = spread(sources.size, most)
    expected = scipy_distances(graph, sources[some])
    if options.cutoff is not None:
        # as in the answer, a distance is rounded before it is compared
        whole = options.dtype.kind in "iu"
        rounded = expected if whole else expected.astype(options.dtype)
        expected[rounded > options.cutoff] = np.inf
    everything = some.size == sources.size
    rows = "all" if everything else f"{some.size} of {sources.size}"
    compared_with = [f"SciPy, {rows} rows"] if everything or some.size else []
    certified: dict[tuple[int, ...], bytes] = {}

    def check(answer: Rows) -> Check:
        distances, before = answer.distances, answer.predecessors
        if distances.shape != (sources.size, graph.n):
            return Check(False, f"its shape is {distances.shape}", "SciPy", float("inf"))
        found = against_distances(graph, Result(distances[some], None, sources[some]), expected)
        compared = replace(found, oracle=", ".join(compared_with))
        if not compared_with:
            compared = replace(compared, max_error=None)
        whole = distances.dtype.kind in "iu"
        rounded = whole and _tolerance(graph, distances) != Tolerance(0.0, 0.0)
        enough = everything and before is None and not rounded
        if not compared.ok or enough or options.cutoff is not None:
            return compared
        proven = replace(compared, oracle=", and ".join([*compared_with, "a certificate"]))
        key, content = (distances.dtype, before is not None), _digest(distances, before)
        if certified.get(key) == content:
            return proven
        proof = certificate(graph, Result(distances, before, sources), device=options.device)
        if proof.ok:
            certified[key] = content
        return replace(proven, ok=proof.ok, fault=proof.fault)

    return check


def spread(count: int, most: int) -> np.ndarray:
    """Return at most `most` evenly spread numbers below `count`, the first and last included."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def _digest(*arrays: np.ndarray | None) -> bytes:
    """Return a hash of an answer; answers are compared by it, without a copy."""
    content = hashlib.sha256()
    for array in arrays:
        if array is not None:
            content.update(np.ascontiguousarray(array).data)
    return content.digest()
