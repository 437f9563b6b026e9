"""Checking an answer: by its own certificate, and against SciPy.

`certificate` needs no oracle: distances that satisfy three local conditions are right. It runs on
the device in O(n m). `against_scipy` solves the graph again on the host.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl
import scipy.sparse.csgraph as scipy_csgraph

from pyapsp.device import Device, choose, device_errors
from pyapsp.errors import GraphError, PrecisionError, VerificationError
from pyapsp.graph import Graph
from pyapsp.kernels import build
from pyapsp.precision import Tolerance, arithmetic_defines, check_weights, infinity, tolerance
from pyapsp.result import Result

__all__ = ["Certificate", "Comparison", "against_distances", "against_scipy", "certificate"]

_FAULTS = (
    "the distance of a vertex to itself is not 0",
    "an arc gives a shorter path",
    "no path has this length",
    "the predecessors are no shortest path",
)
# Rows are sent to the device in blocks of about this many bytes.
_BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Certificate:
    """The outcome of `certificate`.

    Attributes
    ----------
    ok : bool
        Whether the rows are the distances, and the predecessors the paths, of the graph.
    fault : str or None
        The first fault: what, where, and the value there.
    rows : int
        How many rows were checked.
    predecessors : bool
        Whether there were predecessors to check.
    tolerance : Tolerance
        What was allowed for rounding.
    """

    ok: bool
    fault: str | None
    rows: int
    predecessors: bool
    tolerance: Tolerance

    def require(self) -> None:
        """Raise `VerificationError` unless `ok`."""
        if not self.ok:
            raise VerificationError(self.fault)


@dataclass(frozen=True)
class Comparison:
    """The outcome of `against_scipy`.

    Attributes
    ----------
    ok : bool
        Whether all distances agree within `tolerance`, and exactly where sums are exact.
    max_error : float
        Largest absolute difference; inf when one side has a path and the other has none.
    tolerance : Tolerance
    """

    ok: bool
    max_error: float
    tolerance: Tolerance


def certificate(graph: Graph, result: Result, *, device: Any = None) -> Certificate:
    """Check an answer by the three conditions that make distances right.

    d(i, i) = 0; no arc shortens a distance; every finite distance is the length of a walk over
    arcs that attain equality. Predecessors, where there are any, must be existing arcs that
    attain equality and lead back to the source.

    Parameters
    ----------
    graph : Graph
        What was solved (symmetrized, if it was solved with ``directed=False``).
    result : Result
        The answer; any subset of rows.
    device : optional
        Where to check; see `pyapsp.device.choose`.

    Returns
    -------
    Certificate

    Raises
    ------
    GraphError
        If the answer has another number of vertices than the graph.

    Notes
    -----
    O(n) work for each arc and each row, and memory for the arcs and a block of rows. With a
    cutoff the answer is incomplete by intention, and the certificate will say so.
    """
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
        each = max(_BLOCK_BYTES // (max(n, 1) * distances.dtype.itemsize), 1)
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
    return Certificate(
        fault is None, fault, len(distances), result.predecessors is not None, allowed
    )


class _Checker:
    """The arcs on the device, and the kernels that hold rows against them."""

    def __init__(self, device: Device, graph: Graph, dtype: np.dtype, allowed: Tolerance) -> None:
        defines = arithmetic_defines(device, dtype)
        slack = np.dtype(np.float32) if dtype == np.float16 else dtype
        defines["PYAPSP_SLACK"] = "float" if dtype == np.float16 else defines["PYAPSP_VALUE"]
        self.program = build(device, "verify/certificate.cl", defines)
        self.queue, self.dtype, self.n = device.queue(), dtype, graph.n
        entering = graph.reversed()
        weights = entering.weights.astype(dtype)
        self.arcs = [
            self._buffer(entering.indptr.astype(np.int64)),
            self._buffer(entering.indices.astype(np.int32)),
            self._buffer(weights),
        ]
        self.slack = (slack.type(allowed.relative), slack.type(allowed.absolute))
        # tight arcs cannot close a cycle: distances fall along them
        self.falling = allowed.exact and graph.min_weight is not None and graph.min_weight > 0

    def _buffer(self, array: np.ndarray) -> cl.Buffer:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        # an empty array, which OpenCL cannot hold, is never read
        host = np.ascontiguousarray(array) if array.size else np.zeros(1, array.dtype)
        return cl.Buffer(self.queue.context, flags, hostbuf=host)

    def _launch(self, name: str, shape: tuple[int, int], *arguments: Any) -> None:
        self.program.kernel(name)(self.queue, shape, None, *arguments)

    def check(
        self, distances: np.ndarray, before: np.ndarray | None, sources: np.ndarray
    ) -> str | None:
        """Return the first fault of a block of rows, in words."""
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
        """Mark what tight arcs reach from the sources."""
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


def against_scipy(graph: Graph, result: Result) -> Comparison:
    """Compare distances with those of SciPy in float64.

    Parameters
    ----------
    graph : Graph
        What was solved (symmetrized, if it was solved with ``directed=False``).
    result : Result
        The answer; any subset of rows.

    Returns
    -------
    Comparison
        Exact agreement is required where sums are exact.

    Notes
    -----
    Dijkstra for non-negative weights, else Johnson: both are independent of what is checked here.
    """
    matrix = graph.to_scipy().astype(np.float64)
    solver = scipy_csgraph.johnson if graph.has_negative else scipy_csgraph.dijkstra
    if result.distances.size == 0:
        expected = np.empty(result.distances.shape)
    else:
        expected = solver(matrix, directed=True, indices=result.sources)
    return against_distances(graph, result, expected)


def against_distances(graph: Graph, result: Result, expected: np.ndarray) -> Comparison:
    """Compare distances with given ones.

    Parameters
    ----------
    graph : Graph
        What was solved.
    result : Result
        The answer; any subset of rows.
    expected : ndarray of float64
        The same rows of the true distances, inf where there is no path.

    Returns
    -------
    Comparison
        Exact agreement is required where sums are exact.
    """
    distances = result.distances
    reached = distances < infinity(distances.dtype)
    allowed = tolerance(graph, distances)
    if not np.array_equal(reached, np.isfinite(expected)):
        return Comparison(False, float("inf"), allowed)
    difference = np.zeros_like(expected)
    np.subtract(distances, expected, where=reached, out=difference)
    np.abs(difference, out=difference)
    limit = allowed.relative * np.abs(expected, where=reached, out=np.zeros_like(expected))
    ok = bool(np.all(difference <= limit + allowed.absolute))
    return Comparison(ok, float(difference.max(initial=0)), allowed)
