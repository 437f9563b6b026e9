"""apsp-bfs: unweighted graphs only, groups of every size, and the end of a type."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyapsp
from pyapsp.device.kernels import Stopwatch
from pyapsp.errors import GraphError, ParameterError
from pyapsp.graph import Graph, generators
from pyapsp.paths import AllPairsOptions
from pyapsp.paths.result import NO_PREDECESSOR

from .answers import assert_solves


def unweighted(n, m, seed=0):
    graph = generators.random_graph(n, m, seed=seed)
    return graph.with_weights(np.ones(graph.m, np.int64))


@pytest.mark.parametrize("weight", [0, 2, -1, 0.5])
def test_weights_are_refused(weight, device):
    graph = unweighted(20, 60)
    weights = graph.weights.astype(float)
    weights[7] = weight
    with pytest.raises(GraphError, match="apsp-bfs needs an unweighted graph"):
        pyapsp.solve(graph.with_weights(weights), "apsp-bfs", device=device)


@pytest.mark.parametrize("group", [1, 8, 64, 256])
@pytest.mark.parametrize("sources", [1, 16, 64, 65536])
def test_every_block_and_group(sources, group, device):
    method = pyapsp.method("apsp-bfs", sources=sources, group=group)
    graph = unweighted(83, 250)
    result = pyapsp.solve(graph, method, dtype="int32", predecessors=True, device=device)
    assert result.stats["parameters"] == {"sources": sources, "group": group}
    assert_solves(graph, result, device)


def test_groups_beyond_the_device(device, monkeypatch):
    import dataclasses

    from pyapsp.device import Device

    real = device.capabilities
    small = property(lambda self: dataclasses.replace(real, max_work_group_size=64))
    monkeypatch.setattr(Device, "capabilities", small)
    with pytest.raises(ParameterError, match="group must be at most 64"):
        pyapsp.solve(unweighted(9, 20), pyapsp.method("apsp-bfs", group=128), device=device)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arcs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40))
def test_any_small_graph(device, arcs):
    tails, heads = zip(*arcs, strict=True) if arcs else ((), ())
    graph = Graph.from_arcs(10, tails, heads)
    result = pyapsp.solve(graph, "apsp-bfs", dtype="int16", predecessors=True, device=device)
    assert_solves(graph, result, device)


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_the_search_ends_where_the_type_does(dtype, device):
    """A line longer than the largest distance of the type: later vertices are unreachable."""
    infinity = np.iinfo(dtype).max // 2
    n = infinity + 5
    line = Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n))
    options = AllPairsOptions(device, np.dtype(dtype), predecessors=True)
    method = pyapsp.method("apsp-bfs", sources=1)
    solver = method.open(method.plan(line, options), Stopwatch())
    distances, before = np.empty((1, n), dtype), np.empty((1, n), np.int32)
    for source in (0, 2):
        solver.solve_block(np.array([source]), distances, before)
        expected = np.minimum(np.abs(np.arange(n) - source), infinity)
        expected[:source] = infinity
        np.testing.assert_array_equal(distances[0], expected)
        reached = (expected < infinity) & (expected > 0)
        np.testing.assert_array_equal(
            before[0], np.where(reached, np.arange(n) - 1, NO_PREDECESSOR)
        )
