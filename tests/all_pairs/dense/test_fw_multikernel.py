"""fw-multikernel: its shapes of tiles and groups, and products with a closed pivot."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import pyapsp
from pyapsp.all_pairs.dense.fw_multikernel import TileShape
from pyapsp.errors import NegativeCycleError, ParameterError
from pyapsp.graph import Graph

from .. import expected


def random_graph(n, *, low=1, high=100, seed=0):
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, 5 * n))
    weights = rng.integers(low, high, tails.size)
    proper = tails != heads
    return Graph.from_arcs(n, tails[proper], heads[proper], weights[proper])


def assert_solves(graph, method, device, dtype="int32"):
    result = pyapsp.solve(graph, method, dtype=dtype, device=device)
    expected.assert_solves(graph, result)
    return result


SHAPES = [
    dict(zip(TileShape.choices, values, strict=True))
    for values in itertools.product(
        (8, 16, 32, 64), (1, 2, 4, 8), (1, 2, 4, 8, 16), (1, 2, 8, 32), (1, 2, 8, 32), (0, 1)
    )
    if values[0] % (values[1] * values[3]) == 0 and values[0] % (values[2] * values[4]) == 0
]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "start", [0, *(pytest.param(start, marks=pytest.mark.nightly) for start in range(1, 3))]
)
def test_shapes(start, device):
    """An even sample of the legal shapes that this device takes; each is one more compilation."""
    graph, shape = random_graph(75), TileShape(device, 4)
    fitting = [each for each in SHAPES if shape.fits(each)]
    assert len(fitting) > 100
    for parameters in fitting[start * 17 :: 51]:
        result = assert_solves(graph, pyapsp.method("fw-multikernel", **parameters), device)
        assert result.stats["parameters"] == parameters


@pytest.mark.every(5)
@pytest.mark.parametrize("items", [1024, 512, 256, 128, 64])
def test_the_published_groups(items, device):
    parameters = {"tile": 32, "width": 1, "rows": 1024 // items, "group_x": 32, "contiguous": 1}
    method = pyapsp.method("fw-multikernel", **parameters, group_y=items // 32)
    if items > device.capabilities.max_work_group_size:
        with pytest.raises(ParameterError, match="fit"):
            pyapsp.solve(random_graph(101), method, device=device)
        return
    assert_solves(random_graph(101), method, device)


def test_contiguous_tiles_are_a_second_matrix(device):
    graph = random_graph(150)
    methods = [pyapsp.method("fw-multikernel", tile=16, contiguous=each) for each in (0, 1)]
    one, two = (assert_solves(graph, method, device) for method in methods)
    assert one.stats["peak_device_bytes"] == 4 * 160**2
    assert two.stats["peak_device_bytes"] == 2 * 4 * 160**2


@pytest.mark.parametrize("method", ["fw-multikernel", "fw-singlekernel"])
@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("length", [2, 9, 40])
def test_negative_cycles_through_many_tiles(length, dtype, method, device):
    # row and column tiles are products with a pivot that may have a negative diagonal
    n = 45
    graph = random_graph(n)
    tails, heads, weights = graph.arcs()
    cycle = np.random.default_rng(length).permutation(n)[:length]
    tails, heads = np.append(tails, cycle), np.append(heads, np.roll(cycle, -1))
    weights = np.append(weights, np.where(np.arange(length) == 0, -length, 1))
    broken = Graph.from_arcs(n, tails, heads, weights)
    with pytest.raises(NegativeCycleError) as caught:
        pyapsp.solve(broken, pyapsp.method(method, tile=8), dtype=dtype, device=device)
    assert caught.value.weight < 0


def test_shapes_that_do_not_fit(device):
    for parameters, text in (
        ({"tile": 8, "group_x": 16}, "multiple of width x group_x"),
        ({"tile": 16, "rows": 16, "group_y": 2}, "rows x group_y"),
        ({"group_x": 32, "group_y": 64, "tile": 8}, "a group at most"),
    ):
        with pytest.raises(ParameterError, match=text):
            pyapsp.solve(
                random_graph(9), pyapsp.method("fw-multikernel", **parameters), device=device
            )
