"""Shortest paths that follow updates, against SciPy after each of them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csgraph

from pyapsp.dynamic import Hornet, PathRows, analytics, updates
from pyapsp.errors import DeviceMemoryError, GraphError, ParameterError, PrecisionError
from pyapsp.graph import Graph


def lengths(held, sources):
    unweighted = "weight" not in held.snapshot().values
    found = csgraph.dijkstra(held.to_csr().astype(float), unweighted=unweighted, indices=sources)
    found[np.isinf(found)] = -1
    return found


@pytest.mark.every(3)
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


def test_lengths_are_a_copy(device):
    held = Hornet(3, device=device)
    rows = PathRows(held, [0])
    kept = rows.lengths
    rows.insert_edges([0], [1])
    assert kept.tolist() == [[0, -1, -1]]
    rows.lengths[:] = 7
    assert rows.lengths.tolist() == [[0, 1, -1]]


def test_rows_after_an_error(device, monkeypatch):
    held = Hornet(5, device=device)
    rows = PathRows(held)
    rows.insert_edges([0, 1], [1, 2])

    def full(*arguments, **options):
        raise DeviceMemoryError(1, 0, "none")

    loop = [4], [4]  # changes no length: only what may be wrong is computed
    with pytest.raises(GraphError):
        rows.insert_edges([2], [9])
    assert rows.insert_edges(*loop) == 0
    for owner, name, edges, again in ((updates, "insert", 3, 5), (analytics, "distances", 4, 3)):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, full)
            with pytest.raises(DeviceMemoryError):
                rows.insert_edges([2], [3])
        assert held.m == edges
        assert rows.insert_edges(*loop) == again
        assert (rows.lengths == lengths(held, rows.sources)).all()


def test_lengths_after_an_error_are_those_of_the_container(device, monkeypatch):
    held = Hornet(5, device=device)
    rows = PathRows(held)

    def full(*arguments, **options):
        raise DeviceMemoryError(1, 0, "none")

    with monkeypatch.context() as patch:
        patch.setattr(analytics, "distances", full)
        with pytest.raises(DeviceMemoryError):
            rows.insert_edges([0, 1], [1, 2])
    assert held.m == 2
    assert (rows.lengths == lengths(held, rows.sources)).all()


def test_rows_after_an_interrupt(device, monkeypatch):
    """It may come when the container has changed, and in the middle of the rows."""
    held = Hornet(5, device=device)
    rows = PathRows(held)
    rows.insert_edges([0, 1, 2], [1, 2, 3])
    real = Hornet.delete_edges

    def interrupted(*arguments):
        real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Hornet, "delete_edges", interrupted)
        with pytest.raises(KeyboardInterrupt):
            rows.delete_edges([1], [2])
    calls, distances = [], analytics.distances

    def second(graph, source):
        if calls:
            raise MemoryError
        calls.append(source)
        return distances(graph, source)

    with monkeypatch.context() as patch:
        patch.setattr(analytics, "distances", second)
        with pytest.raises(MemoryError):
            rows.insert_edges([4], [4])
    assert rows.insert_edges([4], [4]) == 4
    assert (rows.lengths == lengths(held, rows.sources)).all()


def test_an_update_takes_no_copy_of_all_lengths(device):
    rows = PathRows(Hornet(20000, device=device), np.arange(100))
    rows.insert_edges([500], [501])
    tracemalloc.start()
    try:
        assert rows.insert_edges([501], [502]) == 0
        assert rows.delete_edges([501], [502]) == 0
        assert tracemalloc.get_traced_memory()[1] < rows.lengths.nbytes / 2
    finally:
        tracemalloc.stop()


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


def test_rows_of_what_is_no_container_any_more(device):
    with pytest.raises(ParameterError, match=r"'held'.*Graph"):
        PathRows(Graph.from_arcs(2, [0], [1]))
    held = Hornet(2, device=device)
    rows = PathRows(held)
    held.insert_vertices(1)
    for update in (rows.insert_edges, rows.delete_edges):
        with pytest.raises(ParameterError, match="2 vertices, and the container has 3"):
            update([0], [2])
    assert held.m == 0


def test_rows_of_other_vertices(device):
    """The number of vertices is the same, but they are others."""
    held = Hornet(3, device=device)
    rows = PathRows(held, [0])
    rows.insert_edges([0, 1], [1, 2])
    held.delete_vertices([1])
    for update in (rows.insert_edges, rows.delete_edges):
        with pytest.raises(ParameterError, match="were deleted or inserted"):
            update([0], [2])
    assert held.m == 0
    assert PathRows(held).sources.tolist() == [0, 2]
