"""`reach` and `accessibility` against sums over SciPy's rows."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp.errors import NegativeWeightError, ParameterError
from pyapsp.graph import Graph

from .drawn import drawn


def test_many_graphs_as_scipy_does(device):
    rng = np.random.default_rng(1)
    for seed in range(30):
        graph = drawn(seed, n=5 + 3 * seed, kind="real" if seed % 2 else "whole")
        jobs = rng.integers(0, 50, (graph.n, 2))
        for cutoff in (0, 2, None):
            rows = csgraph.dijkstra(
                graph.to_scipy().astype(float), limit=np.inf if cutoff is None else cutoff
            )
            near = np.isfinite(rows)
            found = pyapsp.reach(graph, cutoff=cutoff, device=device)
            np.testing.assert_array_equal(found, near.sum(axis=1) - 1)
            found = pyapsp.accessibility(graph, jobs, cutoff, device=device)
            np.testing.assert_array_equal(found, near @ jobs)
            found = pyapsp.accessibility(
                graph, jobs[:, 0], cutoff, decay=lambda d: np.exp(-d), device=device
            )
            np.testing.assert_allclose(found, np.exp(-rows) @ jobs[:, 0], rtol=1e-12)


def test_some_sources_in_blocks(monkeypatch, device):
    graph = drawn(4, n=120)
    sources, jobs = [7, 3, 7], np.arange(120)
    whole = pyapsp.accessibility(graph, jobs, 5, device=device)
    monkeypatch.setattr("pyapsp.queries.range_rows._VALUES", dict.fromkeys((True, False), 1))
    found = pyapsp.accessibility(graph, jobs, 5, sources=sources, device=device)
    np.testing.assert_array_equal(found, whole[sources])
    assert pyapsp.reach(graph, [], 5, device=device).shape == (0,)
    assert pyapsp.accessibility(graph, jobs, 5, sources=[], device=device).shape == (0,)
    nothing = Graph.from_arcs(0, [], [])
    assert pyapsp.accessibility(nothing, np.empty((0, 3)), device=device).shape == (0, 3)


def test_wrong_arguments(device):
    graph = drawn(1)
    with pytest.raises(ParameterError, match=r"numbers of shape \(60,\)"):
        pyapsp.accessibility(graph, np.ones(59), 3, device=device)
    with pytest.raises(ParameterError, match="numbers of shape"):
        pyapsp.accessibility(graph, ["a"] * 60, 3, device=device)
    with pytest.raises(ParameterError, match="a function of distances"):
        pyapsp.accessibility(graph, np.ones(60), 3, decay=0.5, device=device)
    with pytest.raises(ParameterError, match="returns numbers of shape"):
        pyapsp.accessibility(graph, np.ones(60), 3, decay=lambda d: 1.0, device=device)
    # the real part, and numbers in texts
    for decay in (lambda d: d * 1j, lambda d: d.astype(str)):
        with pytest.raises(ParameterError, match="returns numbers of shape"):
            pyapsp.accessibility(graph, np.ones(60), 3, decay=decay, device=device)
    with pytest.raises(ParameterError, match="'cutoff' parameter of reach must"):
        pyapsp.reach(graph, cutoff=-1)
    with pytest.raises(NegativeWeightError, match="reach needs non-negative weights"):
        pyapsp.reach(Graph.from_arcs(2, [0], [1], [-1]), device=device)


def test_opportunities_of_pandas_are_in_the_order_of_the_vertices(device):
    """Of an index with labels in another order, values would be at other vertices."""
    edges = pandas.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "weight": [1, 1]})
    right = [11, 110, 100]
    for values in (
        pandas.Series([1, 10, 100]),
        pandas.Series({"a": 1, "b": 10, "c": 100}),
        pandas.Series([1, 10, 100], index=[0, 1, 2]),
    ):
        assert pyapsp.accessibility(edges, values, 1, device=device).tolist() == right
        frame = pandas.DataFrame({"shops": values, "jobs": values})
        assert pyapsp.accessibility(edges, frame, 1, device=device)[:, 1].tolist() == right
    for values in (
        pandas.Series({"c": 100, "b": 10, "a": 1}),
        pandas.DataFrame({"shops": {"b": 10, "a": 1, "c": 100}}),
        pandas.Series([1, 10, 100], index=[2, 1, 0]),
    ):
        with pytest.raises(ParameterError, match=r"'opportunities' .* order of the vertices"):
            pyapsp.accessibility(edges, values, 1, device=device)
