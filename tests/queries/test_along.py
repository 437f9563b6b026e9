"""A second weight along the paths of pairs."""

import itertools

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import pyapsp
from pyapsp.errors import GraphError, ParameterError
from pyapsp.graph import generators


def drawn(kind, seed, n=30, edges=120):
    """Return a graph with parallel edges, of which the shortest is not always the fastest."""
    rng = np.random.default_rng(seed)
    graph = kind()
    graph.add_nodes_from(f"v{number}" for number in range(n))
    for tail, head in rng.integers(0, n, (edges, 2)):
        for _ in range(rng.integers(1, 4)):
            length, minutes = map(int, rng.integers(1, 5, 2))
            graph.add_edge(f"v{tail}", f"v{head}", length=length, minutes=minutes)
    return graph


def attribute(name):
    return lambda tail, head, facts: facts[name]


def shortest_edges(graph, ways):
    """Return the minutes of the shortest edge between two nodes, the fastest of several."""
    best = {}
    for tail, head, facts in graph.edges(data=True):
        for way in {(tail, head), (head, tail)} if ways else {(tail, head)}:
            best[way] = min(best.get(way, (99, 99)), (facts["length"], facts["minutes"]))
    return {way: minutes for way, (_, minutes) in best.items()}


@pytest.mark.parametrize("kind", [nx.MultiDiGraph, nx.MultiGraph])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("form", ["networkx", "function", "igraph", "frame", "file"])
def test_sums_are_those_of_the_shortest_of_parallel_edges(device, kind, directed, form, tmp_path):
    graph = drawn(kind, seed=3)
    ways = not directed or not graph.is_directed()
    names = list(graph)
    pairs = np.array(list(itertools.product(names[:6], names[10:25]))).T
    source, weight, along = graph, "length", "minutes"
    if form == "function":
        weight, along = attribute(weight), attribute(along)
    if form == "igraph":
        source = igraph.Graph.from_networkx(graph)
        source.vs["name"] = source.vs["_nx_name"]
    if form in ("frame", "file"):
        rows = [(tail, head, *facts.values()) for tail, head, facts in graph.edges(data=True)]
        source = pd.DataFrame(rows, columns=["source", "target", "length", "minutes"])
        ways = not directed
    if form == "file":
        source.to_csv(tmp_path / "graph.csv", index=False)
        source = tmp_path / "graph.csv"
    found = pyapsp.pairs(
        source,
        *(each.tolist() for each in pairs),
        weight=weight,
        along=along,
        paths=True,
        directed=directed,
        device=device,
    )
    minutes = shortest_edges(graph, ways)
    labels = np.array(found.labels, object)
    reached = 0
    for pair, total in enumerate(found.along):
        path = labels[found.vertices[found.starts[pair] : found.starts[pair + 1]]]
        reached += len(path) > 1
        expected = sum(minutes[step] for step in itertools.pairwise(path)) if len(path) else np.inf
        assert total == expected
    assert reached > 20
    columns = found.to_columns()
    assert np.array_equal(columns["along"].mask, ~np.isfinite(found.along))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("form", ["values", "graph", "matrix"])
def test_a_matrix_or_graph_has_its_second_weight_in_another_one(device, directed, form):
    graph = generators.random_graph(40, 200, 9, seed=2)
    rng = np.random.default_rng(1)
    second = rng.random(graph.m)
    along = {
        "values": second,
        "graph": graph.with_weights(second),
        "matrix": scipy.sparse.csr_array((second, graph.indices, graph.indptr), (40, 40)),
    }[form]
    sources, targets = rng.integers(0, 40, (2, 60))
    found = pyapsp.pairs(
        graph, sources, targets, along=along, paths=True, directed=directed, device=device
    )
    tails, heads, weights = graph.arcs()
    best = {}
    for tail, head, *both in zip(tails, heads, weights, second, strict=True):
        for way in [(tail, head)] if directed else [(tail, head), (head, tail)]:
            best[way] = min(best.get(way, (99, 99)), tuple(both))
    for pair, total in enumerate(found.along):
        path = found.path(pair)
        expected = sum(best[step][1] for step in itertools.pairwise(path)) if path else np.inf
        assert total == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("along", "error", "message"),
    [
        ("minutes", ParameterError, "a value for each of the 3 arcs"),
        ([1.0, 2.0], ParameterError, "a value for each of the 3 arcs"),
        (np.ones((3, 3)), ParameterError, "of shape .3, 3."),
        (scipy.sparse.eye_array(3), ParameterError, "a graph of 4 vertices"),
        (
            scipy.sparse.eye_array(4).tocsr(),
            GraphError,
            "the arc from 0 to 1 has no second weight",
        ),
        ([1.0, np.nan, 2.0], GraphError, "the arc from 0 to 2 has a second weight that is not fin"),
        ([1.0, np.inf, 2.0], GraphError, "not finite"),
        (3, ParameterError, "along"),
    ],
)
def test_a_second_weight_that_does_not_fit_is_refused(device, along, error, message):
    graph = pyapsp.Graph.from_arcs(4, [0, 0, 2], [1, 2, 1], [7, 1, 2])
    with pytest.raises(error, match=message):
        pyapsp.pairs(graph, 0, 1, paths=True, along=along, device=device)


def test_a_second_weight_needs_paths_and_names_in_memory(device, tmp_path):
    graph = pyapsp.Graph.from_arcs(4, [0, 0, 2], [1, 2, 1], [7, 1, 2])
    with pytest.raises(ParameterError, match="paths=True"):
        pyapsp.pairs(graph, 0, 1, along=[1, 2, 3], device=device)
    pyapsp.graph.write(graph, tmp_path / "graph.npz")
    with pytest.raises(ParameterError, match="only edge lists have columns, such as 'weight'"):
        pyapsp.pairs(str(tmp_path / "graph.npz"), 0, 1, paths=True, along="weight", device=device)
    with pytest.raises(ParameterError, match="the name of a column of the file"):
        pyapsp.pairs(tmp_path / "graph.npz", 0, 1, paths=True, along=[1, 2, 3], device=device)
    some = nx.DiGraph()
    some.add_edge("a", "b", length=1)
    with pytest.raises(GraphError, match="the edge from 'a' to 'b' has no 'minutes'"):
        pyapsp.pairs(some, "a", "b", weight="length", along="minutes", paths=True, device=device)


@pytest.mark.parametrize(
    ("sources", "targets", "expected"),
    [([1], [3], [np.inf]), ([1], [1], [0]), ([1, 1], [1, 3], [0, np.inf]), ([], [], [])],
)
def test_paths_without_arcs_have_a_sum_of_float64(device, sources, targets, expected):
    graph = pyapsp.Graph.from_arcs(4, [0, 0, 2], [1, 2, 1], [7, 1, 2])
    found = pyapsp.pairs(graph, sources, targets, paths=True, along=[1, 2, 3], device=device)
    assert found.along.dtype == np.float64
    assert np.array_equal(found.along, expected)


def test_a_dense_second_weight_may_be_zero(device):
    graph = pyapsp.Graph.from_arcs(3, [0, 1], [1, 2], [7, 1])
    second = np.zeros((3, 3))
    second[1, 2] = 5
    found = pyapsp.pairs(graph, 0, [1, 2], paths=True, along=second, device=device)
    assert found.along.tolist() == [0, 5]


@pytest.mark.parametrize(
    ("source", "along"),
    [
        ("networkx", np.ones(1)),
        ("networkx", [1]),
        ("networkx", pyapsp.Graph.from_arcs(2, [0], [1])),
        ("frame", "hours"),
        ("costs", "minutes"),
        ("matrix", [1.0]),
        ("graph", [[1.0], [2.0, 3.0]]),
        ("graph", ["a"]),
    ],
)
def test_a_second_weight_of_another_kind_is_refused_before_the_search(device, source, along):
    some = nx.DiGraph()
    some.add_edge("a", "b", weight=1, minutes=2)
    frame = pd.DataFrame({"source": ["a"], "target": ["b"], "weight": [1], "minutes": [2]})
    given = {
        "networkx": some,
        "frame": frame,
        "costs": frame.rename(columns={"weight": "cost"}).assign(reverse_cost=3),
        "matrix": scipy.sparse.csr_array([[0, 1.0], [0, 0]]),
        "graph": pyapsp.Graph.from_arcs(2, [0], [1]),
    }[source]
    with pytest.raises(ParameterError, match="along"):
        pyapsp.pairs(
            given, [0], [1], paths=True, along=along, device=device, progress=lambda *_: 1 / 0
        )
