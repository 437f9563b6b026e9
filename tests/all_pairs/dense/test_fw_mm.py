"""fw-mm: its three kernels one by one, every shape of group, and how l is chosen."""

from __future__ import annotations

import itertools

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp import verify
from pyapsp.all_pairs.dense import register_tiles
from pyapsp.all_pairs.dense.floyd_warshall import Run
from pyapsp.cli.options import parameter_of
from pyapsp.errors import DeviceMemoryError, ParameterError
from pyapsp.graph import generators
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters

FLOAT = np.dtype(np.float32)


def shifted(graph):
    """The graph with some negative weights, but no negative cycle."""
    potential = np.random.default_rng(0).integers(0, 40, graph.n)
    tails, heads, weights = graph.arcs()
    return graph.with_weights(weights + potential[tails] - potential[heads])


def assert_solves(method, device, n=97, dtype="int32", seed=1):
    graph = shifted(generators.random_graph(n, seed=seed))
    result = pyapsp.solve(graph, method, dtype=dtype, device=device)
    assert verify.against_scipy(graph, result).ok
    return result


def on_device(method, device, n, launch):
    """Launch on a matrix that is not closed anywhere; return it before and after."""
    graph = generators.random_graph(n, seed=1)
    configuration = method.plan(graph, AllPairsOptions(device, FLOAT)).state[0]
    size = configuration.size
    before = np.random.default_rng(2).integers(0, 1000, (size, size)).astype(FLOAT)
    queue = device.queue()
    buffer = cl.Buffer(
        queue.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=before
    )
    launch(Run(configuration, queue, [buffer]))
    after = np.empty_like(before)
    cl.enqueue_copy(queue, after, buffer)
    return before, after


def legal_shapes(device):
    lanes = device.traits.lanes(4)
    return [
        (width, group)
        for width, group in itertools.product((1, 2, 4, 8, 16), (1, 2, 4, 8, 16, 32, 64))
        if width <= lanes and 64 % (width * group) == 0
    ]


@pytest.mark.parametrize("K", [0, 1, 3])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_product_leaves_the_pivots_row_and_column_alone(K, count, device):
    tile = 16
    method = pyapsp.method("fw-mm", tile=tile)
    before, after = on_device(method, device, 150, lambda run: method.enqueue_others(run, K, count))
    pivot = slice(K * tile, (K + 1) * tile)
    paths = before[:, pivot, None] + before[None, pivot, :]
    expected = np.minimum(before, paths.min(axis=1))
    expected[pivot] = before[pivot]
    expected[:, pivot] = before[:, pivot]
    np.testing.assert_array_equal(after, expected)


@pytest.mark.every(6)
@pytest.mark.parametrize("height", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("tile", [16, 32, 64])
def test_pivot_and_panels(tile, height, device):
    method = pyapsp.method("fw-mm", tile=tile, h_pivot=height, h_panel=height)
    K = 1
    pivot = slice(K * tile, (K + 1) * tile)
    before, after = on_device(method, device, 150, lambda run: register_tiles.close_pivot(run, K))
    expected = before.copy()
    for k in range(pivot.start, pivot.stop):
        path = expected[pivot, k, None] + expected[None, k, pivot]
        expected[pivot, pivot] = np.minimum(expected[pivot, pivot], path)
    np.testing.assert_array_equal(after, expected)

    before, after = on_device(method, device, 150, lambda run: register_tiles.close_panels(run, K))
    expected = before.copy()
    rows, columns = expected[pivot], expected[:, pivot]
    for k in range(tile):
        np.minimum(rows, before[pivot, pivot][:, k, None] + rows[None, k], out=rows)
    rows[:, pivot] = before[pivot, pivot]
    for k in range(tile):
        np.minimum(columns, columns[:, k, None] + before[pivot, pivot][None, k], out=columns)
    columns[pivot] = before[pivot, pivot]
    np.testing.assert_array_equal(after, expected)


@pytest.mark.nightly
def test_shapes_of_groups(device):
    for width, group in legal_shapes(device)[::2]:
        method = pyapsp.method("fw-mm", tile=16, width=width, group=group, l=2, h_pivot=4)
        parameters = assert_solves(method, device).stats["parameters"]
        assert (parameters["width"], parameters["group"]) == (width, group)


@pytest.mark.slow
@pytest.mark.every(3)
@pytest.mark.parametrize("tile", [16, 32, 64])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_as_published(tile, dtype, device):
    pivot = {16: 16, 32: 8, 64: 4}[tile]
    method = pyapsp.method("fw-mm", tile=tile, h_pivot=pivot, h_panel=4, l=3, width=1, group=64)
    for n in (tile, tile + 1, 193):
        assert_solves(method, device, n, dtype)


def test_parameters_that_do_not_fit(device):
    graph = generators.random_graph(10, seed=1)
    method = pyapsp.method("fw-mm", width=2 * min(device.traits.lanes(8), 8))
    with pytest.raises(ParameterError, match="group x width must divide 64"):
        pyapsp.solve(graph, method, dtype="float64", device=device)
    with pytest.raises(ParameterError, match="one of default, AT, FT, TI, MT"):
        pyapsp.method("fw-mm", selector="at")


@pytest.mark.every(4)
@pytest.mark.parametrize("selector", ["AT", "FT", "TI", "MT"])
def test_who_chooses(selector, device):
    method = pyapsp.method("fw-mm", tile=16, **dict([parameter_of(f"selector={selector}")]))
    graph = shifted(generators.random_graph(300, seed=1))
    options = AllPairsOptions(device, np.dtype(np.int32))
    times = method.times(graph, options, selector)
    assert set(times) == ({1, 2, 3, 5} if selector == "MT" else {1, 2, 3, 4, 5})
    assert min(times.values()) > 0
    plan = method.plan(graph, options)
    assert plan.parameters["selector"] == selector
    assert plan.parameters["l"] in times
    if selector != "MT":
        assert plan.parameters["l"] == min(times, key=times.get)
    if selector == "TI":
        assert plan.parameters["l"] == 5
    assert method.run(plan).distances.shape == (300, 300)
    # what a plan chose can be asked for again
    again = pyapsp.method("fw-mm", **(plan.parameters | {"l": 2}))
    assert again.plan(graph, options).parameters == plan.parameters | {"l": 2}
    assert_solves(again, device)


def test_nothing_to_choose(device):
    """One tile, no vertex, or no room: l is 1."""
    options = AllPairsOptions(device, FLOAT)
    for selector, n in itertools.product(("AT", "MT"), (0, 1, 16)):
        method = pyapsp.method("fw-mm", tile=16, selector=selector)
        graph = generators.random_graph(n, seed=1) if n > 1 else pyapsp.Graph.from_arcs(n, [], [])
        assert method.times(graph, options, selector) == {}
        assert method.plan(graph, options).parameters["l"] == 1
    method = pyapsp.method("fw-mm", selector="MT")
    huge = int((device.capabilities.max_allocation // 4) ** 0.5) + 64
    with pytest.raises(DeviceMemoryError):
        pyapsp.solve(pyapsp.Graph.from_arcs(huge, [0], [1]), method, dtype=FLOAT, device=device)


def test_only_the_caller_can_ask_for_a_selector(device):
    options = AllPairsOptions(device, FLOAT)
    method = pyapsp.method("fw-mm")
    complete = Parameters(next(method.candidates(options)))
    selected = Parameters({**complete, "selector": "MT"})
    assert method.fits(complete, options)
    assert not method.fits(selected, options)
    assert pyapsp.method("fw-mm", selector="MT").fits(selected, options)
