"""sssp-bucketing: numbers of buckets, empty buckets, sorts from the least distance, the cutoff."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp.graph import Graph, generators
from pyapsp.traversal.sssp.sssp_bucketing import _Buckets

# Nine steps of 1, then one of 1,000 or of 20,000: with a delta of 56, 17 and 356 empty buckets.
STEPS = np.where(np.arange(299) % 10 == 9, np.where(np.arange(299) % 100 == 99, 20_000, 1000), 1)
GAPS = Graph.from_arcs(300, range(299), range(1, 300), STEPS, directed=False)
GRAPHS = {
    "gaps": GAPS,
    "grid": generators.grid_2d(17, 31, 2),
    "path": generators.path(300, max_weight=9),
    # whole numbers, many of them at bounds
    "random": generators.random_graph(400, 1600, max_weight=6, seed=3),
}


def searched(graph, device, cutoff=None, dtype="float64", **parameters):
    method = pyapsp.method("sssp-bucketing", **parameters)
    return pyapsp.sssp(graph, 1, method, cutoff=cutoff, dtype=dtype, device=device)


@pytest.fixture
def takes(monkeypatch):
    """Count the sorts of the far lists, and those among them from the least distance."""
    counts = {"sorts": 0, "least": 0}
    for name, key in (("_counted", "sorts"), ("_least", "least")):
        plain = getattr(_Buckets, name)

        def counted(self, *arguments, plain=plain, key=key):
            counts[key] += 1
            return plain(self, *arguments)

        monkeypatch.setattr(_Buckets, name, counted)
    return counts


@pytest.mark.parametrize("buckets", [2, 8, 64])
@pytest.mark.parametrize("name", GRAPHS)
def test_every_number_of_buckets(name, buckets, device, takes):
    graph = GRAPHS[name]
    dtype = "int32" if name == "random" else "float64"
    found = searched(graph, device, buckets=buckets, delta=50, dtype=dtype)
    expected = csgraph.dijkstra(graph.to_scipy(), indices=1)
    expected[np.isinf(expected)] = found.infinity
    np.testing.assert_allclose(found.distances, expected, rtol=1e-12)
    assert takes["sorts"] > 3


def test_more_buckets_skip_more_that_are_empty(device, takes):
    sorts = []
    for buckets in (2, 64):
        takes.update(sorts=0, least=0)
        searched(GAPS, device, buckets=buckets, delta=25)
        sorts.append(dict(takes))
    assert sorts[0]["least"] > sorts[1]["least"] > 0
    assert sorts[0]["sorts"] > sorts[1]["sorts"]


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
def test_the_cutoff_is_inclusive_and_stops_the_search(dtype, device, takes):
    graph = generators.path(300, max_weight=9)
    expected = csgraph.dijkstra(graph.to_scipy(), indices=1)
    whole = searched(graph, device, delta=100, dtype=dtype)
    sorts = takes["sorts"]
    for cutoff in np.sort(expected[np.isfinite(expected)])[[0, 7, 40]]:
        takes.update(sorts=0)
        found = searched(graph, device, cutoff=float(cutoff), delta=100, dtype=dtype)
        near = expected <= cutoff
        np.testing.assert_array_equal(found.distances[near], whole.distances[near])
        assert (found.distances[~near] == found.infinity).all()
        assert takes["sorts"] < sorts / 2


def test_a_cutoff_at_the_first_distance_after_a_gap(device):
    """Its vertex is searched: an arc of weight zero leads to another at the cutoff."""
    tails, heads, weights = [1, *range(3, 300), 2], [2, *range(4, 301), 3], [1000, *[0] * 298]
    graph = Graph.from_arcs(301, tails, heads, weights)
    for cutoff, reached in ((1000, 299), (999, 0)):
        found = searched(graph, device, cutoff=cutoff, buckets=2, delta=25)
        assert (found.distances == 1000).sum() == reached


def test_distances_at_the_bounds_of_buckets(device):
    """Sums of 0.1 are rounded, and so are the bounds: each vertex is in one bucket all the same."""
    n = 500
    graph = Graph.from_arcs(n, range(n - 1), range(1, n), np.full(n - 1, 0.1))
    for dtype in ("float32", "float64"):
        if dtype == "float64" and not device.capabilities.fp64:
            continue
        found = searched(graph, device, dtype=dtype, delta=100, buckets=4)
        expected = np.r_[0, np.cumsum(np.full(n - 2, 0.1, dtype), dtype=dtype)].astype(dtype)
        np.testing.assert_array_equal(found.distances[1:], expected)


def test_only_vertices_found_nearer_meanwhile_are_left(device, monkeypatch):
    """The one far vertex got a shorter path: no bucket has any, and the search ends."""
    taken, plain = [], _Buckets._take

    def take(self, *arguments):
        taken.append(plain(self, *arguments))
        return taken[-1]

    monkeypatch.setattr(_Buckets, "_take", take)
    graph = Graph.from_arcs(3, [1, 1, 0], [2, 0, 2], [100, 1, 1])
    found = searched(graph, device, buckets=2, delta=25)
    np.testing.assert_array_equal(found.distances, [1, 0, 2])
    assert taken == [None]
