"""The methods that scatter: parameters, and minima without 64-bit atomics."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

import pyapsp
from pyapsp import verify
from pyapsp.device import Device
from pyapsp.errors import DeviceMemoryError, ParameterError
from pyapsp.graph import Graph, generators
from pyapsp.paths import AllPairsOptions

from .answers import assert_solves

SCATTERING = [
    each.id
    for each in pyapsp.methods("all-pairs")
    if each.__module__ == "pyapsp.all_pairs.sparse.scattering"
]
TASKS = [method for method in SCATTERING if method != "apsp-iterative"]


def hub(n, seed=0):
    """Make a graph in which one vertex has arcs to all others, and the others have few or none."""
    rng = np.random.default_rng(seed)
    tails = np.concatenate([np.zeros(n, int), rng.integers(0, n, 2 * n)])
    heads = np.concatenate([np.arange(n), rng.integers(0, n, 2 * n)])
    return Graph.from_arcs(n, tails, heads, rng.integers(0, 50, 3 * n))


@pytest.mark.every(6)
@pytest.mark.pairwise
@pytest.mark.parametrize("vertices", [1, 2, 4, 16])
@pytest.mark.parametrize("sources", [1, 2, 4, 8, 32, 256])
@pytest.mark.parametrize("method", TASKS)
def test_every_shape_of_groups(method, sources, vertices, device):
    """Degrees below and above N, and blocks that n does not fill."""
    chosen = pyapsp.method(method, sources=sources, vertices=vertices)
    graph = hub(75)
    if sources * vertices > device.capabilities.max_work_group_size:
        with pytest.raises(ParameterError, match="sources x vertices must be at most"):
            pyapsp.solve(graph, chosen, dtype="int32", device=device)
        return
    result = pyapsp.solve(graph, chosen, dtype="int32", predecessors=True, device=device)
    assert result.stats["parameters"] == {"sources": sources, "vertices": vertices}
    assert_solves(graph, result, device)


@pytest.mark.every(2)
@pytest.mark.parametrize("vertices", [32, 128, 1024])
def test_every_group_of_the_iterative_method(vertices, device):
    method = pyapsp.method("apsp-iterative", vertices=vertices)
    if vertices > device.capabilities.max_work_group_size:
        pytest.skip("the device has no such groups")
    result = pyapsp.solve(hub(75), method, dtype="int32", predecessors=True, device=device)
    assert_solves(hub(75), result, device)


@pytest.mark.parametrize("degree", [1, 31, 32, 33, 63, 64, 65, 100])
def test_degrees_around_the_chunk(degree, device):
    n = 110
    others = np.arange(1, n - 1)
    graph = Graph.from_arcs(
        n,
        [*[0] * degree, *others],
        [*range(1, degree + 1), *[n - 1] * others.size],
        [*range(degree, 0, -1), *[1] * others.size],
    )
    result = pyapsp.solve(graph, "apsp-tasks", dtype="int32", predecessors=True, device=device)
    assert_solves(graph, result, device)
    assert result.distances[0, n - 1] == 2


def test_groups_beyond_the_local_memory(device, monkeypatch):
    real = device.capabilities
    small = property(lambda self: dataclasses.replace(real, local_memory=4096))
    monkeypatch.setattr(Device, "capabilities", small)
    method = pyapsp.method("apsp-tasks", sources=128, vertices=4)
    with pytest.raises(ParameterError, match="4096 bytes of local memory"):
        pyapsp.solve(hub(75), method, dtype="int64", device=device)
    result = pyapsp.solve(hub(75), "apsp-tasks", dtype="int64", device=device)
    assert_solves(hub(75), result, device)


@pytest.mark.every(4)
@pytest.mark.parametrize("dtype", ["int64", "float64"])
@pytest.mark.parametrize("method", SCATTERING)
def test_without_64_bit_atomics(method, dtype, device, monkeypatch):
    """Words in two halves: vertices with many offers that differ in either half, or in both."""
    poor = dataclasses.replace(device.capabilities, int64_atomics=False)
    rng = np.random.default_rng(5)
    n, m = 60, 900
    tails, heads = rng.integers(0, n, (2, m))
    weights = rng.choice([0, 1, 2**31 - 1, 2**31, 2**31 + 1, 2**32, 3 * 2**32 - 1], m)
    graph = Graph.from_arcs(n, tails, heads, weights)
    usual = pyapsp.solve(graph, method, dtype=dtype, device=device)
    monkeypatch.setattr(Device, "capabilities", property(lambda self: poor))
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    assert result.stats["kernel_hash"] != usual.stats["kernel_hash"]
    assert_solves(graph, result, device)
    rounded = graph.with_weights(rng.random(graph.m)) if dtype == "float64" else graph
    result = pyapsp.solve(rounded, method, dtype=dtype, device=device)
    assert verify.against_scipy(rounded, result).ok


def test_memory_is_as_published(device):
    """(3 N + 1) n + 2 m words, and n + 2 m more for paths; offsets of arcs are 8 bytes here."""
    n, m = 500, 2000
    graph = generators.random_graph(n, m, seed=1)
    for sources, wanted in itertools.product((8, 32), (False, True)):
        method = pyapsp.method("apsp-tasks", sources=sources)
        options = AllPairsOptions(device, np.dtype(np.int32), predecessors=wanted)
        words = 3 * sources * n + (1 + wanted) * (2 * (n + 1) + 2 * m) + sources + 1
        assert method.plan(graph, options).device_bytes == 4 * words


def test_where_memory_is_short_fewer_sources_are_solved_at_once(device):
    graph = generators.random_graph(500, 2000, seed=1)
    options = AllPairsOptions(device, np.dtype(np.int32))
    method = pyapsp.method("apsp-tasks")
    whole = method.plan(graph, options)
    assert whole.parameters == {"sources": 32, "vertices": 4}
    limited = dataclasses.replace(options, memory_limit=whole.device_bytes // 3)
    assert method.plan(graph, limited).parameters["sources"] == 8
    with pytest.raises(DeviceMemoryError):
        pyapsp.method("apsp-tasks", sources=32).plan(graph, limited)


def test_sources_in_any_order(device):
    """What `solve` will ask for when it wants some rows only."""
    from pyapsp.device.kernels import Stopwatch

    graph = hub(75)
    method = pyapsp.method("apsp-tasks", sources=8)
    plan = method.plan(graph, AllPairsOptions(device, np.dtype(np.int32), predecessors=True))
    solver = method.open(plan, Stopwatch())
    expected = pyapsp.solve(graph, "fw-naive", dtype="int32", device=device).distances
    for sources in ([70, 3, 3, 0], [5], list(range(8))):
        rows = np.empty((len(sources), 75), np.int32)
        before = np.empty_like(rows)
        solver.solve_block(np.array(sources), rows, before)
        np.testing.assert_array_equal(rows, expected[sources])
        result = pyapsp.Result(rows, before, np.array(sources))
        assert verify.certificate(graph, result, device=device).ok
