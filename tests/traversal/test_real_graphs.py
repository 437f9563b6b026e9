"""Searches and components of real graphs, by every method, against SciPy.

``PYAPSP_DATA_MIRROR`` is the folder with the graphs, which a checkout alone does not have.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp.graph import Graph, datasets

MIRROR = Path(os.environ.get("PYAPSP_DATA_MIRROR", Path(__file__).parents[3] / "shared" / "data"))
GRAPHS = ("rome99", "wiki-Vote", "as20000102", "soc-sign-bitcoinotc", "email-Enron")

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not MIRROR.is_dir(), reason="no folder of real graphs"),
]


@pytest.fixture(params=GRAPHS)
def graph(request, monkeypatch):
    """Each graph; email-Enron is no data set of the package."""
    monkeypatch.setenv("PYAPSP_DATA_MIRROR", str(MIRROR))
    if request.param != "email-Enron":
        return datasets.load(request.param)
    ends = np.loadtxt(MIRROR / "email-Enron.txt", np.int64, comments="#")
    return Graph.from_arcs(int(ends.max()) + 1, *ends.T)


def methods(problem):
    return {cls.id: cls.requires for cls in pyapsp.methods(problem)}


def matrix(graph):
    """The graph with weights of one."""
    return graph.with_weights(np.ones(graph.m, np.int64)).to_scipy()


def test_distances(graph, device):
    sources = np.random.default_rng(0).choice(graph.n, 4, replace=False)
    search = csgraph.johnson if graph.has_negative else csgraph.dijkstra
    expected = search(graph.to_scipy().astype(float), indices=sources)
    able = [
        name
        for name, requires in methods("sssp").items()
        if not (requires.non_negative and graph.has_negative)
    ]
    for method in ("auto", *able):
        found = pyapsp.sssp(graph, sources, method, device=device).distances
        np.testing.assert_array_equal(found, expected, method)


def test_levels(graph, device):
    sources = np.random.default_rng(1).choice(graph.n, 4, replace=False)
    expected = csgraph.dijkstra(matrix(graph), unweighted=True, indices=sources)
    for method in ("auto", *methods("bfs")):
        found = pyapsp.bfs(graph, sources, method, device=device).levels
        np.testing.assert_array_equal(np.where(found < 0, np.inf, found), expected, method)


def require_components(found, graph, connection):
    count, expected = csgraph.connected_components(matrix(graph), connection=connection)
    assert found.count == count
    assert np.unique([found.labels, expected], axis=1).shape[1] == count


def test_strong_components(graph, device):
    able = [name for name, requires in methods("scc").items() if not requires.symmetric]
    for method in ("auto", *able):
        found = pyapsp.strongly_connected_components(graph, method, device=device)
        require_components(found, graph, "strong")


def test_weak_components(graph, device):
    for method in ("auto", "scc-hooking"):
        found = pyapsp.weakly_connected_components(graph, method, device=device)
        require_components(found, graph, "weak")
