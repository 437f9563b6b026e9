"""fw-twolevel: the kernel for the tiles off the pivot, every sub-tile, and the choice of l."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp import verify
from pyapsp.all_pairs.dense.floyd_warshall import Run
from pyapsp.errors import ParameterError
from pyapsp.graph import generators
from pyapsp.paths import AllPairsOptions


def assert_solves(method, device, n, dtype):
    graph = generators.random_graph(n, seed=n)
    result = pyapsp.solve(graph, method, dtype=dtype, device=device)
    assert verify.against_scipy(graph, result).ok


@pytest.mark.parametrize("K", [0, 2, 5])
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("subtile", [1, 4, 16])
def test_others(K, count, subtile, device):
    tile, dtype = 16, np.dtype(np.float32)
    method = pyapsp.method("fw-twolevel", tile=tile, subtile=subtile)
    graph = generators.random_graph(90, seed=1)
    configuration = method.plan(graph, AllPairsOptions(device, dtype)).state[0]
    before = np.random.default_rng(2).integers(0, 1000, (96, 96)).astype(dtype)
    queue = device.queue()
    buffer = cl.Buffer(
        queue.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=before
    )
    method.enqueue_others(Run(configuration, queue, [buffer]), K, count)
    after = np.empty_like(before)
    cl.enqueue_copy(queue, after, buffer)
    pivot = slice(K * tile, (K + 1) * tile)
    expected = np.minimum(before, (before[:, pivot, None] + before[None, pivot]).min(axis=1))
    expected[pivot] = before[pivot]
    expected[:, pivot] = before[:, pivot]
    np.testing.assert_array_equal(after, expected)


# table 4.4 of the thesis
@pytest.mark.slow
@pytest.mark.every(3)
@pytest.mark.parametrize(("tile", "subtile"), [(16, 4), (32, 2), (64, 4)])
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_as_published(tile, subtile, dtype, device):
    method = pyapsp.method("fw-twolevel", tile=tile, subtile=subtile, l=2, width=1, h_pivot=4)
    for n in (tile, tile + 1, 2 * tile, 193):
        assert_solves(method, device, n, dtype)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "tile", [32, *(pytest.param(tile, marks=pytest.mark.nightly) for tile in (16, 64))]
)
def test_every_sub_tile(tile, device):
    lanes = device.traits.lanes(4)
    for number, subtile in enumerate((1, 2, 4, 8, 16)):
        width = 2 ** ((number + tile // 16) % lanes.bit_length())
        method = pyapsp.method("fw-twolevel", tile=tile, subtile=subtile, width=width, h_pivot=4)
        assert_solves(method, device, 2 * tile + 1, "int32")


def test_strips_that_are_too_wide(device):
    method = pyapsp.method("fw-twolevel", width=16)
    if device.traits.lanes(8) < 16:
        with pytest.raises(ParameterError, match="a strip must be at most"):
            assert_solves(method, device, 10, "int64")


def test_measured(device):
    method = pyapsp.method("fw-twolevel", tile=16, selector="MT")
    graph = generators.random_graph(90, seed=1)
    options = AllPairsOptions(device, np.dtype(np.float32))
    assert set(method.times(graph, options, "MT")) == {1, 2, 3, 5}
    assert method.plan(graph, options).parameters["l"] in {1, 2, 3, 5}
    assert_solves(method, device, 90, "float32")
