"""Components of graphs of NetworkX; strong ones in an order that their arcs keep."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyapsp.networkx_backend import components
from pyapsp.networkx_backend.converted import ConvertedGraph


def both(name, graph, **options):
    return [
        getattr(nx, name)(graph, backend=backend, **options) for backend in ("pyapsp", "networkx")
    ]


def check(graph):
    """Compare with NetworkX; numbers may differ as far as the order of components lets them."""
    found, expected = both("strongly_connected_components", graph)
    found, expected = list(found), list(expected)
    assert all(type(each) is set for each in found)
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
    place = {node: number for number, each in enumerate(found) for node in each}
    assert all(place[tail] >= place[head] for tail, head in graph.edges())
    ours, theirs = both("condensation", graph)
    assert type(ours) is nx.DiGraph
    assert ours.graph["mapping"] == place
    assert list(ours) == list(range(len(found)))
    assert [ours.nodes[number]["members"] for number in ours] == found
    renamed = {number: place[min(nodes)] for number, nodes in theirs.nodes(data="members")}
    assert nx.utils.graphs_equal(
        nx.create_empty_copy(ours, with_data=False),
        nx.create_empty_copy(nx.relabel_nodes(theirs, renamed), with_data=False),
    )
    assert set(ours.edges()) == {(renamed[a], renamed[b]) for a, b in theirs.edges()}
    numbers = both("number_strongly_connected_components", graph)
    assert numbers == [len(found)] * 2
    assert type(numbers[0]) is int


@settings(deadline=None)
@given(
    n=st.integers(1, 20),
    arcs=st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=50),
    kind=st.sampled_from([nx.DiGraph, nx.MultiDiGraph]),
)
def test_random_graphs(n, arcs, kind):
    graph = nx.empty_graph(n, create_using=kind)
    graph.add_edges_from((a % n, b % n) for a, b in arcs)
    check(graph)
    found, expected = both("is_strongly_connected", graph)
    assert found is expected


def test_a_graph_without_nodes():
    graph = nx.DiGraph()
    assert both("number_strongly_connected_components", graph) == [0, 0]
    assert [list(each) for each in both("strongly_connected_components", graph)] == [[], []]
    found = nx.condensation(graph, backend="pyapsp")
    assert (len(found), found.graph) == (0, {"mapping": {}})
    with pytest.raises(nx.NetworkXPointlessConcept):
        nx.is_strongly_connected(graph, backend="pyapsp")


def test_nodes_of_any_kind_and_edges_of_weight_zero():
    graph = nx.DiGraph([("a", (1, 2)), ((1, 2), "a"), ("a", 2.5)])
    nx.set_edge_attributes(graph, 0, "weight")
    found = list(nx.strongly_connected_components(graph, backend="pyapsp"))
    assert found == [{2.5}, {"a", (1, 2)}]


UNDIRECTED = {"connected_components", "is_connected", "node_connected_component"}
UNDIRECTED |= {"number_connected_components"}


@pytest.mark.parametrize("name", components.__all__)
def test_graphs_of_the_other_kind_have_none(name):
    graph = nx.path_graph(3, create_using=nx.DiGraph if name in UNDIRECTED else nx.Graph)
    with pytest.raises(nx.NetworkXNotImplemented):
        getattr(nx, name)(graph, *[0] * (name == "node_connected_component"), backend="pyapsp")


def test_another_order_of_scipy_is_left_to_networkx(monkeypatch):
    theirs = components.csgraph.connected_components

    def turned(*arguments, **options):
        count, labels = theirs(*arguments, **options)
        return count, count - 1 - labels

    monkeypatch.setattr(components.csgraph, "connected_components", turned)
    graph = nx.path_graph(300, create_using=nx.DiGraph)
    with nx.config.backend_priority(algos=["pyapsp"]):
        assert next(nx.strongly_connected_components(graph)) == {299}
    with pytest.raises(NotImplementedError, match="another order"):
        components.strongly_connected_components(ConvertedGraph(graph))


def check_weak(graph):
    names = ("weakly_connected_components", "number_weakly_connected_components")
    if not graph.is_directed():
        names = ("connected_components", "number_connected_components")
    found, expected = map(list, both(names[0], graph))
    assert found == expected  # in the same order
    assert all(type(each) is set for each in found)
    numbers = both(names[1], graph)
    assert numbers == [len(expected)] * 2
    assert type(numbers[0]) is int
    name = "is_weakly_connected" if graph.is_directed() else "is_connected"
    if len(graph):
        found, expected = both(name, graph)
        assert found is expected
    else:
        for backend in ("pyapsp", "networkx"):
            with pytest.raises(nx.NetworkXPointlessConcept, match="null graph"):
                getattr(nx, name)(graph, backend=backend)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("n", [0, 1, 30])
def test_weak_components(n, kind):
    graph = nx.empty_graph((f"v{(7 * each) % 31}" for each in range(n)), create_using=kind)
    nodes = list(graph)
    for place in range(0, max(n - 3, 0), 2):
        graph.add_edge(nodes[place + 3], nodes[place])
    check_weak(graph)
    if n > 1 and not graph.is_directed():
        for node in nodes[:4]:
            found, expected = both("node_connected_component", graph, n=node)
            assert found == expected
        for missing, error in (("none", KeyError), ([], TypeError)):
            for backend in ("pyapsp", "networkx"):
                with pytest.raises(error):
                    nx.node_connected_component(graph, missing, backend=backend)


def test_one_search_stays_with_networkx_unless_the_graph_is_converted():
    from pyapsp.networkx_backend.interface import convert_from_nx, should_run

    graph = nx.path_graph(300)
    assert "conversion" in should_run("connected_components", (graph,), {})
    assert should_run("is_connected", (convert_from_nx(graph),), {}) is True
