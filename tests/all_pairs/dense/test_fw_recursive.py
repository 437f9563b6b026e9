"""fw-recursive: how many launches, in which order, and every number of tiles."""

from __future__ import annotations

import numpy as np
import pytest

import pyapsp
from pyapsp import verify
from pyapsp.all_pairs.dense.fw_recursive import launches
from pyapsp.errors import ParameterError
from pyapsp.graph import generators


@pytest.mark.parametrize("tiles", [1, 2, 4, 8, 16, 64])
def test_launches_as_published_and_merged(tiles):
    assert len(launches(tiles, merged=False)) == 7 * tiles - 6
    assert len(launches(tiles, merged=True)) == 5 * tiles - 4


@pytest.mark.parametrize("tiles", [3, 5, 6, 7, 11, 13, 100])
def test_other_numbers_of_tiles_take_as_many(tiles):
    assert len(launches(tiles, merged=False)) == 7 * tiles - 6
    assert len(launches(tiles, merged=True)) == 5 * tiles - 4


def test_no_tiles():
    assert launches(0, merged=True) == ()


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("tiles", range(1, 12))
def test_the_list_is_the_recursion(tiles, merged):
    """Floyd-Warshall by the list, with tiles of one value and products at once."""
    rng = np.random.default_rng(tiles)
    matrix = rng.integers(1, 100, (tiles, tiles)).astype(float)
    np.fill_diagonal(matrix, 0)
    expected = matrix.copy()
    for k in range(tiles):
        expected = np.minimum(expected, expected[:, k, None] + expected[None, k])
    scratch = np.full_like(matrix, np.nan)

    def product(a, b):
        return (a[:, :, None] + b[None, :, :]).min(axis=1)

    for launch in launches(tiles, merged):
        c, o = slice(*launch.closed), slice(*launch.other)
        before, after = (scratch, matrix) if launch.back else (matrix, scratch)
        if launch.work in ("left", "both"):
            after[c, o] = product(matrix[c, c], before[c, o])
        if launch.work in ("right", "both"):
            after[o, c] = product(before[o, c], matrix[c, c])
        if launch.work == "add":
            panels = matrix if launch.back else scratch
            matrix[o, o] = np.minimum(matrix[o, o], product(panels[o, c], panels[c, o]))
    np.testing.assert_array_equal(matrix, expected)


@pytest.mark.parametrize("merged", [0, 1])
@pytest.mark.parametrize("tiles", [1, 2, 3, 4, 5, 7, 8, 9])
def test_every_number_of_tiles(tiles, merged, device):
    method = pyapsp.method("fw-recursive", tile=16, merged=merged)
    graph = generators.random_graph(16 * tiles, seed=tiles)
    seen = []
    result = pyapsp.solve(
        graph, method, dtype="int32", device=device, progress=lambda *step: seen.append(step)
    )
    assert verify.against_scipy(graph, result).ok
    assert seen[-1] == 2 * (5 * tiles - 4 if merged else 7 * tiles - 6,)


@pytest.mark.slow
@pytest.mark.every(7)
@pytest.mark.parametrize("shape", [(1, 64), (1, 1), (1, 16), (4, 4), (4, 16), (4, 1), (2, 32)])
@pytest.mark.parametrize(
    "tile", [16, *(pytest.param(tile, marks=pytest.mark.nightly) for tile in (32, 64))]
)
def test_shapes_of_groups(tile, shape, device):
    width, group = shape
    method = pyapsp.method("fw-recursive", tile=tile, width=width, group=group, h_pivot=4)
    graph = generators.random_graph(150, seed=3)
    if width > device.traits.lanes(4):
        with pytest.raises(ParameterError, match="fit"):
            pyapsp.solve(graph, method, dtype="float32", device=device)
        return
    result = pyapsp.solve(graph, method, dtype="float32", device=device)
    assert verify.against_scipy(graph, result).ok
