"""Rows and predecessors of a block of sources, from costs that are given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest
from scipy.sparse import csgraph

from pyapsp import Result, verify
from pyapsp.all_pairs.sparse import source_blocks
from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph, generators
from pyapsp.paths import AllPairsOptions
from pyapsp.paths.result import NO_PREDECESSOR as NONE


def block_of(graph, costs, device, sources=None):
    """Put rows of costs on the device, and read them and their predecessors back."""
    from pyapsp.all_pairs.sparse.device_block import DeviceBlock

    sources = np.arange(len(costs)) if sources is None else np.asarray(sources)
    width = len(sources)
    options = AllPairsOptions(device, costs.dtype, predecessors=True)
    block = DeviceBlock(graph, options, width, 1, DeviceBlock.build(options, width), Stopwatch())
    block.begin(sources)
    cl.enqueue_copy(block.queue, block.costs, np.ascontiguousarray(costs.T))
    rows, before = np.empty_like(costs), np.empty(costs.shape, np.int32)
    block.read_costs(rows)
    np.testing.assert_array_equal(rows, costs)
    block.read_predecessors(before)
    return before


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["int16", "int32", "float64"])
@pytest.mark.parametrize("width", [1, 2, 31, 32, 33, 100])
def test_rows_of_every_width(width, dtype, device):
    graph = generators.random_graph(67, 300, seed=width)
    sources = np.random.default_rng(1).integers(0, 67, width)
    costs = csgraph.dijkstra(graph.to_scipy().astype(float), indices=sources)
    reached = np.isfinite(costs)
    largest = np.inf if dtype == "float64" else np.iinfo(dtype).max // 2
    costs = np.where(reached, costs, largest).astype(dtype)
    before = block_of(graph, costs, device, sources)
    assert verify.certificate(graph, Result(costs, before, sources), device=device).ok


def test_levels_of_vertices_that_keep_the_cost(device):
    """A line of zero arcs both ways: each vertex must find the one nearer to the source."""
    n = 40
    graph = Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n), np.zeros(n - 1), directed=False)
    before = block_of(graph, np.zeros((3, n), np.float32), device, [0, n - 1, 20])
    vertices = np.arange(n)
    expected = [
        np.where(vertices > 0, vertices - 1, NONE),
        np.where(vertices < n - 1, vertices + 1, NONE),
        np.where(vertices == 20, NONE, np.where(vertices > 20, vertices - 1, vertices + 1)),
    ]
    np.testing.assert_array_equal(before, expected)


def test_an_arc_that_raises_the_cost_is_preferred(device):
    # 0 -> 1 at 5, 1 <-> 2 at 0, 0 -> 2 at 5: neither 1 nor 2 is to find the other
    graph = Graph.from_arcs(3, [0, 0, 1, 2], [1, 2, 2, 1], [5, 5, 0, 0])
    costs = np.array([[0, 5, 5]], np.int32)
    np.testing.assert_array_equal(block_of(graph, costs, device), [[NONE, 0, 0]])


def test_costs_that_nothing_attains_end_with_an_error(device):
    """The search must end: vertices 1 and 2 both have cost 5, each through the other."""
    graph = Graph.from_arcs(3, [1, 2], [2, 1], [0, 0])
    with pytest.raises(AssertionError, match="no tight path attains"):
        block_of(graph, np.array([[0, 5, 5]], np.int32), device)


def test_levels_of_meshes_are_those_of_what_is_reached():
    mesh = replace(generators.random_graph(900, 3600).facts, family="mesh")
    assert source_blocks.levels_of(mesh) == 60
    assert source_blocks.levels_of(replace(mesh, m=1800)) == 900  # it may be a path
    assert source_blocks.levels_of(replace(mesh, m=1800, reach=0.01)) == 9
    assert source_blocks.levels_of(replace(mesh, reach=1e-6)) == 1
    assert source_blocks.levels_of(replace(mesh, m=1800, depth=7)) == 7
