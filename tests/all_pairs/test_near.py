"""Few sources up to a cutoff: steps of `solve` that do no more than needed; rows without it."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp import csgraph as ours
from pyapsp.all_pairs.choice import suited
from pyapsp.csgraph import answers
from pyapsp.graph import Graph, generators
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import runs, trials

GRAPH = generators.random_graph(300, 1200, 9, seed=1)
MATRIX = GRAPH.to_scipy().astype(float)


@pytest.fixture(autouse=True)
def cpu(monkeypatch, device):
    """The device is the default one, and a CPU."""
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    monkeypatch.setitem(vars(device), "kind", "cpu")


@pytest.mark.parametrize("cutoff", [3, 3.5, None])
def test_options_that_fit_are_not_made_again(cutoff, device):
    options = AllPairsOptions(device, np.dtype("f8"), sources=np.arange(3), cutoff=cutoff)
    assert options.computed_in(np.dtype("f8")) is options
    assert suited(pyapsp.method("dijkstra-cpu"), GRAPH, options, options.dtype) is options
    assert suited(pyapsp.method("fw-minplus"), GRAPH, options, options.dtype).sources is None


def test_a_run_without_memory_of_the_device_needs_no_room_and_no_family(device, monkeypatch):
    graph = GRAPH.with_weights(GRAPH.weights)
    expected = pyapsp.solve(graph, sources=[4], cutoff=9, device=device).distances
    for module in (runs, trials):
        monkeypatch.setattr(module, "replace", None)
    monkeypatch.setattr(runs, "residents", None)
    monkeypatch.setattr("pyapsp.registry.tuning.method.tuned", None)
    found = pyapsp.solve(graph, sources=[4], cutoff=9, device=device)
    assert found.stats["method"] == "dijkstra-cpu"
    assert "family" not in vars(graph)
    np.testing.assert_array_equal(found.distances, expected)


@pytest.mark.parametrize(
    "options",
    [
        {"indices": 7},
        {"indices": [[5, -1], [5, 0]]},
        {"indices": range(16), "directed": False},
        {"indices": -2, "unweighted": True},
        {"indices": []},
    ],
    ids=str,
)
def test_rows_without_a_record_are_those_of_solve(options, device, monkeypatch):
    given = {"limit": 8.5, "return_predecessors": True, **options}
    with monkeypatch.context() as patched:
        patched.setattr(answers, "near_rows", lambda *given, **options: None)
        expected = ours.dijkstra(MATRIX, **given)
    monkeypatch.setattr(answers, "solve", None)
    monkeypatch.setattr(answers, "from_one", None)
    found = ours.dijkstra(MATRIX, **given)
    for one, two in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (two.dtype, two.shape)
        np.testing.assert_array_equal(one, two)
    alone = ours.dijkstra(MATRIX, **given | {"return_predecessors": False})
    np.testing.assert_array_equal(alone, csgraph.dijkstra(MATRIX, **options, limit=8.5))


@pytest.mark.parametrize("why", ["many", "none", "GPU", "Numba", "dry"])
def test_other_rows_are_solved(why, device, monkeypatch):
    """17 sources, no cutoff, a GPU, without Numba, and where only the memory is wanted."""
    asked, solve = [], answers.solve
    monkeypatch.setattr(
        answers,
        "solve",
        lambda *given, **options: asked.append(options) or solve(*given, **options),
    )
    indices, limit = range(17 if why == "many" else 16), np.inf if why == "none" else 8
    if why == "GPU":
        monkeypatch.setitem(vars(device), "kind", "gpu")
    if why == "Numba":
        monkeypatch.setitem(sys.modules, "numba", None)
    if why == "dry":
        memory = pyapsp.dry_run(ours.dijkstra, MATRIX, indices=indices, limit=limit)
        assert memory.answer_bytes == 8 * 16 * 300
    else:
        found = ours.dijkstra(MATRIX, indices=indices, limit=limit)
        np.testing.assert_array_equal(found, csgraph.dijkstra(MATRIX, indices=indices, limit=limit))
    assert len(asked) == 1


def test_arcs_beyond_the_cutoff_are_not_walked():
    """Their sums would be too large for the type."""
    line = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [1.0, 1e308, 1e308])
    assert ours.dijkstra(line, indices=0, limit=5).tolist() == [0, 1, np.inf, np.inf]
