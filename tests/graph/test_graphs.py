"""`Graphs`: the same graphs as made one by one; wrong arcs name their graph."""

from __future__ import annotations

import numpy as np
import pytest

import pyapsp
from pyapsp.errors import GraphError, ParameterError
from pyapsp.graph import Graph, Graphs


def drawn(seed, weighted=True):
    """Return sizes, counts and arcs of graphs of which some have no arcs, and some no vertices."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 12, 30)
    counts = np.where(sizes > 0, rng.integers(0, 30, 30), 0)
    ends = np.repeat(sizes, counts)
    tails, heads = (rng.integers(0, ends) for _ in range(2))
    return sizes, counts, tails, heads, rng.integers(1, 9, ends.size) if weighted else None


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_they_are_the_graphs_one_by_one(weighted, directed):
    sizes, counts, tails, heads, weights = drawn(1, weighted)
    graphs = Graphs(sizes, counts, tails, heads, weights, directed=directed)
    assert len(graphs) == 30
    assert graphs.has_weights == weighted
    start = 0
    for number, graph in enumerate(graphs):
        some = slice(start, start := start + counts[number])
        given = None if weights is None else weights[some]
        alone = Graph.from_arcs(sizes[number], tails[some], heads[some], given, directed=directed)
        assert graph == alone == graphs[number] == graphs[number - 30]
    for some in (slice(3, 9, 2), slice(None, None, -1), slice(30, None)):
        part = graphs[some]
        assert isinstance(part, Graphs)
        assert list(part) == list(graphs)[some]
        assert (part.directed, part.has_weights) == (directed, weighted)
    with pytest.raises(IndexError):
        graphs[30]
    assert repr(graphs) == f"<Graphs: 30 graphs, {sizes.sum()} vertices, {counts.sum()} arcs>"


def test_the_arcs_of_some():
    sizes, counts, tails, heads, _ = drawn(2)
    graphs = Graphs(sizes, counts, tails, heads)
    some = np.array([7, 3, 3, 29])
    ends = np.append(0, np.cumsum(counts))
    expected = np.concatenate([np.arange(ends[each], ends[each + 1]) for each in some])
    np.testing.assert_array_equal(graphs.arcs_of(some), expected)


EDGES = [(3, [(0, 1), (1, 2)]), (2, []), (4, [(3, 0)]), (0, [])]


@pytest.mark.parametrize("kind", [list, np.array, "mixed"])
def test_edges_of_each(kind):
    given = [
        (n, np.array(edges) if kind is np.array or (kind == "mixed" and n == 4) else edges)
        for n, edges in EDGES
    ]
    graphs = Graphs.from_edges(iter(given), directed=False)
    for graph, (n, edges) in zip(graphs, EDGES, strict=True):
        tails, heads = np.array(edges, int).reshape(-1, 2).T
        assert graph == Graph.from_arcs(n, tails, heads, directed=False)
    assert len(Graphs.from_edges([])) == 0


@pytest.mark.parametrize(
    "edges",
    [
        [(2, [(0, 1, 5)])],
        [(2, [0, 1])],
        [(2, [(0, 1), (1,)])],
        [(4, [(0, 1, 2), (3,)])],
        [(4, [(0, 1, 2)]), (4, [(3,)])],
        [(4, [([0, 1], [2, 3])])],
        [(4, [([0], [1])])],
        [(4, [([0, 1],)])],
        [(4, np.array([0, 1])), (4, [(2, 3)])],
        [(2, 7)],
        [2],
        [(2, np.array([[0, 1, 5]]))],
        [(2, [("a", "b")])],
        [(2, [(0.5, 1)])],
        [(-2, [])],
        [("n", [])],
    ],
    ids=repr,
)
def test_no_edges(edges):
    with pytest.raises(GraphError):
        Graphs.from_edges(edges)


def test_arcs_of_infinite_weight_are_removed():
    graphs = Graphs([2, 2], [2, 1], [0, 1, 0], [1, 0, 1], [np.inf, 3.0, 2.0])
    assert graphs.counts.tolist() == [1, 1]
    assert [graph.weights.tolist() for graph in graphs] == [[3], [2]]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"tails": [0, 2, 0]}, "graph 1: the tails of the arcs must lie in 0..1: arc number 0"),
        ({"heads": [1, 1, -1]}, "graph 1: the heads of the arcs must lie in 0..1: arc number 1"),
        ({"weights": [1, np.nan, 1]}, "graph 1: the weight of the arc 0 -> 1 is nan"),
        ({"weights": [1, 1, -np.inf]}, "graph 1: the weight of the arc 1 -> 0 is -inf"),
        ({"weights": [1, 1]}, "2 sizes, 2 counts of 3 arcs in all, 3 tails, 3 heads and 2 weights"),
        ({"counts": [1, 1]}, "2 counts of 2 arcs in all, 3 tails"),
        ({"sizes": [2]}, "1 sizes, 2 counts"),
        ({"counts": [4, -1]}, "counts must be a list of numbers from 0 up"),
        ({"counts": [2**62] * 4, "sizes": [3] * 4}, f"4 counts of {2**64} arcs in all, 3 tails"),
        ({"sizes": [2, -2]}, "sizes must be a list of numbers from 0 to 2147483647"),
        ({"sizes": [2, 2**31]}, "sizes must be a list of numbers from 0 to 2147483647"),
        ({"tails": [0.5, 0, 1]}, "tails must be a one-dimensional array of integers"),
        ({"weights": ["a", "b", "c"]}, "weights"),
    ],
)
def test_wrong_arcs_name_their_graph(change, error):
    arcs = {"sizes": [2, 2], "counts": [1, 2], "tails": [0, 0, 1], "heads": [1, 1, 0]}
    Graphs(**arcs)
    with pytest.raises(GraphError, match=error) as caught:
        Graphs(**arcs | change)
    assert caught.value.graph == (1 if error.startswith("graph 1") else None)


def test_a_direction_is_true_or_false():
    with pytest.raises(ParameterError, match="directed"):
        Graphs([1], [0], [], [], directed="no")
    assert pyapsp.Graphs is Graphs
