"""Triangles, clustering and trusses of graphs of NetworkX: values, types, attributes, errors."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyapsp.networkx_backend import interface
from pyapsp.networkx_backend.converted import ConvertedGraph


def both(name, graph, *arguments, **options):
    """What a call gives on both, or the type of what it raises."""
    found = []
    for backend in ("pyapsp", "networkx"):
        try:
            found.append(getattr(nx, name)(graph, *arguments, backend=backend, **options))
        except Exception as error:
            found.append(type(error))
    return found


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(1, 20),
    edges=st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=90),
)
def test_random_graphs(n, edges):
    graph = nx.empty_graph(n)
    graph.add_edges_from((a % n, b % n) for a, b in edges)
    for name in ("triangles", "clustering", "average_clustering", "transitivity"):
        found, expected = both(name, graph)
        assert found == expected
        assert type(found) is type(expected)
    for nodes in (0, [0, n - 1, "x"], {n - 1}, [[]], 3.5):
        for name in ("triangles", "clustering"):
            found, expected = both(name, graph, nodes)
            assert found == expected, nodes
    found, expected = both("average_clustering", graph, count_zeros=False)
    assert found == expected
    for k in (2, 3, 4, 0):
        found, expected = both("k_truss", graph, k)
        if expected is nx.NetworkXNotImplemented:  # it has self-loops
            assert found is expected
        else:
            assert nx.utils.graphs_equal(found, expected)


def test_a_truss_keeps_all_attributes():
    graph = nx.Graph(name="of letters", about=[1])
    graph.add_edges_from(zip("aabcd", "bcceb", strict=True), kind="thin")
    graph.nodes["a"]["colour"] = "red"
    graph["a"]["b"]["weight"] = 0.5
    found, expected = both("k_truss", graph, 3)
    assert nx.utils.graphs_equal(found, expected)
    assert sorted(found) == ["a", "b", "c"]
    assert found["a"]["b"] == {"kind": "thin", "weight": 0.5}
    assert found.graph == graph.graph
    assert len(graph) == 5
    # NetworkX keeps the conversion, also for calls that need one attribute of it
    assert nx.eccentricity(nx.k_truss(graph, 3, backend="pyapsp"), weight="weight") == (
        nx.eccentricity(expected, weight="weight")
    )
    graph = nx.cycle_graph(5)
    nx.set_edge_attributes(graph, 2, "weight")
    assert nx.k_truss(graph, 2, backend="pyapsp").size() == 5
    assert nx.diameter(graph, weight="weight", backend="pyapsp") == 4
    converted = interface.convert_from_nx(graph)
    assert isinstance(converted, ConvertedGraph)
    assert nx.k_truss(converted, 2, backend="pyapsp").size() == 5


@pytest.mark.parametrize(
    ("name", "graph", "options", "reason"),
    [
        ("clustering", nx.complete_graph(3, nx.DiGraph), {}, "directions"),
        ("transitivity", nx.complete_graph(3, nx.DiGraph), {}, "directions"),
        ("triangles", nx.MultiGraph([(0, 1), (0, 1)]), {}, "parallel"),
        ("average_clustering", nx.complete_graph(3), {"weight": "weight"}, "weighted"),
        ("k_truss", nx.complete_graph(3), {"k": 2.5}, "no integer"),
    ],
)
def test_calls_that_stay_with_networkx(name, graph, options, reason):
    assert reason in interface.can_run(name, (graph,), options)
