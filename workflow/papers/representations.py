"""Representations of graphs for kernels, and the bytes that each needs.

`FORMATS` has the formats of F. Busato's thesis (2018, chapters 3 and 7). Some need no conversion:

- lists of arcs by rows (CSR), also of undirected graphs, where every edge is two arcs: `Graph`;
- the same with the arcs that enter vertices: `Graph` and `Graph.reversed`;
- a matrix of weights: ``pyapsp.graph.dense.DenseGraph``;
- a matrix in parts, for graphs larger than the memory of the device: the method ``fw-outofcore``.

They are in `FORMATS` as well, so that their bytes can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyopencl as cl

from pyapsp.device import Device, device_errors
from pyapsp.device.kernels import Program, Stopwatch, upload
from pyapsp.device.kernels.source import headed
from pyapsp.errors import GraphError
from pyapsp.graph import Graph

__all__ = ["FORMATS", "Format", "Representation", "csr_m_on_device", "pitch", "represent"]

_KERNELS = Path(__file__).with_name("csr_m.cl")
# Bytes that rows of a pitched matrix are a multiple of.
_ALIGNMENT = 128
# Vertices of the largest matrix that is made.
_MOST = 2**15
_GROUP = 64
_Ends = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Representation:
    """A graph in one of the formats.

    Attributes
    ----------
    format : str
        Its name in `FORMATS`.
    n : int
        Vertices.
    arrays : dict of str to ndarray
        What a kernel reads.
    """

    format: str
    n: int
    arrays: Mapping[str, np.ndarray]

    @property
    def bytes(self) -> int:
        """The bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    @property
    def is_weighted(self) -> bool:
        """Whether weights are stored, alone or in records of arcs."""
        return not {"weights", "arcs"}.isdisjoint(self.arrays)

    def arcs(self) -> _Ends:
        """Return tails and heads of all arcs, in the order of tails and then heads; int32."""
        tails, heads = FORMATS[self.format].read(self)
        order = np.lexsort((heads, tails))
        return tails[order].astype(np.int32), heads[order].astype(np.int32)


@dataclass(frozen=True)
class Format:
    """A format of graphs.

    Attributes
    ----------
    id : str
        A short name, "R1" to "R14"; R4 is ``fw-outofcore``, and R7 an undirected `Graph` in CSR.
    summary : str
    space, membership, neighbours : str
        Orders: of the memory, of finding out whether there is an arc, of listing the neighbours of
        a vertex.
    make : callable
        Takes a graph, and returns the arrays.
    read : callable
        Takes a `Representation`, and returns tails and heads of its arcs.
    """

    id: str
    summary: str
    space: str
    membership: str
    neighbours: str
    make: Callable[[Graph], dict[str, np.ndarray]]
    read: Callable[[Representation], _Ends]


def represent(graph: Graph, name: str) -> Representation:
    """Convert a graph.

    Parameters
    ----------
    graph : Graph
    name : str
        In `FORMATS`.

    Returns
    -------
    Representation

    Raises
    ------
    GraphError
        If a matrix would have more than 32,768 rows, offsets of arcs do not fit int32, or the
        format is for undirected graphs, and the graph is directed.
    """
    return Representation(name, graph.n, FORMATS[name].make(graph))


def pitch(n: int, itemsize: int) -> int:
    """Return the elements of a row of a pitched matrix: bytes are a multiple of 128."""
    row = -(-n * itemsize // _ALIGNMENT) * _ALIGNMENT
    return row // itemsize


def csr_m_on_device(graph: Graph, device: Device) -> Representation:
    """Return the same as ``represent(graph, "csr-m")``, made by a kernel from the offsets."""
    offsets, heads = _offsets(graph), np.array(graph.indices)
    rows = np.empty((graph.n, 2), np.int32)
    if graph.n:
        program = Program(device, headed(_KERNELS.read_text("utf-8"), {"PYAPSP_GROUP": _GROUP}))
        with device_errors(device, 4 * offsets.size + rows.nbytes):
            queue = device.queue()
            stored = upload(queue, offsets, Stopwatch())
            made = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, rows.nbytes)
            shape = (-(-graph.n // _GROUP) * _GROUP,), (_GROUP,)
            program.kernel("csr_m_build")(queue, *shape, stored, made, np.int32(graph.n))
            cl.enqueue_copy(queue, rows, made)
    return Representation("csr-m", graph.n, {"rows": rows, "heads": heads})


def _offsets(graph: Graph) -> np.ndarray:
    if graph.m > np.iinfo(np.int32).max:
        raise GraphError(f"{graph.m:,} arcs: offsets of int32 need less than 2^31")
    return graph.indptr.astype(np.int32)


def _weights(graph: Graph) -> np.ndarray:
    """Return the weights, in 4 bytes if they fit."""
    if graph.dtype.kind == "i" and graph.max_magnitude < 2**31:
        return graph.weights.astype(np.int32)
    return np.array(graph.weights)


def _matrix(graph: Graph, dtype: np.dtype, width: int) -> np.ndarray:
    if graph.n > _MOST:
        raise GraphError(f"a matrix of {graph.n:,} rows: at most {_MOST:,}")
    return np.zeros((graph.n, width), dtype)


def _flags(graph: Graph) -> dict[str, np.ndarray]:
    flags = _matrix(graph, np.dtype(np.uint8), graph.n)
    flags[graph.arcs()[:2]] = 1
    return {"flags": flags}


def _distances(graph: Graph, width: int) -> np.ndarray:
    """Return weights, with infinity for no arc and 0 on the diagonal."""
    matrix = _matrix(graph, np.dtype(np.float32), width)
    matrix.fill(np.inf)
    tails, heads, weights = graph.arcs()
    matrix[tails, heads] = weights
    np.fill_diagonal(matrix[:, : graph.n], 0)
    return matrix


def _pitched(graph: Graph) -> dict[str, np.ndarray]:
    return {"weights": _distances(graph, pitch(graph.n, 4))}


def _csr(graph: Graph) -> dict[str, np.ndarray]:
    return {"offsets": _offsets(graph), "heads": np.array(graph.indices)}


def _weighted_csr(graph: Graph) -> dict[str, np.ndarray]:
    return {**_csr(graph), "weights": _weights(graph)}


def _both(graph: Graph) -> dict[str, np.ndarray]:
    entering = {f"reverse {name}": array for name, array in _csr(graph.reversed()).items()}
    return {**_csr(graph), **entering}


def _records(ends: Mapping[str, np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Return arcs as records."""
    kinds = [(name, np.int32) for name in ends] + [("weight", weights.dtype)]
    records = np.empty(weights.size, np.dtype(kinds, align=True))
    for name, values in {**ends, "weight": weights}.items():
        records[name] = values
    return records


def _csr_records(graph: Graph) -> dict[str, np.ndarray]:
    arcs = _records({"head": graph.indices}, _weights(graph))
    return {"offsets": _offsets(graph), "arcs": arcs}


def _coo(graph: Graph) -> dict[str, np.ndarray]:
    tails, heads, _ = graph.arcs()
    return {"tails": np.array(tails), "heads": np.array(heads)}


def _coo_records(graph: Graph) -> dict[str, np.ndarray]:
    tails, heads, _ = graph.arcs()
    return {"arcs": _records({"tail": tails, "head": heads}, _weights(graph))}


def _half(graph: Graph) -> dict[str, np.ndarray]:
    if graph.directed:
        raise GraphError("edges that are stored once need an undirected graph")
    tails, heads, _ = graph.arcs()
    once = tails <= heads
    return {"ends": tails[once], "other ends": heads[once]}


def _csr_m(graph: Graph) -> dict[str, np.ndarray]:
    offsets = _offsets(graph)
    rows = np.stack([offsets[:-1], offsets[1:]], axis=1)
    return {"rows": rows, "heads": np.array(graph.indices)}


def _of_flags(stored: Representation) -> _Ends:
    tails, heads = np.nonzero(stored.arrays["flags"])
    return tails, heads


def _of_weights(stored: Representation) -> _Ends:
    matrix = stored.arrays["weights"][:, : stored.n].copy()
    np.fill_diagonal(matrix, np.inf)
    tails, heads = np.nonzero(np.isfinite(matrix))
    return tails, heads


def _of_rows(stored: Representation) -> _Ends:
    arrays = stored.arrays
    heads = arrays["arcs"]["head"] if "arcs" in arrays else arrays["heads"]
    sizes = np.diff(arrays["rows"])[:, 0] if "rows" in arrays else np.diff(arrays["offsets"])
    return np.repeat(np.arange(stored.n), sizes), heads


def _of_list(stored: Representation) -> _Ends:
    arrays = stored.arrays
    if "arcs" in arrays:
        return arrays["arcs"]["tail"], arrays["arcs"]["head"]
    return arrays["tails"], arrays["heads"]


def _of_half(stored: Representation) -> _Ends:
    tails, heads = stored.arrays["ends"], stored.arrays["other ends"]
    apart = tails != heads
    return np.concatenate([tails, heads[apart]]), np.concatenate([heads, tails[apart]])


_ROWS = ("V + E", "largest degree", "largest degree")
_LISTS = ("2 E", "log E", "E")
#: The formats by name. Matrices of weights have no loops, because their diagonal is 0.
FORMATS = {
    "matrix": Format("R1", "a flag for each pair", "V^2", "1", "V", _flags, _of_flags),
    "weighted matrix": Format(
        "R2",
        "a weight for each pair; DenseGraph",
        "V^2",
        "1",
        "V",
        lambda graph: {"weights": _distances(graph, graph.n)},
        _of_weights,
    ),
    "pitched matrix": Format(
        "R3", "rows of a multiple of 128 bytes", "V^2", "1", "V", _pitched, _of_weights
    ),
    "csr": Format("R5, R14", "offsets and heads; Graph", *_ROWS, _csr, _of_rows),
    "weighted csr": Format("R5", "with weights; Graph", *_ROWS, _weighted_csr, _of_rows),
    "csr of records": Format("R6", "head and weight together", *_ROWS, _csr_records, _of_rows),
    "csr and reverse": Format(
        "R8", "with entering arcs; Graph and reversed()", "2 V + 2 E", *_ROWS[1:], _both, _of_rows
    ),
    "csr-m": Format("R13", "both ends of a row together", "2 V + E", *_ROWS[1:], _csr_m, _of_rows),
    "coo": Format("R9, R11", "tails and heads, sorted", *_LISTS, _coo, _of_list),
    "coo of records": Format(
        "R10", "tail, head and weight together", "3 E", "log E", "E", _coo_records, _of_list
    ),
    "half coo": Format("R12", "undirected edges once", "E", "E", "E", _half, _of_half),
}
