"""Of several shortest paths, the predecessor with the smallest number is returned."""

import numpy as np
import pytest

import pyapsp
from pyapsp.errors import GraphError
from pyapsp.graph import Graph, reweight
from pyapsp.graph.generators import random_graph

#: Methods that keep the predecessor that their search met first.
FIRST_MET = {"fw-naive", "fw-blocked", "apsp-bfs"}
UNWEIGHTED = {"apsp-bfs", "ms-bfs"}
WEIGHTED = random_graph(60, m=500, max_weight=3, seed=4)
GRAPHS = {"weighted": WEIGHTED, "unweighted": reweight(WEIGHTED, "unweighted")}


def smallest(graph):
    """Return the first vertex before each vertex on a shortest path, -9999 without one."""
    distances = pyapsp.csgraph.shortest_path(graph.to_scipy())
    weights = graph.to_dense()
    np.fill_diagonal(weights, np.inf)
    # a place for each source, vertex before, and vertex
    attains = distances[:, :, None] + weights[None] == distances[:, None, :]
    attains &= np.isfinite(distances)[:, None, :] & ~np.eye(graph.n, dtype=bool)[:, None, :]
    return np.where(attains.any(1), attains.argmax(1), -9999)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("method", pyapsp.methods("all-pairs"), ids=lambda each: each.id)
def test_the_smallest_predecessor(method, graph, device):
    def solved():
        return pyapsp.solve(graph, method=method.id, predecessors=True, device=device)

    if method.id in UNWEIGHTED and graph is WEIGHTED:
        with pytest.raises(GraphError, match="unweighted"):
            solved()
        return
    found = solved()
    same = np.array_equal(found.predecessors, smallest(graph))
    assert same == (method.id not in FIRST_MET)


@pytest.mark.parametrize("sources", [[7], [3, 50, 7]])
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_the_method_for_few_sources_has_the_same_predecessors(graph, sources, device):
    found = pyapsp.solve(graph, sources=sources, predecessors=True, device=device)
    assert np.array_equal(found.predecessors, smallest(graph)[sources])


@pytest.mark.parametrize(
    "method", sorted({each.id for each in pyapsp.methods("all-pairs")} - UNWEIGHTED)
)
def test_arcs_of_weight_zero_lead_to_the_source(method, device):
    arcs = {(3, 1): 1, (1, 2): 0, (2, 1): 0, (2, 0): 0, (0, 2): 0, (3, 0): 2}
    tails, heads = zip(*arcs, strict=True)
    graph = Graph.from_arcs(4, tails, heads, list(arcs.values()))
    found = pyapsp.solve(graph, method=method, predecessors=True, device=device)
    assert list(found.distances[3]) == [1, 1, 1, 0]
    assert list(found.predecessors[3]) == [2, 3, 1, -9999]
