"""The matrix that a device makes of the arcs of a graph."""

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.all_pairs.dense import arcs, matrix
from pyapsp.all_pairs.dense.arcs import ArcWriter
from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.graph.generators import complete, random_graph
from pyapsp.numbers.precision import infinity

TYPES = [np.dtype(name) for name in ("int16", "uint16", "int32", "int64", "float32", "float64")]


def looped(dtype, n=40):
    """Return a graph with loops: of weights below zero if the type has a sign, and large ones."""
    rng = np.random.default_rng(7)
    tails, heads = rng.integers(0, n, (2, 300))
    weights = rng.integers(1, 99, tails.size)
    largest = 40_000 if dtype == np.uint16 else 9_000
    loops = [largest, 3, 3 if dtype.kind == "u" else -2]
    tails, heads = (np.append(ends, [3, 4, 5]) for ends in (tails, heads))
    return Graph.from_arcs(n, tails, heads, np.append(weights, loops))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("scalar", [True, False])
def test_every_word_of_the_matrix(dtype, scalar, device, set_scalar):
    set_scalar(scalar)
    graph, columns, queue = looped(dtype), 48, device.queue()
    expected = np.full((graph.n, columns), infinity(dtype), dtype)
    matrix.initial_distances(graph, expected[:, : graph.n])
    assert expected[3, 3] == 0
    assert expected[5, 5] == (0 if dtype.kind == "u" else -2)
    found = np.empty_like(expected)
    buffer = device.buffer(found.nbytes)
    ArcWriter(device, dtype).write(queue, graph, buffer, columns, infinity(dtype), Stopwatch())
    cl.enqueue_copy(queue, found, buffer)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["uint16", "float64"])
@pytest.mark.parametrize("method", ["fw-minplus", "fw-blocked", "fw-multikernel"])
def test_both_ways_give_the_same_bits(dtype, method, device, monkeypatch):
    written = []
    kept = ArcWriter.write_rows
    monkeypatch.setattr(ArcWriter, "write_rows", lambda *of: written.append(of) or kept(*of))
    for graph in (complete(190, seed=2), random_graph(190, 33_000, 9, seed=1)):
        found = []
        for many in (2**15, 2**40):
            monkeypatch.setattr(arcs, "_MANY", many)
            found.append(pyapsp.solve(graph, method=method, dtype=dtype, device=device).distances)
        np.testing.assert_array_equal(*found)
        np.testing.assert_array_equal(found[0], pyapsp.csgraph.shortest_path(graph.to_scipy()))
    assert len(written) == 2


def test_the_host_writes_the_arcs_if_the_memory_holds_the_matrix_alone(device, monkeypatch):
    written = []
    kept = ArcWriter.write_rows
    monkeypatch.setattr(ArcWriter, "write_rows", lambda *of: written.append(of) or kept(*of))
    graph = complete(200, seed=2)
    options = {"method": "fw-multikernel", "dtype": "int32", "device": device}
    needed = [
        pyapsp.dry_run(lambda limit=limit: pyapsp.solve(graph, memory_limit=limit, **options))
        for limit in (None, 400_000)
    ]
    assert needed[0].device_bytes > 400_000 >= needed[1].device_bytes
    found = [
        pyapsp.solve(graph, memory_limit=limit, **options).distances for limit in (None, 400_000)
    ]
    assert len(written) == 1
    np.testing.assert_array_equal(*found)


def test_a_matrix_of_the_host_is_copied_as_it_is(device, monkeypatch):
    monkeypatch.setattr(ArcWriter, "write_rows", None)
    weights = complete(200, seed=2).to_dense(no_arc=0)
    found = pyapsp.solve(weights, method="fw-multikernel", device=device).distances
    np.testing.assert_array_equal(found, pyapsp.csgraph.shortest_path(weights))
