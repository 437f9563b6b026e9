"""What answers are compared with counts as NetworkX does, and is not what is timed."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from pyapsp import registry
from pyapsp.trusses.sets import triangles_by_sets, trussness_by_sets


@pytest.fixture(params=["uniform", "power-law", "mesh"])
def drawn(request):
    """A graph with triangles and self-loops, and as NetworkX has it, without them."""
    graph = registry.problem("truss").sample(120, request.param, 4, None)
    simple = nx.Graph(graph.to_networkx())
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    return graph, simple


def test_triangles_are_those_of_networkx(drawn):
    graph, simple = drawn
    expected = nx.triangles(simple)
    assert sum(expected.values()) > 0
    found = triangles_by_sets(graph)
    assert found.dtype == np.int64
    assert found.tolist() == [expected[vertex] for vertex in range(graph.n)]


def test_trusses_are_those_of_networkx(drawn):
    graph, simple = drawn
    tails, heads, _ = graph.arcs()
    values = trussness_by_sets(graph)
    assert values.dtype == np.int32
    assert values.max() >= 3
    for k in range(2, values.max() + 2):
        edges = {frozenset(edge) for edge in nx.k_truss(simple, k).edges}
        chosen = values >= k
        assert {*map(frozenset, zip(tails[chosen], heads[chosen], strict=True))} == edges
        assert np.array_equal(trussness_by_sets(graph, k), np.where(chosen, k, 0))
    assert set(values[tails == heads]) == {0}


@pytest.mark.parametrize("problem", ["triangles", "truss"])
def test_no_answer_is_compared_with_the_package_that_is_timed(problem, device, monkeypatch):
    """The peers multiply matrices: without that, the oracle answers still."""
    monkeypatch.setattr(csr_array, "__matmul__", lambda *ends: pytest.fail("a product"))
    of = registry.problem(problem)
    request = of.ask(of.sample(40, "uniform", 1, None), "auto", device=device)
    check = of.oracle(request.input, request.options)(registry.runs.solve(request).answer)
    assert (check.ok, check.oracle) == (True, "sets of neighbours, in Python")
