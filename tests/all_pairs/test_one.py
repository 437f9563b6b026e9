"""The distances from one vertex: by a search of its own where that is faster, else by `solve`."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csgraph

from pyapsp import csgraph as ours
from pyapsp import verify
from pyapsp.all_pairs import one
from pyapsp.graph import generators


def potentials(graph):
    """The graph with negative weights, and no other paths."""
    tails, heads, weights = graph.arcs()
    potential = np.random.default_rng(1).integers(0, 30, graph.n)
    return graph.with_weights(weights + potential[tails] - potential[heads])


RANDOM = generators.random_graph(60, 300, seed=1)


@pytest.mark.parametrize(
    ("graph", "arcs", "problem"),
    [
        (RANDOM, 300, "sssp"),
        (RANDOM, 301, "all-pairs"),
        (potentials(RANDOM), 300, "all-pairs"),
        (generators.grid_2d(8, 8, 1), 1, "sssp"),
    ],
    ids=["wide", "small", "negative", "mesh"],
)
def test_what_is_taken(graph, arcs, problem, device, monkeypatch):
    monkeypatch.setattr(one, "_ARCS", arcs)
    result = one.from_one(graph, 3, predecessors=True, device=device)
    assert result.stats["problem"] == problem
    assert result.sources.tolist() == [3]
    assert verify.against_scipy(graph, result).ok
    assert verify.certificate(graph, result, device=device).ok


@pytest.mark.parametrize(("kind", "problem"), [("cpu", "all-pairs"), ("gpu", "sssp")])
def test_a_search_on_a_cpu_that_may_end_early_is_no_launch(device, monkeypatch, kind, problem):
    monkeypatch.setattr(one, "_ARCS", 1)
    monkeypatch.setitem(vars(device), "kind", kind)
    result = one.from_one(RANDOM, 3, cutoff=9, device=device)
    assert result.stats["problem"] == problem
    assert one.from_one(RANDOM, 3, device=device).stats["problem"] == "sssp"
    expected = csgraph.dijkstra(RANDOM.to_scipy(), indices=3, limit=9)
    found = np.where(result.distances[0] < result.infinity, result.distances[0], np.inf)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("why", ["Numba", "float16", "farther"])
def test_where_the_host_does_not_search_the_whole_device_does(device, monkeypatch, why):
    """Without Numba, in float16, and if the cutoff is beyond the type and so is none."""
    monkeypatch.setattr(one, "_ARCS", 1)
    monkeypatch.setitem(vars(device), "kind", "cpu")
    asked = []
    monkeypatch.setattr(one, "solve", lambda *given, **options: asked.append("solve"))
    monkeypatch.setattr(
        one, "sssp", lambda *given, **options: SimpleNamespace(rows=asked.append("sssp"))
    )
    options = {"cutoff": 9, "dtype": "uint16", "device": device}
    one.from_one(RANDOM, 3, **options)
    if why == "Numba":
        monkeypatch.setitem(sys.modules, "numba", None)
    options |= {"dtype": "float16"} if why == "float16" else {}
    options |= {"cutoff": 2**16} if why == "farther" else {}
    one.from_one(RANDOM, 3, **options)
    assert asked == ["solve", "sssp"]


def test_the_same_answers_as_scipy(device, monkeypatch):
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    monkeypatch.setattr(one, "_ARCS", 1)
    matrix = RANDOM.to_scipy().astype(float)
    for options in (
        {"indices": 7},
        {"indices": [[-1]]},
        {"indices": 7, "directed": False},
        {"indices": 7, "limit": 20.0},
        {"indices": 7, "unweighted": True},
    ):
        answer, before = ours.dijkstra(matrix, return_predecessors=True, **options)
        expected, other = csgraph.dijkstra(matrix, return_predecessors=True, **options)
        np.testing.assert_array_equal(answer, expected)
        np.testing.assert_array_equal(before >= 0, other >= 0)
