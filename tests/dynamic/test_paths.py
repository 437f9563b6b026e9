"""Shortest paths that follow updates, against SciPy after each of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csgraph

from pyapsp.dynamic import Hornet, PathRows, analytics
from pyapsp.errors import GraphError, ParameterError, PrecisionError


def lengths(held, sources):
    unweighted = "weight" not in held.snapshot().values
    found = csgraph.dijkstra(held.to_csr().astype(float), unweighted=unweighted, indices=sources)
    found[np.isinf(found)] = -1
    return found


@pytest.mark.parametrize("weight", [None, "int16", "uint8"])
@pytest.mark.parametrize("directed", [True, False])
def test_rows_after_every_update(weight, directed, device, form):
    random = np.random.default_rng(5)
    held = Hornet(120, directed=directed, weight=weight, block_array=64, device=device)
    rows = PathRows(held, np.arange(0, 120, 7))
    again = []
    for step in range(14):
        count = (150, 1, 20, 1)[step % 4]
        ends = random.integers(0, 120, (2, count))
        if step % 3 == 2:
            again.append(rows.delete_edges(*ends))
        else:
            # SciPy takes no stored zeros
            weights = None if weight is None else random.integers(1, 20, count)
            again.append(rows.insert_edges(*ends, weights))
        assert (rows.lengths == lengths(held, rows.sources)).all(), step
    assert min(again) < rows.sources.size  # some are left as they are
    assert max(again) > 0


def test_what_is_affected(device):
    held = Hornet(6, device=device)
    rows = PathRows(held)
    assert rows.insert_edges([0, 1, 2, 4], [1, 2, 3, 5]) == 4
    assert rows.insert_edges([0], [3]) == 1  # 0 to 3 is shorter, and only that
    assert rows.insert_edges([3], [3]) == 0
    assert rows.delete_edges([2, 3, 5], [3, 3, 0]) == 2  # from 1 and 2
    assert rows.lengths[:3].tolist() == [
        [0, 1, 2, 1, -1, -1],
        [-1, 0, 1, -1, -1, -1],
        [-1, -1, 0, -1, -1, -1],
    ]


def test_weights_of_zero(device):
    held = Hornet(3, weight="int32", device=device)
    rows = PathRows(held, [0])
    rows.insert_edges([0, 1], [1, 2], [0, 0])
    assert rows.lengths.tolist() == [[0, 0, 0]]
    assert rows.delete_edges([1], [2]) == 1
    assert rows.lengths.tolist() == [[0, 0, -1]]


def test_what_is_refused(device):
    held = Hornet(3, weight="int32", device=device)
    rows = PathRows(held, [0])
    for wrong, words in ((-1, "at least 0"), (2**30, "too long")):
        with pytest.raises(PrecisionError, match=words):
            rows.insert_edges([0], [1], wrong)
    with pytest.raises(GraphError, match="edge number 0 goes from 0 to 9"):
        rows.insert_edges([0], [9], 1)
    assert held.m == 0
    with pytest.raises(ParameterError, match="integer type"):
        PathRows(Hornet(3, weight="float32", device=device))
    with pytest.raises(ParameterError, match="integer weights"):
        analytics.distances(Hornet(3, weight="float32", device=device), 0)
